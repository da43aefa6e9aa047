"""The clock of a run to which minutes are given: what was spent before training, and what must be left for after it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from relatum import time_limit

_LEAST = 0.1  # of the minutes that training has, however little is left: without any there would be no model
_LATE = 0.4  # of the time: by then it should be known how long a validation takes
_SAVES = 3  # that follow the last validation: its checkpoint, the last one, and the model


class Clock:
    """How much of the time of training is behind, breaks left out.

    Training has what the minutes leave of a run: less what was spent before it, and less what its last validation, and what
    follows it, take. These are measured whenever they happen, and rehearsed where that would be too late.
    """

    def __init__(
        self,
        minutes: float | None = None,  # that the whole run may take, counted from the moment `began`; None for any time
        began: float | None = None,
        equal_parts: int = 1,  # how many times as long as training a run takes without what is reserved: 2 with a refit
        now: Callable[[], float] = time_limit.now,
    ) -> None:
        self._now, self._parts = now, equal_parts
        self._whole = math.inf if minutes is None else 60 * minutes
        self._began = self._start = now() if began is None else began
        self._spent = 0.0
        self._last: dict[str, float] = {}  # how long what is reserved took when it happened last

    @property
    def is_limited(self) -> bool:
        """Whether there are minutes to keep to."""
        return self._whole < math.inf

    def start_training(self, seconds: float = 0.0) -> None:
        """Note that training begins now, or goes on after so many seconds of it."""
        self._start, self._spent = self._now() - seconds, self._now() - self._began

    def seconds(self) -> float:
        """Return the seconds of training so far; 0 where nobody counts them."""
        return self._now() - self._start if self.is_limited else 0.0

    def share(self) -> float:
        """Return the share of the time of training that is behind; 1 or more when it is up."""
        return self.seconds() / self._most()

    def _most(self) -> float:
        """Return the seconds that training has."""
        left = self._whole - self._spent - self._last.get("closing", 0.0) - _SAVES * self._last.get("saving", 0.0)
        most = left / self._parts - self._last.get("validation", 0.0)
        return max(most, _LEAST * self._whole)

    def has_time_to_validate(self) -> bool:
        """Return whether after a validation now there would be time left to train; the last one is still to come."""
        return self.seconds() + self._last.get("validation", 0.0) < self._most()

    def needs_rehearsal(self) -> bool:
        """Return whether much of the time is behind, and nobody knows how long a validation takes."""
        return self.is_limited and "validation" not in self._last and self.share() >= _LATE

    @contextmanager
    def measured(self, what: str) -> Iterator[None]:
        """Note how long a `validation`, the `closing` after training or the `saving` of a state takes."""
        began = self._now()
        yield
        self._last[what] = self._now() - began
