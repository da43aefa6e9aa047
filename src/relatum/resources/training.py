"""How training went, or goes: curves from the journal, settings and provenance; also of a run that has no model yet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from relatum.api import Run

__all__ = ["CurvePoint", "Setting", "SettingSection", "TrainingView", "training", "training_of"]


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


def training(folder: Path) -> TrainingView:
    """Return how the training of the run in a directory went or goes; the journal is only read."""
    raise NotImplementedError


def training_of(run: Run) -> TrainingView:
    """Return how the training of a run went."""
    raise NotImplementedError
