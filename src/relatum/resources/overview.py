"""A run at a glance: what it was trained on, its relations, and how good it is; and how its training went, or goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from relatum.api import Run
from relatum.closed_folders import close_folder
from relatum.errors import RelatumError
from relatum.report.quality import Measured
from relatum.report.study import provenance_by_section, settings_by_section
from relatum.resources.limits import MOST_RELATIONS
from relatum.resources.quality import measured_overall
from relatum.resources.references import EntityRef, entity_ref, role_names
from relatum.runs.definitions import definition_text
from relatum.runs.directory import JOURNAL, SPEC, read_environment, why_no_run
from relatum.runs.journal import HistoryPoint, read_history
from relatum.runs.lookup import ColumnSummary, RelationSummary, describe_relations
from relatum.runs.spec import Spec

_POINTS = 2000  # of a curve: more do not show


@dataclass(frozen=True, slots=True)
class ColumnRow(ColumnSummary):
    """A position of a relation, from 0: its role or else its number, and what its entities and their values are.

    The type of the entities is known where the relation was a table. Values are `whole`, `number` or `text`.
    """

    role: str


@dataclass(frozen=True, slots=True)
class RelationRow:
    """A relation.

    Attributes:
        name: its name.
        arity: how many positions it has.
        columns: its positions.
        facts: how many facts of it are known.
        example: the entities of one of them; None where there are none.
        question: a question that this fact answers; None where there is none.
        definition: the expression that defines it; None for a stored relation.
    """

    name: str
    arity: int
    columns: tuple[ColumnRow, ...]
    facts: int
    example: tuple[EntityRef, ...] | None
    question: str | None
    definition: str | None


@dataclass(frozen=True, slots=True)
class PartSize:
    """How many facts a split part has."""

    part: str
    facts: int


@dataclass(frozen=True, slots=True)
class DefinitionRow:
    """A relation that was defined on the run, and its expression."""

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class RunSchema:
    """What can be asked of a run.

    Attributes:
        relations: all relations, stored and defined, those with most facts first.
        entities: how many entities there are.
        calibrated: whether answers have probabilities.
        truncated: whether there are more relations than are listed.
    """

    relations: tuple[RelationRow, ...]
    entities: int
    calibrated: bool
    truncated: bool


@dataclass(frozen=True, slots=True)
class RunOverview(RunSchema):
    """A run at a glance: what can be asked of it, what it was made of, and how good it is.

    Attributes:
        name: the name of its directory, or of its data where it is in memory.
        model: what the model is called.
        dim: the size of its embeddings.
        data: what it was trained on.
        facts: how many facts each split part has.
        created: when its training began, in UTC, as ISO 8601; None where the journal does not tell.
        validation_mrr: the best MRR on validation facts during training; None where there were none.
        quality: how it ranks the held-out facts of `quality.part`; None until `quality` was asked for once.
        definitions: the relations that were defined on it.
    """

    name: str
    model: str
    dim: int
    data: str
    facts: tuple[PartSize, ...]
    created: str | None
    validation_mrr: float | None
    quality: Measured | None
    definitions: tuple[DefinitionRow, ...]


def overview(run: Run) -> RunOverview:
    """Return a run at a glance."""
    best, data = run.history.best, Path(run.split.source).name or run.split.source
    began = next((float(event["time"]) for event in run.events if event.get("event") == "start"), None)
    return RunOverview(
        **_askable(run),
        name=data if run.folder is None else run.folder.resolve().name,
        model=run.model.title,
        dim=int(run.spec.settings.dim),
        data=data,
        facts=tuple(PartSize(part, len(graph)) for part, graph in run.split.parts.items()),
        created=None if began is None else datetime.fromtimestamp(began, UTC).isoformat(timespec="seconds"),
        validation_mrr=None if best is None else best.value,
        quality=measured_overall(run),
        definitions=tuple(
            DefinitionRow(name, definition_text(run.definitions, name, roles=True)) for name in run.definitions
        ),
    )


def schema(run: Run) -> RunSchema:
    """Return what can be asked of a run."""
    return RunSchema(**_askable(run))


def _askable(run: Run) -> dict[str, Any]:
    rows, calibrated = relation_rows(run), run.calibration is not None
    listed, truncated = rows[:MOST_RELATIONS], len(rows) > MOST_RELATIONS
    return {"relations": listed, "entities": len(run.entities), "calibrated": calibrated, "truncated": truncated}


def relation_rows(run: Run) -> tuple[RelationRow, ...]:
    """Return all relations of a run, those with most facts first."""

    def work_out() -> tuple[RelationRow, ...]:
        return tuple(sorted((_row(run, one) for one in describe_relations(run)), key=lambda one: (-one.facts, one.name)))

    return run.remembered("relations", work_out)


def _row(run: Run, one: RelationSummary) -> RelationRow:
    roles = role_names(run, one.name)
    columns = tuple(
        ColumnRow(column.position, role, column.entity_type, column.value_type)
        for column, role in zip(one.columns, roles, strict=True)
    )
    example = None if one.example is None else tuple(entity_ref(run, name) for name in one.example)
    text = definition_text(run.definitions, one.name, roles=True) if one.name in run.definitions else None
    return RelationRow(one.name, len(columns), columns, one.facts, example, one.question, text)


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
    losses: tuple[HistoryPoint, ...]
    validations: tuple[HistoryPoint, ...]
    best: HistoryPoint | None
    settings: tuple[SettingSection, ...]
    provenance: tuple[SettingSection, ...]
    updates: int


def training(folder: Path) -> TrainingView:
    """Return how the training of the run in a directory went or goes; the journal is only read."""
    close_folder(folder)
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
        best=history.best,
        settings=_sections(settings_by_section(spec.to_dict())),
        provenance=_sections(provenance_by_section(environment)),
        updates=len(environment.get("updates", ())),
    )


def _points(points: Sequence[HistoryPoint]) -> tuple[HistoryPoint, ...]:
    """Return the points of a curve, at most so many, the last one among them."""
    step = -(-len(points) // _POINTS) or 1
    return tuple(points[::-1][::step][::-1])


def _sections(sections: Mapping[str, Mapping[str, Any]]) -> tuple[SettingSection, ...]:
    def text(value: object) -> str:
        return "" if value is None else str(value)

    return tuple(
        SettingSection(title, tuple(Setting(name, text(value)) for name, value in settings.items()))
        for title, settings in sections.items()
    )
