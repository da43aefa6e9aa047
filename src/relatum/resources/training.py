"""How training went, or goes: curves from the journal, settings and provenance; also of a run that has no model yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relatum.errors import RelatumError
from relatum.report.study import provenance_by_section, settings_by_section
from relatum.runs.directory import JOURNAL, SPEC, read_environment, why_no_run
from relatum.runs.journal import HistoryPoint, read_history
from relatum.runs.spec import Spec


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A value at the end of an epoch, and how many seconds of training there had been by then."""

    epoch: int
    seconds: float
    value: float


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting or a version: its name, and its value as text."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class SettingSection:
    """Settings that belong together."""

    title: str
    settings: tuple[Setting, ...]


@dataclass(frozen=True, slots=True)
class TrainingView:
    """How training went, or goes.

    Attributes:
        name: the name of the run's directory.
        finished: whether the run has its model.
        epochs: how many epochs there were so far.
        planned: how many there are to be at most.
        seconds: how long training took so far.
        sessions: how often it was begun or resumed.
        losses: the training loss by epoch.
        validations: the MRR on validation facts, by epoch.
        best: the best validation; None where there is none.
        settings: what the run was made by.
        provenance: versions, machine, and checksums of the data.
        updates: how often facts were folded in since.
    """

    name: str
    finished: bool
    epochs: int
    planned: int
    seconds: float
    sessions: int
    losses: tuple[CurvePoint, ...]
    validations: tuple[CurvePoint, ...]
    best: CurvePoint | None
    settings: tuple[SettingSection, ...]
    provenance: tuple[SettingSection, ...]
    updates: int


_POINTS = 2000  # of a curve: more do not show


def training(folder: Path) -> TrainingView:
    """Return how the training of the run in a directory went or goes; the journal is only read."""
    if not (folder / SPEC).exists():
        raise RelatumError("not-a-run", why_no_run(folder), place=folder.name)
    spec, environment = Spec.of_run(folder / SPEC), read_environment(folder)
    history = read_history(folder / JOURNAL)
    return TrainingView(
        name=folder.resolve().name,
        finished=(folder / "config.json").exists(),
        epochs=history.epochs,
        planned=int(spec.training.epochs),
        seconds=history.seconds,
        sessions=history.sessions,
        losses=_points(history.losses),
        validations=_points(history.scores),
        best=None if history.best is None else _point(history.best),
        settings=_sections(settings_by_section(spec.to_dict())),
        provenance=_sections(provenance_by_section(environment)),
        updates=len(environment.get("updates", ())),
    )


def _points(points: list[HistoryPoint]) -> tuple[CurvePoint, ...]:
    """Return the points of a curve, at most so many, the last one among them."""
    step = -(-len(points) // _POINTS) or 1
    return tuple(map(_point, points[::-1][::step][::-1]))


def _point(one: HistoryPoint) -> CurvePoint:
    return CurvePoint(one.epoch, one.seconds, one.value)


def _sections(sections: Mapping[str, Mapping[str, Any]]) -> tuple[SettingSection, ...]:
    return tuple(SettingSection(title, _settings(settings.items())) for title, settings in sections.items())


def _settings(settings: Iterable[tuple[str, Any]]) -> tuple[Setting, ...]:
    return tuple(Setting(name, "" if value is None else str(value)) for name, value in settings)
