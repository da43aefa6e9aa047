"""How good a run is, by parts of the questions, and where it fails; as plain data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from relatum.arrays import Bool, Int64
from relatum.data.hypergraph import Hypergraph
from relatum.inference import scoring
from relatum.inference.ranking import Ranks, mrr_interval
from relatum.runs.trained import Trained

_LISTED = 25  # relations that have a row of their own
_WORST_COLUMNS, _WORST_FACTS, _ABOVE = 12, 10, 3
_RANK_RANGES = ((1, 1), (2, 3), (4, 10), (11, 100), (101, 1000), (1001, None))

Chosen = Bool
_Parts = tuple[str, str, dict[str, Chosen]]  # a title, what the parts are, and the questions of each


@dataclass(frozen=True, slots=True)
class Measured:
    """How some questions rank.

    Attributes:
        name: what the questions have in common, such as a relation; `all` for all.
        part: the split part whose facts were hidden.
        questions: how many there are.
        mrr: the mean of 1 / rank of the right answer, filtered by all that is known.
        low: the lower end of its 95 % interval by resampling facts; None for a single fact.
        high: the upper end.
        hits_at_1: the share of right answers that rank first.
        hits_at_10: the share that rank among the first ten.
    """

    name: str
    part: str
    questions: int
    mrr: float
    low: float | None
    high: float | None
    hits_at_1: float
    hits_at_10: float

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends of the interval, or None."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @classmethod
    def of(cls, name: str, part: str, ranks: Ranks) -> Measured:
        """Return how some questions about the facts of a part rank."""
        metrics = ranks.metrics
        low, high = mrr_interval(ranks) if len(np.unique(ranks.fact)) > 1 else (None, None)
        return cls(name, part, len(ranks), metrics.mrr, low, high, metrics.hits[1], metrics.hits[10])


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Measurements by one thing, such as arity: a title, what the first column is, and the rows."""

    title: str
    head: str
    rows: tuple[Measured, ...]


@dataclass(frozen=True, slots=True)
class RankShare:
    """A range of ranks, as text, and the share of right answers in it."""

    ranks: str
    share: float


@dataclass(frozen=True, slots=True)
class Quality:
    """How good a run is on the facts of a part: over all, where right answers rank, and by parts of the questions."""

    part: str
    overall: Measured
    ranks: tuple[RankShare, ...]
    breakdowns: tuple[Breakdown, ...]


@dataclass(frozen=True, slots=True)
class ColumnErrors:
    """A column of a relation, how it ranks, and its share of all that is lost."""

    relation: str
    column: str
    measured: Measured
    loss: float


@dataclass(frozen=True, slots=True)
class WorstFact:
    """A held-out fact whose entity at `position` ranks badly, as people read it, and what is ranked first instead."""

    relation: str
    entities: tuple[str, ...]
    position: int
    rank: float
    above: tuple[str, ...]


@dataclass(frozen=True, slots=True)
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


def quality_of(run: Trained, part: str, ranks: Ranks) -> Quality:
    """Return how good a run is, given the ranks of the facts of a part."""
    arities: dict[str, Chosen] = {str(arity): ranks.arity == arity for arity in np.unique(ranks.arity)}
    if ranks.unseen.any() and not ranks.unseen.all():
        arities |= {"all entities seen in training": ~ranks.unseen, "with an unseen entity": ranks.unseen}
    positions: dict[str, Chosen] = {str(position): ranks.position == position for position in np.unique(ranks.position)}
    breakdowns = [
        _by_relation(run, ranks),
        ("By number of entities", "entities", arities),
        ("By hidden position", "position", positions),
        *_by_derivation(run, ranks),
    ]
    return Quality(
        part,
        Measured.of("all", part, ranks),
        _rank_ranges(ranks),
        tuple(
            Breakdown(title, head, tuple(Measured.of(name, part, ranks.where(chosen)) for name, chosen in parts.items()))
            for title, head, parts in breakdowns
        ),
    )


def _rank_ranges(ranks: Ranks) -> tuple[RankShare, ...]:
    """Return the share of right answers in each range of ranks."""
    found = []
    for first, last in _RANK_RANGES:
        inside = (ranks.realistic >= first) & ((ranks.realistic < last + 1) if last else True)
        name = f"{first:,}" if first == last else f"{first:,} – {last:,}" if last else f"{first:,} and beyond"
        found.append(RankShare(name, float(np.mean(inside))))
    return tuple(found)


def _by_relation(run: Trained, ranks: Ranks) -> _Parts:
    schema = run.model.schema
    sizes = np.bincount(ranks.relation, minlength=len(schema))
    order = np.argsort(-sizes, kind="stable")[: int(np.sum(sizes > 0))]
    parts: dict[str, Chosen] = {schema[int(one)].name: ranks.relation == one for one in order[:_LISTED]}
    title = "By relation"
    if len(order) > _LISTED:
        parts[f"{len(order) - _LISTED} others together"] = np.isin(ranks.relation, order[_LISTED:])
        title = f"By relation: the {_LISTED} with most questions"
    return title, "relation", parts


def _by_derivation(run: Trained, ranks: Ranks) -> list[_Parts]:
    """Return the questions by how relations were derived, where that is known: by their last operation, and by depth."""
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
            found.append((title, key, parts))
    return found


def errors_of(run: Trained, part: str, ranks: Ranks) -> Errors | None:
    """Return where a run errs on the facts of a part; None if it does not."""
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
        measured = Measured.of(f"{schema.name}, {name}", part, ranks.where(column == one))
        columns.append(ColumnErrors(schema.name, name, measured, share))
    return Errors(
        unseen=float(np.mean(ranks.unseen)),
        unseen_loss=float(lost[ranks.unseen].sum() / lost.sum()),
        columns=tuple(columns),
        of=len(np.unique(column)),
        loss=float(sums[order].sum() / lost.sum()),
        worst=_worst(run, run.split.parts[part], ranks, column),
    )


def _worst(run: Trained, facts: Hypergraph, ranks: Ranks, column: Int64) -> tuple[WorstFact, ...]:
    seen = np.flatnonzero(~ranks.unseen & (ranks.better > 0))
    order = seen[np.argsort(-ranks.realistic[seen], kind="stable")]
    _, first = np.unique(column[order], return_index=True)
    sizes = [len(facts.table(relation.name)) for relation in facts.schema]
    starts = np.concatenate([[0], np.cumsum(sizes)])  # the number of the first fact of each relation, as `rank` counts them
    found = []
    for question in order[np.sort(first)[:_WORST_FACTS]].tolist():
        relation, position = int(ranks.relation[question]), int(ranks.position[question])
        name = facts.schema[relation].name
        fact = facts.table(name).columns[:, ranks.fact[question] - starts[relation], None]
        known = run.known.lookup(np.array([relation], np.int32), fact.astype(np.int32), position)
        question_columns, k = torch.from_numpy(fact.astype(np.int64)), min(_ABOVE, int(ranks.better[question]))
        best, _ = scoring.top(run.model, run.tables, relation, question_columns, position, k, known)
        held = run.shown_values.fact(name, fact[:, 0].tolist(), known=True)
        above: list[str] = []
        for one in best[0].tolist():
            if one >= 0:
                value, interval = run.shown_values.entity_shown(facts.entities[one])
                above += run.shown(name, [value], [position], [interval])
        rank = float(ranks.realistic[question])
        entities = run.shown(name, held.names, intervals=held.intervals, known=held.is_known)
        found.append(WorstFact(name, entities, position, rank, tuple(above)))
    return tuple(found)
