"""Progress on standard error: a bar in a terminal, now and then a plain line elsewhere, nothing for quick work."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from relatum.formatting import duration
from relatum.time_limit import check_time

if TYPE_CHECKING:
    from rich.progress import Progress

_PATIENCE = 1.0  # seconds before a bar appears: quick work should not flicker
_LINE_EVERY = 10.0  # seconds between lines where there is no terminal


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told how many of the `total` units of `what` have been done since it was last called.

    What tells how far it is takes long, so this is also where it is given up when its time is over.
    """
    if _silenced:
        yield lambda _: check_time()
        return
    display, done, whole = Display(_PATIENCE), 0, max(total, 1)

    def advance(amount: int) -> None:
        nonlocal done
        check_time()
        done += amount
        display.show(what, min(1.0, done / whole), f"{min(100, 100 * done // whole)} %")

    try:
        yield advance
    finally:
        display.close(wiped=True)


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


class Display:
    """Work under way: a bar in a terminal, once it has taken a moment, and elsewhere a line every few seconds."""

    def __init__(self, patience: float = 0.0) -> None:
        self._start = time.monotonic()
        self._show_at, self._next = self._start + patience, self._start + _LINE_EVERY
        self._first: float | None = None  # the share that was done when this began: work may be taken up again
        self._bar: Progress | None = None

    @property
    def seconds(self) -> float:
        """How long the work has taken."""
        return time.monotonic() - self._start

    def show(self, what: str, share: float, text: str, *, now: bool = False) -> None:
        """Show how large a share of the work is done, and a text about it; `now` writes a line in any case."""
        moment = time.monotonic()
        self._first = share if self._first is None else self._first
        if sys.stderr.isatty():
            if self._bar is None and moment >= self._show_at:
                self._bar = _bar()
            if self._bar is not None:
                whole = f"{text}  {self._left(share)} left"
                self._bar.update(self._bar.task_ids[0], completed=share, description=what, text=whole)
        elif now or moment >= self._next:
            self._next = moment + _LINE_EVERY
            sys.stderr.write(f"{what}: {text}, {self._left(share)} left\n")

    def _left(self, share: float) -> str:
        """Return how long the rest takes if it goes on as since the start."""
        passed = share - (self._first or 0.0)
        return duration(self.seconds * (1 - share) / passed if passed > 0 else math.inf)

    def close(self, *, wiped: bool = False) -> None:
        """End the bar, and take it away where nothing is to stay."""
        if self._bar is not None:
            self._bar.live.transient = wiped
            self._bar.stop()


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[text]}")
    bar = Progress(*columns, console=Console(stderr=True))
    bar.add_task("", total=1.0, text="")
    bar.start()
    return bar
