"""All that the page shows of a run, measured once, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from relatum.data.hypergraph import Hypergraph
from relatum.data.quality import DataQuality, Description, check_quality, describe
from relatum.data.row_store import EMPTY, HELD_OUT_PARTS
from relatum.datasets.registry import DATASETS
from relatum.evidence.reasons import Reason
from relatum.inference.calibration import Reliability
from relatum.report.quality import Errors, Quality, errors_of, quality_of
from relatum.rules import Rule, mine_rules
from relatum.runs.answers import Prediction, Question
from relatum.runs.column_quality import ColumnQuality, column_quality
from relatum.runs.journal import TrainingHistory
from relatum.runs.prediction import predict
from relatum.runs.probabilities import reliability_of
from relatum.runs.reasons import why, without_prefixes
from relatum.runs.trained import Trained

AROUND = 60  # known facts of a relation that are varied to find new ones
_LARGEST, _KEPT = 12, 5  # relations with new facts, and new facts of each


@dataclass(frozen=True)
class Known:
    """A relation, how many facts of it are known, and one of them."""

    name: str
    arity: int
    roles: tuple[str, ...]
    facts: int
    example: tuple[str, ...]


@dataclass(frozen=True)
class NewPredictions:
    """New facts of the largest relations, best relation first, and how such predictions fare where the truth is known.

    So many `relations` were searched. A group is a relation, its roles, and its predictions with the best rule that speaks
    for each, None if none does. With the test facts held back, `tried` were found in the same way, None where there are no
    test facts, and `right` of these are test facts.
    """

    relations: int
    groups: tuple[tuple[str, tuple[str, ...], tuple[tuple[Prediction, Reason | None], ...]], ...]
    tried: int | None
    right: int


@dataclass(frozen=True)
class Study:
    """A run as its report shows it; None stands for what could not be measured for want of facts.

    Where a relation has roles, its entities are the values of their columns, without the prefix of their type.
    """

    model: str
    dim: int
    data: str
    source: str | None
    known: tuple[Known, ...]
    sizes: Description
    updates: int
    added: int
    added_entities: int
    quality: Quality | None
    columns: tuple[ColumnQuality, ...]
    gaps: tuple[tuple[str, int, float], ...]
    errors: Errors | None
    new: NewPredictions
    rules: tuple[Rule, ...]
    defined: bool
    data_quality: DataQuality
    calibrated: bool
    reliability: Reliability | None
    history: TrainingHistory
    settings: Mapping[str, Mapping[str, Any]]
    provenance: Mapping[str, Mapping[str, Any]]


def study_of(run: Trained) -> Study:
    """Return all that a report shows of a run."""
    split, spec, provenance = run.split, run.spec, run.environment
    part = next((part for part in ("test", "valid") if len(split.parts[part])), None)
    ranks = None if part is None else run.evaluate(part).ranks
    dataset = DATASETS.get(split.source)
    stored = Hypergraph.union(list(split.parts.values()))
    updates = provenance.get("updates", [])
    return Study(
        model=run.model.title,
        dim=spec.settings.dim,
        data=Path(split.source).name or split.source,
        source=f"{dataset.cite}; {dataset.licence}" if dataset else None,
        known=_known(run, stored),
        sizes=describe(split),
        updates=len(updates),
        added=sum(int(step["added"]) for step in updates),
        added_entities=sum(int(step["new_entities"]) for step in updates),
        quality=None if part is None or ranks is None else quality_of(run, part, ranks),
        errors=None if part is None or ranks is None else errors_of(run, part, ranks),
        columns=_columns(run),
        gaps=_gaps(run),
        new=_new_predictions(run, stored),
        rules=tuple(mine_rules(run.facts)),
        defined=bool(run.definitions),
        data_quality=check_quality(split),
        calibrated=run.calibration is not None,
        reliability=None if part is None else reliability_of(run, part),
        history=run.history,
        settings=settings_by_section(spec.to_dict()),
        provenance=provenance_by_section(provenance),
    )


def _columns(run: Trained) -> tuple[ColumnQuality, ...]:
    """Return how well the columns of tables are filled; nothing where there are none, or no held-out cells."""
    rows = run.split.rows
    if rows is None or run.columns is None:
        return ()
    held = [
        part for part, number in HELD_OUT_PARTS.items() if any((one.parts == number).any() for one in rows.tables.values())
    ]
    return tuple(column_quality(run, held[-1])) if held else ()


def _gaps(run: Trained) -> tuple[tuple[str, int, float], ...]:
    """Return the columns with empty cells: how many these are, and which share of all."""
    rows, found = run.split.rows, []
    for table in rows.tables.values() if rows is not None else ():
        for column, cells in zip(table.schema.columns, table.cells, strict=True):
            if column.part_of is None and (empty := int((cells == EMPTY).sum())):
                found.append((f"{table.schema.name}.{column.name}", empty, empty / len(table)))
    return tuple(found)


def _known(run: Trained, facts: Hypergraph) -> tuple[Known, ...]:
    """Return the relations, those with most facts first."""
    found = []
    for relation in facts.schema:
        table = facts.table(relation.name)
        first = table.columns[:, 0].tolist() if len(table) else []
        fact = run.shown_values.fact(relation.name, first, known=True) if first else None
        example = () if fact is None else run.shown(relation.name, fact.names, intervals=fact.intervals, known=fact.is_known)
        found.append(Known(relation.name, relation.arity, relation.roles or (), len(table), example))
    return tuple(sorted(found, key=lambda one: -one.facts))


def _new_predictions(run: Trained, stored: Hypergraph) -> NewPredictions:
    names = [one.name for one in _known(run, stored)[:_LARGEST] if one.facts]
    found = predict(run, names, _KEPT, around=AROUND, per_question=1)
    best = sorted((name for name in names if found[name]), key=lambda name: -(found[name][0].probability or 0.0))
    groups = tuple(
        (
            name,
            run.schema[name].roles or (),
            tuple(
                (replace(one, entities=run.shown(name, one.entities, intervals=one.intervals)), _reason(run, one))
                for one in found[name]
            ),
        )
        for name in best
    )
    if not len(run.split.test):
        return NewPredictions(len(names), groups, None, 0)
    given = Hypergraph.union([run.split.train, run.split.valid])
    tried = predict(run, names, _KEPT, around=AROUND, per_question=1, given=given)
    right = 0
    for name, found_again in tried.items():
        held_out = set(map(tuple, run.split.test.table(name).columns.T.tolist()))
        asked = (run.entities_of(Question(name, one.entities))[:, 0].tolist() for one in found_again)
        right += sum(tuple(fact) in held_out for fact in asked)
    return NewPredictions(len(names), groups, sum(map(len, tried.values())), right)


def _reason(run: Trained, found: Prediction) -> Reason | None:
    """Return the best rule that names what was put into a known fact."""
    if found.relation in run.definitions:
        return None
    reasons = why(run, Question(found.relation, found.entities), 1, found.position)
    return without_prefixes(run, reasons[0]) if reasons else None


def settings_by_section(spec: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the settings by section, those outside all sections first."""
    plain = {name: value for name, value in spec.items() if not isinstance(value, dict)}
    return {"Run": plain, **{name.capitalize(): dict(value) for name, value in spec.items() if isinstance(value, dict)}}


def provenance_by_section(environment: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what a run was trained with and on."""
    machine = {name: environment[name] for name in ("python", "machine", "threads") if name in environment}
    return {
        "Versions and machine": {**environment.get("versions", {}), **machine},
        "SHA-256 of the data": dict(environment.get("checksums", {})),
    }
