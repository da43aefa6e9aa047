"""Standard streams that are closed, full or cannot take every character, and a Ctrl-C that Python would drop."""

from __future__ import annotations

import _thread
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

_AGAIN = 0.05  # seconds until a dropped Ctrl-C comes again


def prepare_streams() -> None:
    """Have what is written to a closed stream go nowhere, and what a stream cannot encode be escaped.

    If it stayed closed, the next file that is opened would take its number, and what a library prints would end up in that
    file.
    """
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def write_out() -> None:
    """Have all that was printed reach standard output; an `OSError` says that it cannot, and what is left is dropped.

    Otherwise Python would try once more as it ends, and say so in its own way.
    """
    try:
        sys.stdout.flush()
    except OSError:
        _drop(sys.stdout)
        raise


def tell(line: str) -> None:
    """Print a line on standard error, if it can take one."""
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except OSError:
        _drop(sys.stderr)


def _drop(stream: TextIO) -> None:
    """Have what is still to be written to a stream go nowhere."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


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
