"""Progress on standard error: a bar in a terminal, now and then a plain line elsewhere, nothing for quick work."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["announce", "progress", "silence"]

_PATIENCE = 1.0  # seconds before a bar appears: quick work should not flicker
_LINE_EVERY = 10.0  # seconds between lines where there is no terminal


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told how many of the `total` units of `what` have been done since it was last called."""
    if _silenced:
        yield lambda _: None
        return
    display = _Bar(what, total) if sys.stderr.isatty() else _Lines(what, total)
    try:
        yield display.advance
    finally:
        display.close()


@contextmanager
def silence() -> Iterator[None]:
    """Show no progress within this: a server works on many things at once, for people who are elsewhere."""
    _silenced.append(True)
    try:
        yield
    finally:
        _silenced.pop()


_announced: set[str] = set()
_silenced: list[bool] = []


def announce(what: str) -> None:
    """Write a line about work that cannot tell how far it is, once in a process; a bar that is there goes on below it."""
    if what not in _announced:
        _announced.add(what)
        sys.stderr.write(f"{what}\n")
        sys.stderr.flush()


class _Lines:
    """One line every few seconds, for logs and pipes."""

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total, self._done = what, max(total, 1), 0
        self._next = time.monotonic() + _LINE_EVERY

    def advance(self, amount: int) -> None:
        self._done += amount
        if time.monotonic() >= self._next:
            self._next += _LINE_EVERY
            sys.stderr.write(f"{self._what}: {min(100, 100 * self._done // self._total)} %\n")

    def close(self) -> None:
        pass


class _Bar:
    """A bar that appears once the work has taken a moment and is wiped when it ends."""

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total, self._done = what, total, 0
        self._show_at = time.monotonic() + _PATIENCE
        self._finish: Callable[[], None] = lambda: None
        self._update: Callable[[int], object] | None = None

    def advance(self, amount: int) -> None:
        self._done += amount
        if self._update is not None:
            self._update(self._done)
        elif time.monotonic() >= self._show_at:
            self._appear()

    def close(self) -> None:
        self._finish()

    def _appear(self) -> None:
        from rich.console import Console
        from rich.progress import Progress

        bar = Progress(console=Console(stderr=True), transient=True)
        task = bar.add_task(self._what, total=self._total, completed=self._done)
        bar.start()
        self._update = lambda done: bar.update(task, completed=done)
        self._finish = bar.stop
