"""The journal of a run: events appended one a line, and the training history read back."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NotRequired, Required, TypedDict

from relatum.artefacts import Count, Score, Share, Within, read
from relatum.closed_folders import open_file
from relatum.errors import FormatError, RelatumError
from relatum.files import drop_torn_line, is_there, parse_json, read_whole

_Positive = Annotated[float, Within(0, 1e15)]  # of seconds and of ranks


_From = TypedDict("_From", {"from": str})


class Folded(_From, total=False):
    """What was folded into a run after training: how many facts came, what became of them, and how it went."""

    facts: Count
    repeated: Count
    known: Count
    added: Required[Count]
    added_valid: Count
    added_test: Count
    among_known_entities: Count
    new_entities: Required[Count]
    refitted_entities: Count
    model: str | None
    checksums: dict[str, str]
    seed: Count
    versions: dict[str, str]
    seconds: _Positive
    valid_facts: Count
    valid_mrr_before: Share | None
    valid_mrr_after: Share | None
    own_questions: Count
    own_mrr_start: Share
    own_mrr: Share
    own_mean_rank_start: _Positive
    own_mean_rank: _Positive


class Update(Folded):
    """The same as an event."""

    event: str
    time: _Positive


class Event(TypedDict):
    """What happened in training."""

    event: str
    time: _Positive
    epoch: Count
    loss: NotRequired[Annotated[float, Score] | None]
    done: NotRequired[Share]
    score: NotRequired[Share | None]
    mrr: NotRequired[Share | None]
    mrr_error: NotRequired[Share]
    best: NotRequired[bool]
    refit: NotRequired[bool]
    workers: NotRequired[Count]
    communication: NotRequired[Annotated[float, Within(0, 1e3)]]
    bytes_sent: NotRequired[Count]


class Journal:
    """Appends events to a file; a line torn by a kill is dropped before the next one is written, and never read.

    Without a path, events are kept in memory. Once it is written, an event is passed on to the `follower`, if there is one.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.follower: Callable[[Mapping[str, Any]], None] | None = None
        self._mended = False
        self._kept: list[dict[str, Any]] = []

    def write(self, event: str, **facts: Any) -> None:
        """Append one event with what there is to say of it and the time."""
        record = {"event": event, "time": round(time.time(), 3), **facts}
        if self.path is None:
            self._kept.append(record)
        else:
            self._append(self.path, json.dumps(record, ensure_ascii=False))
        if self.follower is not None:
            self.follower(record)

    def _append(self, path: Path, line: str) -> None:
        if not self._mended:
            drop_torn_line(path)
            self._mended = True
        with open_file(path, "ab") as file:
            file.write(f"{line}\n".encode())
            file.flush()
            os.fsync(file.fileno())

    def read(self) -> list[dict[str, Any]]:
        """Return all events so far that are whole."""
        if self.path is None:
            return list(self._kept)
        if not is_there(self.path):
            return []
        # Not splitlines, which also splits at signs that may stand in a text. What follows the last line feed is not whole.
        lines = read_whole(self.path).split(b"\n")[:-1]
        return [_event(self.path, number, line) for number, line in enumerate(lines, start=1)]


def _event(path: Path, number: int, line: bytes) -> dict[str, Any]:
    """Return the event in a line of a journal; refused if it is none that training writes."""
    try:
        event = parse_json(line)
        is_update = isinstance(event, dict) and event.get("event") == "update"
        found: dict[str, Any] = read(Update if is_update else Event, event)
        return found
    except (ValueError, RelatumError) as error:
        raise FormatError("damaged-file", path, number, f"not a journal of training ({error})") from None


@dataclass(frozen=True)
class HistoryPoint:
    """A value at the end of an epoch, and how many seconds of training there had been by then."""

    epoch: int
    seconds: float
    value: float
    decisive: float | None = None  # what a validation was decided by, where that is not its MRR, the value


@dataclass
class TrainingHistory:
    """The loss of each epoch, the MRR of each validation, and how much was spent in how many sessions."""

    losses: list[HistoryPoint] = field(default_factory=list)
    scores: list[HistoryPoint] = field(default_factory=list)
    seconds: float = 0.0
    epochs: int = 0
    sessions: int = 0

    @property
    def best(self) -> HistoryPoint | None:
        """The first of the best validations."""
        return max(self.scores, key=lambda point: point.value if point.decisive is None else point.decisive, default=None)


def read_history(path: Path) -> TrainingHistory:
    """Return the history of training; the journal is only read, and nothing is known where there is none."""
    return history_of(Journal(path).read())


def history_of(events: Iterable[Mapping[str, Any]]) -> TrainingHistory:
    """Return the history of training that events of a journal tell.

    What was trained after the last checkpoint before a break was trained again: only the second time is kept, but the time
    that both took counts.
    """
    history, before = TrainingHistory(), 0.0
    for event in events:
        now, kind = float(event["time"]), event["event"]
        if kind == "update":  # this was no training, however long after it
            continue
        if event.get("refit") or kind == "refit":  # another training, by the epochs of this one: only its time counts
            history.sessions += kind == "resume"
            history.seconds += max(now - before, 0.0) if kind == "refit" else 0.0
            before = now
            continue
        if kind in ("start", "resume"):
            history.sessions += 1
            history.losses = [point for point in history.losses if point.epoch <= event["epoch"]]
            history.scores = [point for point in history.scores if point.epoch <= event["epoch"]]
        else:
            history.seconds += max(now - before, 0.0)  # clocks are set back now and then
        before, history.epochs = now, int(event["epoch"])
        for name, kept in (("loss", history.losses), ("score", history.scores)):
            if isinstance(event.get(name), float | int) and math.isfinite(event[name]):
                value, decisive = float(event[name]), None
                if name == "score" and "mrr" in event:
                    value, decisive = float(event["mrr"]), value
                kept.append(HistoryPoint(history.epochs, history.seconds, value, decisive))
    return history
