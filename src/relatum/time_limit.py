"""A clock for work that may take so long, and deadlines, at which searches end and all other work is given up.

A search that reaches its deadline returns the best found so far. Other loops, whose length depends on what is asked, call
`check_time`: it raises where the work that this thread does is over, because its time is, or because nobody waits for it.

Compiling and loading kernels does not count: it comes once, and must not change what is found or learned the first time.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token

from relatum.errors import RelatumError, SettingError

_GRACE, _LEAST_GRACE = (
    0.25,
    0.1,
)  # of its seconds, and at least in seconds, for what there is to say of what a search has found
_LOOK = 0.05  # seconds between two looks at the clock while a lock is waited for
_left_out = 0.0  # seconds of this process that count for no limit


class TimeOverError(RelatumError):
    """The time of a request is over, or nobody waits for its answer any more."""


def leave_out(seconds: float) -> None:
    """Have no limit count so many seconds that have just passed."""
    global _left_out
    _left_out += seconds


def now() -> float:
    """Return the seconds of a clock that stands still while kernels are compiled or loaded."""
    return time.monotonic() - _left_out


class Deadline:
    """A time at which searches stop; as a context, also that of all work of this thread, which is given up a little later.

    It ends no later than the deadline within which it is made, and is given up with that.

    Args:
        seconds: how long from now; None is no limit.
        advance: called, whenever a search looks at the clock, with the milliseconds since the last time.
    """

    def __init__(self, seconds: float | None = None, advance: Callable[[int], None] | None = None) -> None:
        if seconds is not None and (math.isnan(seconds) or seconds <= 0):
            raise SettingError(
                "setting-out-of-range", f"must be above 0, or None for no limit, not {seconds}", place="seconds"
            )
        self.seconds, self._advance = seconds, advance
        self._outer = _current.get()
        self._began = self._last = now()
        self._end = self._given_up = math.inf
        if seconds is not None:
            self._end, self._given_up = self._began + seconds, self._began + seconds + max(_GRACE * seconds, _LEAST_GRACE)
            if self._outer is not None:
                self._end = min(self._end, self._outer._end)
        self.stopped = self._is_cancelled = False
        self._whole: Deadline | None = None
        self._token: Token[Deadline | None] | None = None

    def __enter__(self) -> Deadline:
        self._token = _current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _current.reset(self._token)

    def reached(self) -> bool:
        """Return whether a search must end; `stopped` then remembers that it ended early. Raises as `check` does."""
        check_time()
        moment = now()
        if self._advance is not None and (passed := int(1000 * (moment - self._last))) > 0:
            self._advance(passed)
            self._last += passed / 1000
        over = moment >= self._end
        if over:
            self.stop()
        return over

    def is_late(self) -> bool:
        """Return whether half of what is left after the end of searches is over: no more is begun that can be left out."""
        return now() >= (self._end + self._given_up) / 2 or (self._outer is not None and self._outer.is_late())

    def stop(self) -> None:
        """Remember that a search ended early."""
        self.stopped = True
        if self._whole is not None:
            self._whole.stop()

    def cancel(self) -> None:
        """Have the work be given up at once, from any thread: nobody waits for it."""
        self._is_cancelled = True

    def check(self) -> None:
        """Raise `TimeOverError` where work of this deadline is to be given up."""
        if self._is_cancelled:
            raise TimeOverError("time-over", "nobody waits for the answer any more")
        if now() >= self._given_up:
            raise TimeOverError(
                "time-over", f"the answer takes longer than {self.seconds:g} seconds", remedy="ask for less, or allow more"
            )
        if self._outer is not None:
            self._outer.check()

    def part(self, share: float) -> Deadline:
        """Return a deadline for a part of the work, which may take a share of the time that is left."""
        part = Deadline(None, self._advance)
        part._whole = self
        if self._end != math.inf:
            moment = now()
            part._end = moment + share * max(0.0, self._end - moment)
        return part


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def is_hurried() -> bool:
    """Return whether what this thread works for must end in time."""
    deadline = _current.get()
    while deadline is not None and deadline.seconds is None:
        deadline = deadline._outer
    return deadline is not None


@contextmanager
def unhurried() -> Iterator[None]:
    """Do what no request can be without to its end, whatever the deadline of the one that does it."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def held(lock: threading.Lock | threading.RLock) -> Iterator[None]:
    """Hold a lock, which is waited for only as long as the work of this thread is not over."""
    while not lock.acquire(timeout=-1 if _current.get() is None else _LOOK):
        check_time()
    try:
        yield
    finally:
        lock.release()


def check_time() -> None:
    """Raise `TimeOverError` where what this thread works for is over."""
    if (deadline := _current.get()) is not None:
        deadline.check()
