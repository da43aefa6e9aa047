"""Ctrl-C that Python would drop."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_AGAIN = 0.05  # seconds until it comes again


@contextmanager
def interrupts_kept() -> Iterator[None]:
    """Have a Ctrl-C that falls where an exception has nowhere to go come again a moment later.

    That is a destructor or a callback from C: compiling kernels has many, and would go on as if nothing had been said.
    """
    before = sys.unraisablehook

    def keep(dropped: sys.UnraisableHookArgs) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            timer = threading.Timer(_AGAIN, _interrupt)
            timer.daemon = True
            timer.start()
        else:
            before(dropped)

    sys.unraisablehook = keep
    try:
        yield
    finally:
        sys.unraisablehook = before


def _interrupt() -> None:
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)  # ends a wait in the main thread, too
    else:
        _thread.interrupt_main()
