"""A run at a glance: what it was trained on, its relations, and how good it is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from relatum.api import Run
from relatum.report.quality import Measured
from relatum.resources.limits import MOST_RELATIONS
from relatum.resources.quality import measured_overall
from relatum.resources.references import EntityRef, entity_ref, role_names
from relatum.runs.definitions import definition_text
from relatum.runs.lookup import RelationSummary, describe_relations


@dataclass(frozen=True, slots=True)
class ColumnRow:
    """A position of a relation.

    Attributes:
        position: its number, from 0.
        role: how it is called; its number where it has no role.
        entity_type: what its entities are, where the relation was a table; None where that is not known.
        value_type: what their values are: `whole`, `number` or `text`; None where that is not known.
    """

    position: int
    role: str
    entity_type: str | None
    value_type: str | None


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
class RunOverview:
    """A run at a glance.

    Attributes:
        name: the name of its directory, or of its data where it is in memory.
        model: what the model is called.
        dim: the size of its embeddings.
        data: what it was trained on.
        entities: how many entities there are.
        facts: how many facts each split part has.
        created: when its training began, in UTC, as ISO 8601; None where the journal does not tell.
        relations: all relations, stored and defined, those with most facts first.
        validation_mrr: the best MRR on validation facts during training; None where there were none.
        quality: how it ranks the held-out facts of `quality.part`; None until `quality` was asked for once.
        calibrated: whether answers have probabilities.
        definitions: the relations that were defined on it.
        truncated: whether there are more relations than are listed.
    """

    name: str
    model: str
    dim: int
    data: str
    entities: int
    facts: tuple[PartSize, ...]
    created: str | None
    relations: tuple[RelationRow, ...]
    validation_mrr: float | None
    quality: Measured | None
    calibrated: bool
    definitions: tuple[DefinitionRow, ...]
    truncated: bool


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


def overview(run: Run) -> RunOverview:
    """Return a run at a glance."""
    rows, history = relation_rows(run), run.history
    began = next((float(event["time"]) for event in run.events if event.get("event") == "start"), None)
    data = Path(run.split.source).name or run.split.source
    return RunOverview(
        name=data if run.folder is None else run.folder.resolve().name,
        model=run.model.title,
        dim=int(run.spec.settings.dim),
        data=data,
        entities=len(run.entities),
        facts=tuple(PartSize(part, len(graph)) for part, graph in run.split.parts.items()),
        created=None if began is None else datetime.fromtimestamp(began, UTC).isoformat(timespec="seconds"),
        relations=rows[:MOST_RELATIONS],
        validation_mrr=None if history.best is None else history.best.value,
        quality=measured_overall(run),
        calibrated=run.calibration is not None,
        definitions=tuple(
            DefinitionRow(name, definition_text(run.definitions, name, roles=True)) for name in run.definitions
        ),
        truncated=len(rows) > MOST_RELATIONS,
    )


def schema(run: Run) -> RunSchema:
    """Return what can be asked of a run."""
    rows = relation_rows(run)
    return RunSchema(
        rows[:MOST_RELATIONS], len(run.entities), run.calibration is not None, truncated=len(rows) > MOST_RELATIONS
    )


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
