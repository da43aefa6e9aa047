"""A clock for work that may take so long, and a time limit for searches, which return the best found so far.

Compiling kernels does not count: it comes once per machine, and must not change what is found or learned the first time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from relatum.errors import SettingError

_left_out = 0.0  # seconds of this process that count for no limit


def leave_out(seconds: float) -> None:
    """Have no limit count so many seconds that have just passed."""
    global _left_out
    _left_out += seconds


def now() -> float:
    """Return the seconds of a clock that stands still while kernels are compiled."""
    return time.monotonic() - _left_out


class Deadline:
    """A time at which searches stop.

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
        self._began = self._last = now()
        self._end = math.inf if seconds is None else self._began + seconds
        self.stopped = False
        self._whole: Deadline | None = None

    def reached(self) -> bool:
        """Return whether the time is over; `stopped` then remembers that a search ended early."""
        moment = now()
        if self._advance is not None and (passed := int(1000 * (moment - self._last))) > 0:
            self._advance(passed)
            self._last += passed / 1000
        over = moment >= self._end
        if over:
            self.stop()
        return over

    def stop(self) -> None:
        """Remember that a search ended early."""
        self.stopped = True
        if self._whole is not None:
            self._whole.stop()

    def part(self, share: float) -> Deadline:
        """Return a limit for a part of the work, which may take a share of the time that is left."""
        part = Deadline(None, self._advance)
        part._whole = self
        if self._end != math.inf:
            moment = now()
            part._end = moment + share * max(0.0, self._end - moment)
        return part
