"""How good a run is, by parts of the questions, and where it fails; as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from relatum.arrays import Bool, Int64
from relatum.data.hypergraph import Hypergraph
from relatum.inference import scoring
from relatum.inference.ranking import Ranks, mrr_interval
from relatum.runs.trained import Trained

__all__ = ["Breakdown", "ColumnErrors", "Errors", "Measured", "Quality", "WorstFact", "errors_of", "measured", "quality_of"]

_LISTED = 25  # relations that have a row of their own
_WORST_COLUMNS, _WORST_FACTS, _ABOVE = 12, 10, 3
_RANK_RANGES = ((1, 1), (2, 3), (4, 10), (11, 100), (101, 1000), (1001, None))

Chosen = Bool


@dataclass(frozen=True)
class Measured:
    """Some questions and how they rank; one fact alone tells of no interval."""

    name: str
    questions: int
    mrr: float
    interval: tuple[float, float] | None
    first: float
    ten: float


@dataclass(frozen=True)
class Breakdown:
    """Metrics by one thing, such as arity."""

    title: str
    head: str
    rows: tuple[Measured, ...]


@dataclass(frozen=True)
class Quality:
    """How good a run is on the facts of a part: over all, where right answers rank, and by parts of the questions."""

    part: str
    overall: Measured
    ranks: tuple[tuple[str, float], ...]
    breakdowns: tuple[Breakdown, ...]


@dataclass(frozen=True)
class ColumnErrors:
    """A column of a relation, how it ranks, and its share of all that is lost."""

    relation: str
    column: str
    measured: Measured
    loss: float


@dataclass(frozen=True)
class WorstFact:
    """A fact whose entity at `position` ranks badly, and what is ranked first instead."""

    relation: str
    entities: tuple[str, ...]
    position: int
    rank: float
    above: tuple[str, ...]


@dataclass(frozen=True)
class Errors:
    """Where a run errs; a right answer at rank r loses 1 - 1/r.

    Attributes:
        unseen: the share of the questions about facts with an entity that training never saw.
        unseen_loss: the share of the loss that is theirs.
        columns: those that lose most.
        of: how many columns there are.
        loss: what these columns lose together, as a share of all.
        worst: the worst-ranked facts, one for each column, all of whose entities training saw.
    """

    unseen: float
    unseen_loss: float
    columns: tuple[ColumnErrors, ...]
    of: int
    loss: float
    worst: tuple[WorstFact, ...]


def measured(name: str, ranks: Ranks) -> Measured:
    """Return how some questions rank."""
    metrics = ranks.metrics
    interval = mrr_interval(ranks) if len(np.unique(ranks.fact)) > 1 else None
    return Measured(name, len(ranks), metrics.mrr, interval, metrics.hits[1], metrics.hits[10])


def quality_of(run: Trained, part: str, ranks: Ranks) -> Quality:
    """Return how good a run is, given the ranks of the facts of a part."""
    arities: dict[str, Chosen] = {str(arity): ranks.arity == arity for arity in np.unique(ranks.arity)}
    if ranks.unseen.any() and not ranks.unseen.all():
        arities |= {"all entities seen in training": ~ranks.unseen, "with an unseen entity": ranks.unseen}
    positions: dict[str, Chosen] = {str(position): ranks.position == position for position in np.unique(ranks.position)}
    return Quality(
        part,
        measured("all", ranks),
        _rank_ranges(ranks),
        (
            _by_relation(run, ranks),
            _by("By number of entities", "entities", arities, ranks),
            _by("By hidden position", "position", positions, ranks),
            *_by_derivation(run, ranks),
        ),
    )


def _rank_ranges(ranks: Ranks) -> tuple[tuple[str, float], ...]:
    """Return the share of right answers in each range of ranks."""
    found = []
    for first, last in _RANK_RANGES:
        inside = (ranks.realistic >= first) & ((ranks.realistic < last + 1) if last else True)
        name = f"{first:,}" if first == last else f"{first:,} – {last:,}" if last else f"{first:,} and beyond"
        found.append((name, float(np.mean(inside))))
    return tuple(found)


def _by(title: str, head: str, parts: Mapping[str, Chosen], ranks: Ranks) -> Breakdown:
    return Breakdown(title, head, tuple(measured(name, ranks.where(chosen)) for name, chosen in parts.items()))


def _by_relation(run: Trained, ranks: Ranks) -> Breakdown:
    schema = run.model.schema
    sizes = np.bincount(ranks.relation, minlength=len(schema))
    order = np.argsort(-sizes, kind="stable")[: int(np.sum(sizes > 0))]
    parts: dict[str, Chosen] = {schema[int(one)].name: ranks.relation == one for one in order[:_LISTED]}
    title = "By relation"
    if len(order) > _LISTED:
        parts[f"{len(order) - _LISTED} others together"] = np.isin(ranks.relation, order[_LISTED:])
        title = f"By relation: the {_LISTED} with most questions"
    return _by(title, "relation", parts, ranks)


def _by_derivation(run: Trained, ranks: Ranks) -> list[Breakdown]:
    """Return the metrics by how relations were derived, where that is known: by their last operation, and by depth."""
    derivations, schema = run.split.derivations, run.model.schema
    found = []
    for key, title in (("operation", "By last operation"), ("depth", "By depth")):
        labels = {name: getattr(derivation, key) for name, derivation in derivations.items() if name in schema}
        parts: dict[str, Chosen] = {}
        for label in sorted(set(labels.values())):
            chosen = np.isin(ranks.relation, [schema.id(name) for name, own in labels.items() if own == label])
            if chosen.any():
                parts[str(label)] = chosen
        if parts:
            found.append(_by(title, key, parts, ranks))
    return found


def errors_of(run: Trained, facts: Hypergraph, ranks: Ranks) -> Errors | None:
    """Return where a run errs; None if it does not."""
    lost = 1 - 1 / ranks.realistic
    if not lost.sum():
        return None
    width = int(ranks.arity.max())
    column = ranks.relation * width + ranks.position
    sums = np.bincount(column, lost)
    order = np.argsort(-sums, kind="stable")[: min(_WORST_COLUMNS, int(np.sum(sums > 0)))]
    columns = []
    for one in order.tolist():
        schema, position = run.model.schema[one // width], one % width
        name = schema.roles[position] if schema.roles else str(position)
        share = float(sums[one] / lost.sum())
        columns.append(ColumnErrors(schema.name, name, measured("", ranks.where(column == one)), share))
    return Errors(
        unseen=float(np.mean(ranks.unseen)),
        unseen_loss=float(lost[ranks.unseen].sum() / lost.sum()),
        columns=tuple(columns),
        of=len(np.unique(column)),
        loss=float(sums[order].sum() / lost.sum()),
        worst=_worst(run, facts, ranks, column),
    )


def _worst(run: Trained, facts: Hypergraph, ranks: Ranks, column: Int64) -> tuple[WorstFact, ...]:
    seen = np.flatnonzero(~ranks.unseen & (ranks.better > 0))
    order = seen[np.argsort(-ranks.realistic[seen], kind="stable")]
    _, first = np.unique(column[order], return_index=True)
    sizes = [len(facts.table(relation.name)) for relation in facts.schema]
    starts = np.concatenate([[0], np.cumsum(sizes)])  # the number of the first fact of each relation, as `rank` counts them
    names, found = facts.entities, []
    for question in order[np.sort(first)[:_WORST_FACTS]].tolist():
        relation, position = int(ranks.relation[question]), int(ranks.position[question])
        name = facts.schema[relation].name
        fact = facts.table(name).columns[:, ranks.fact[question] - starts[relation], None]
        known = run.known.lookup(np.array([relation], np.int32), fact.astype(np.int32), position)
        question_columns, k = torch.from_numpy(fact.astype(np.int64)), min(_ABOVE, int(ranks.better[question]))
        best, _ = scoring.top(run.model, run.tables, relation, question_columns, position, k, known)
        entities = [names[one] for one in fact[:, 0].tolist()]
        others = [[*entities[:position], names[one], *entities[position + 1 :]] for one in best[0].tolist() if one >= 0]
        above = tuple(run.shown(name, other)[position] for other in others)
        rank = float(ranks.realistic[question])
        found.append(WorstFact(name, run.shown(name, entities), position, rank, above))
    return tuple(found)
