"""The course of training, as the journal tells it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

from relatum.errors import DataError
from relatum.runs.journal import Journal

__all__ = ["Course", "Moment", "read_course"]


@dataclass(frozen=True)
class Moment:
    """A value at the end of an epoch, and how many seconds of training there had been by then."""

    epoch: int
    seconds: float
    value: float


@dataclass
class Course:
    """The loss of each epoch, the MRR of each validation, and how much was spent in how many sessions."""

    losses: list[Moment] = field(default_factory=list)
    scores: list[Moment] = field(default_factory=list)
    seconds: float = 0.0
    epochs: int = 0
    sessions: int = 0

    @property
    def best(self) -> Moment | None:
        """The first of the best validations."""
        return max(self.scores, key=lambda moment: moment.value, default=None)


def read_course(path: Path) -> Course:
    """Return the course of training; the journal is only read, and nothing is known where there is none.

    What was trained after the last checkpoint before a break was trained again: only the second time is kept, but the time
    that both took counts.
    """
    course, before = Course(), 0.0
    try:
        for event in Journal(path).read():
            now, kind = float(event["time"]), event["event"]
            if kind == "update":  # this was no training, however long after it
                continue
            if kind in ("start", "resume"):
                course.sessions += 1
                course.losses = [moment for moment in course.losses if moment.epoch <= event["epoch"]]
                course.scores = [moment for moment in course.scores if moment.epoch <= event["epoch"]]
            else:
                course.seconds += max(now - before, 0.0)  # clocks are set back now and then
            before, course.epochs = now, int(event["epoch"])
            for name, kept in (("loss", course.losses), ("score", course.scores)):
                if isinstance(event.get(name), float | int) and math.isfinite(event[name]):
                    kept.append(Moment(course.epochs, course.seconds, float(event[name])))
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: not a journal of training ({type(error).__name__}: {error})") from None
    return course
