"""Facts that are doubtful: what stands at a position, judged against what evidence and the embedding expect there.

Each cell of a fact is a question whose answer is known. Two witnesses are heard about it.

- Evidence, by counting: how likely the value is where the fact itself is left out (`mixture`), against any value of the
  column, which is what an accident would write there. It is in nats: 3 says that an accident is e^3 times as likely as what
  is known of the other entities allows.
- The embedding: by how much the value beats the best other one that is not known. The model was trained on the fact, right
  or wrong, so the margin is compared with that of the other facts of the column: only what is two standard deviations below
  the usual counts. How much it counts is learned from the first witness: by how much more often facts with a low margin are
  doubtful by evidence.

Beside them stands how often a column is doubtful at all. The sum is the doubt of a cell, and that of a fact is the doubt of
its most doubtful cell: comparable among all columns and relations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from relatum.arrays import Bool, Float64, Int64
from relatum.data.answer_index import AnswerLists
from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.data.sorting import differs_from_previous
from relatum.data.vocabulary import Ids
from relatum.evidence.evidence import Evidence
from relatum.evidence.mixture import Mixture
from relatum.evidence.soft_rule import SoftRule
from relatum.fitting import log_odds, logistic, sigmoid
from relatum.inference.scoring import CandidateScorer, score
from relatum.kernels.soft_rules import count_named
from relatum.models.base import Model, Parameters

_FITTED = 20_000  # facts that a mixture is fitted to, and that are counted at once
_USUAL, _MOST = 2.0, 4.0  # standard deviations below the usual margin, from which on it counts, and up to which
_SHARE = 0.5  # of what the embedding's word seems to be worth: the two witnesses are not independent
_DRAWN = 500.0  # cells that the doubt of all columns counts for, beside those of one
_RATE, _ROUNDS = 0.005, 20
_LEAST = float(np.log(2))  # of both witnesses together, in nats: an accident is twice as likely


@dataclass(frozen=True, eq=False)
class JudgedRelation:
    """How doubtful the facts of a relation are, in nats; all but the facts are [arity, n].

    Attributes:
        relation: its id.
        facts: int32[arity, n].
        part: where a fact is known from, [n]: 0 is the training facts, 1 the first of the others, ...
        evidence: how much likelier an accident is than what evidence expects.
        margins: how many standard deviations below the usual of the column the embedding's margin is.
        rivals: the best other value by the embedding; -1 if there is none.
        mixtures: what evidence expects at each position.
        column: what is added for the column as a whole.
        embedding: what is added for the embedding.
    """

    relation: int
    facts: Ids
    part: Int64
    evidence: Float64
    margins: Float64
    rivals: Ids
    mixtures: tuple[Mixture, ...]
    column: Float64 = field(default_factory=lambda: np.zeros(0))
    embedding: Float64 = field(default_factory=lambda: np.zeros(0))

    @property
    def doubt(self) -> Float64:
        """How doubtful each cell is, [arity, n]."""
        return self.evidence + self.column[:, None] + self.embedding


@dataclass(frozen=True, eq=False)
class Doubts:
    """The known facts of some relations, judged together.

    Attributes:
        relations: those that have any.
        weight: what a standard deviation of the embedding's margin is worth, in nats.
    """

    relations: tuple[JudgedRelation, ...]
    weight: float

    def most_doubtful(self, k: int) -> list[tuple[JudgedRelation, int]]:
        """Return the k most doubtful facts, each with its relation and its number there.

        There are fewer where the two witnesses do not speak against more of them.
        """
        found = []
        for number, one in enumerate(self.relations):
            doubt, against = one.doubt.max(axis=0), (one.evidence + one.embedding).max(axis=0)
            best = np.argsort(-doubt, kind="stable")[:k].tolist()
            found += [(-doubt[fact], number, fact) for fact in best if against[fact] > _LEAST]
        return [(self.relations[number], fact) for _, number, fact in sorted(found)[:k]]


def judge(
    model: Model,
    tables: Parameters,
    evidence: Evidence,
    held_out: Sequence[Hypergraph],
    known: KnownAnswers,
    relations: Sequence[int],
    advance: Callable[[int], None] = lambda _: None,
) -> Doubts:
    """Return how doubtful the known facts of relations are.

    Args:
        model: the model.
        tables: what `model.encode` gave.
        evidence: the rules; their weights do not matter.
        held_out: facts beside those that evidence reads, which the model was not trained on.
        known: all known facts, which are no rivals of each other.
        relations: the ids of the relations to judge.
        advance: called with how many cells are done since the last call.
    """
    judged = []
    for relation in relations:
        facts, part = _facts(evidence.facts, held_out, relation)
        if facts.shape[1]:
            judged.append(_judged(model, tables, evidence, relation, facts, part, known, advance))
    return _weighed(judged)


def expected(evidence: Evidence, judged: JudgedRelation, fact: int, known: KnownAnswers) -> tuple[int, int]:
    """Return the position of a fact that is most likely wrong, and the entity that is expected there instead.

    A wrong genre of an album may also be the wrong album for that genre: both are as doubtful. What is pointed at is the
    position where one other entity stands out. It is none of the known answers; where no rule names any, it is what the
    embedding expects, or -1 if there is nothing.
    """
    found = []
    for position in range(len(judged.facts)):
        entity, share = _best_named(evidence, judged, fact, position, known)
        if entity < 0:
            entity, share = int(judged.rivals[position, fact]), 1 / judged.mixtures[position].values
        found.append((judged.doubt[position, fact] + np.log(share), -position, entity))
    _, position, entity = max(found)
    return -position, entity


def _best_named(
    evidence: Evidence, judged: JudgedRelation, fact: int, position: int, known: KnownAnswers
) -> tuple[int, float]:
    """Return the entity that rules together name most for a position of a fact, and its share; -1 if they name none."""
    one, trained = judged.facts[:, [fact]], judged.part[[fact]] == 0
    rules = _rules(evidence, judged.relation, position)
    total = _counts(evidence, judged.relation, position, one, trained, known)[1][:, 0]
    shares: dict[int, float] = defaultdict(float)
    for rule, weight, size in zip(rules, judged.mixtures[position].rule_weights(total), total.tolist(), strict=False):
        if size:
            entities, times = np.unique(evidence.store.found(rule, one)[0], return_counts=True)
            times = times - (entities == _left_out(evidence, rule, one, trained)[0])
            for entity, time in zip(entities.tolist(), times.tolist(), strict=True):
                shares[entity] += weight * time / size
    for entity in (*_known(known, judged.relation, one, position)[0].tolist(), int(one[position, 0])):
        shares.pop(entity, None)
    best = max(shares, key=lambda entity: (shares[entity], -entity), default=-1)
    return (best, shares[best]) if best >= 0 and shares[best] > 0 else (-1, 0.0)


def _facts(train: Hypergraph, held_out: Sequence[Hypergraph], relation: int) -> tuple[Ids, Int64]:
    """Return the facts of a relation, each once, int32[arity, n], and the first part that holds each."""
    name = train.schema[relation].name
    parts = [graph.table(name).columns for graph in (train, *held_out)]
    columns, part = np.concatenate(parts, axis=1), np.repeat(np.arange(len(parts)), [one.shape[1] for one in parts])
    order = np.lexsort((part, *columns[::-1]))
    order = order[differs_from_previous([column[order] for column in columns])]
    return columns[:, order], part[order]


def _judged(
    model: Model,
    tables: Parameters,
    evidence: Evidence,
    relation: int,
    facts: Ids,
    part: Int64,
    known: KnownAnswers,
    advance: Callable[[int], None],
) -> JudgedRelation:
    count, trained = facts.shape[1], part == 0
    values = [np.unique(column) for column in facts]
    scorer = CandidateScorer(model, tables, relation, known, values)
    own = score(model, tables, torch.full((count,), relation), torch.from_numpy(facts.astype(np.int64))).numpy(force=True)
    likely, margins, rivals, mixtures = np.empty(facts.shape), np.zeros(facts.shape), np.empty_like(facts), []
    for position in range(len(facts)):
        mixture = _mixture(evidence, relation, position, facts, trained, known, len(values[position]))
        mixtures.append(mixture)
        for start in range(0, count, _FITTED):
            some = slice(start, min(start + _FITTED, count))
            counts = _counts(evidence, relation, position, facts[:, some], trained[some], known)
            likely[position, some] = mixture.likelihood(*counts)
            best, scores = scorer.top(position, facts[:, some], 1)
            rivals[position, some] = best[:, 0]
            margins[position, some] = own[some] - scores[:, 0]
            advance(some.stop - start)
        for each in (trained, ~trained):  # a fact that was not trained on is not expected to stand out as much
            margins[position, each] = _below_usual(margins[position, each])
    sizes = np.array([len(each) for each in values])
    by_evidence = -np.log(likely) - np.log(sizes)[:, None]
    return JudgedRelation(relation, facts, part, by_evidence, margins, rivals, tuple(mixtures))


def _mixture(
    evidence: Evidence, relation: int, position: int, facts: Ids, trained: Bool, known: KnownAnswers, values: int
) -> Mixture:
    rng, count = np.random.default_rng(0), facts.shape[1]
    drawn = np.sort(rng.choice(count, _FITTED, replace=False)) if count > _FITTED else np.arange(count)
    own, total = _counts(evidence, relation, position, facts[:, drawn], trained[drawn], known)
    new = int(np.count_nonzero(_frequency(evidence, relation, position)[facts[position]] - trained == 0))
    return Mixture.fitted(own, total, values, new)


def _counts(
    evidence: Evidence, relation: int, position: int, facts: Ids, trained: Bool, known: KnownAnswers
) -> tuple[Int64, Int64]:
    """Return how many facts name what facts have, and how many name anything that is not known, [rules + 1, n] both.

    The last row is about the column as a whole. A fact is left out of what is counted about it.
    """
    rules, answers = _rules(evidence, relation, position), _known(known, relation, facts, position)
    own, total = np.empty((2, len(rules) + 1, facts.shape[1]), np.int64)
    for row, rule in enumerate(rules):
        left_out = _left_out(evidence, rule, facts, trained)
        counts = count_named(evidence.store.found(rule, facts), facts[position], answers, left_out)
        own[row], total[row] = counts.own, counts.total
    own[-1] = _frequency(evidence, relation, position)[facts[position]] - trained
    total[-1] = evidence.store.columns[relation].shape[1] - trained
    return own, total


def _rules(evidence: Evidence, relation: int, position: int) -> list[SoftRule]:
    """Return the rules that read an answer from one fact: what others name does not count how often something is so."""
    return [rule for rule in evidence.about(relation, position) if rule.template == "match"]


def _left_out(evidence: Evidence, rule: SoftRule, facts: Ids, trained: Bool) -> Ids:
    """Return what each fact would itself name by a rule, -1 where the rule does not read it."""
    left_out: Ids = np.where(trained, evidence.store.own(rule, facts), -1).astype(np.int32)
    return left_out


def _frequency(evidence: Evidence, relation: int, position: int) -> Int64:
    return np.bincount(evidence.store.columns[relation][position], minlength=len(evidence.facts.entities))


def _known(known: KnownAnswers, relation: int, facts: Ids, position: int) -> AnswerLists:
    return known.lookup(np.full(facts.shape[1], relation, np.int32), facts, position)


def _below_usual(margins: Float64) -> Float64:
    """Return how many standard deviations margins are below the usual one; 0 where there is no rival to beat."""
    finite, found = np.isfinite(margins), np.zeros(len(margins))
    spread = float(margins[finite].std()) if finite.any() else 0.0
    if spread > 0:
        found[finite] = (np.median(margins[finite]) - margins[finite]) / spread
    return found


def _unusual(margins: Float64) -> Float64:
    """Return how far margins are beyond what is usual, from 0 up."""
    found: Float64 = np.clip(margins, _USUAL, _MOST) - _USUAL
    return found


def _weighed(judged: list[JudgedRelation]) -> Doubts:
    """Return the facts with what is added for columns and for the embedding."""
    cells = [row for one in judged for row in one.evidence]
    if not cells:
        return Doubts((), 0.0)
    rates = _rates(cells)
    doubtful = np.concatenate([sigmoid(row + np.log(rate)) for row, rate in zip(cells, rates, strict=True)])
    weight = _SHARE * max(0.0, _slope(np.concatenate([_unusual(row) for one in judged for row in one.margins]), doubtful))
    found, start = [], 0
    for one in judged:
        column = np.log(rates[start : start + len(one.facts)])
        found.append(replace(one, column=column, embedding=weight * _unusual(one.margins)))
        start += len(one.facts)
    return Doubts(tuple(found), weight)


def _rates(cells: list[Float64]) -> Float64:
    """Return how often a cell of each column is doubtful by evidence, drawn to how often one of any column is."""
    sizes, rates = np.array([len(row) for row in cells]), np.full(len(cells), _RATE)
    for _ in range(_ROUNDS):
        sums = np.array([sigmoid(row + np.log(rate)).sum() for row, rate in zip(cells, rates, strict=True)])
        rates = (sums + _DRAWN * sums.sum() / sizes.sum()) / (sizes + _DRAWN)
    return rates


def _slope(margins: Float64, doubtful: Float64) -> float:
    """Return by how much the log-odds that a cell is doubtful grow with its margin, by logistic regression."""
    inputs, start = np.stack([np.ones(len(margins)), margins], 1), np.array([log_odds(doubtful.mean()), 0.0])
    return float(logistic(inputs, doubtful, np.ones(len(margins)), start, 0.0)[1])
