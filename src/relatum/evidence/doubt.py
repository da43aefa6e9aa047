"""Facts that are doubtful: what stands at a position, judged against what evidence and the embedding expect there.

Each cell of a fact is a question whose answer is known. Two witnesses are heard about it.

- Evidence, by counting: how likely the value is where the fact itself is left out, against any value of the column, which is
  what an accident would write there. It is in nats: 3 says that an accident is e^3 times as likely as what is known of the
  other entities allows.
- The embedding: by how much the value beats the best other one that is not known. The model was trained on the fact, right
  or wrong, so the margin is compared with that of the other facts of the column: only what is two standard deviations below
  the usual counts. How much it counts is learned from the first witness: by how much more often facts with a low margin are
  doubtful by evidence.

Beside them stands how often a column is doubtful at all. The sum is the doubt of a cell, and that of a fact is the doubt of
its most doubtful cell: comparable among all columns and relations.

What evidence expects is a mixture of what each rule finds. A rule that finds twelve facts, nine of which name a value, gives
it a share of 9 / 12. The mixture takes the shares of all rules of the position, each weighed by how well it foretells what
facts have, and beside them how frequent the value is, that it may be a new one, and that it stands there by accident, which
gives any value of the column the same share. The weights are found by expectation maximisation on facts whose own word is
left out, so they need no validation facts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import torch

from relatum.arrays import Bool, Float64, Int64
from relatum.data.answer_index import AnswerLists
from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.data.sorting import differs_from_previous
from relatum.data.vocabulary import Ids
from relatum.evidence.evidence import Evidence
from relatum.evidence.soft_rule import SoftRule
from relatum.fitting import log_odds, logistic, sigmoid
from relatum.inference.scoring import CandidateScorer, score
from relatum.kernels.soft_rules import count_named
from relatum.models.base import Model, Parameters

_SIZES = 5  # that a rule has weights for: it finds 1 fact, 2 or 3, 4 to 7, 8 to 15, or more
_ACCIDENTS = 0.01  # facts by accident, among those that a rule finds
_MAXIMISATIONS = 40
_OWN_SIZE = 1.0  # facts that the weight of a rule as a whole counts for, beside those of one size
_TINY = 1e-3


@dataclass(frozen=True, eq=False)
class Mixture:
    """What rules make of the values at one position together.

    Weights are by how many facts a rule finds, [rules, sizes]; behind the rules' stand those of the frequency, of any value,
    and of new values.
    """

    values: int  # how many different ones the column has
    new: int  # how many facts have a value there that no other one has
    weights: Float64

    @classmethod
    def fitted(cls, own: Int64, total: Int64, values: int, new: int) -> Self:
        """Return the mixture that makes what facts have most likely.

        The counts, [rules + 1, n], are of facts that name what each fact has, itself left out, and of those that name
        anything that is no known answer; the last row is by frequency. For `values` and `new` see the class.
        """
        begun = cls(values, new, np.ones((len(own) + 2, _SIZES)))
        shares, size, there = begun._shares(own, total)
        cells = (np.arange(len(shares))[:, None] * _SIZES + size)[there]
        weights = begun.weights
        for _ in range(_MAXIMISATIONS):
            prior = _normalised(weights, size, there)
            posterior = prior * shares
            posterior /= posterior.sum(0)
            gained, expected = (
                np.bincount(cells, each[there], minlength=weights.size).reshape(weights.shape) for each in (posterior, prior)
            )
            whole = (gained.sum(1, keepdims=True) + 10 * _TINY) / (expected.sum(1, keepdims=True) + 10 * _TINY)
            weights = weights * (gained + _OWN_SIZE * whole + _TINY) / (expected + _OWN_SIZE + _TINY)
        return cls(values, new, weights)

    def likelihood(self, own: Int64, total: Int64) -> Float64:
        """Return how likely what each fact has is, [n], by the same counts as `fitted` takes."""
        shares, size, there = self._shares(own, total)
        found: Float64 = (_normalised(self.weights, size, there) * shares).sum(0)
        return found

    def rule_weights(self, total: Int64) -> Float64:
        """Return how much each rule weighs where they find so many facts, [rules], the frequency left out."""
        _, size, there = self._shares(np.zeros((len(total), 1), np.int64), total[:, None])
        return _normalised(self.weights, size, there)[: len(total) - 1, 0]

    def _shares(self, own: Int64, total: Int64) -> tuple[Float64, Int64, Bool]:
        """Return the share that each part of the mixture gives a value, its size, and whether it says anything."""
        any_value = np.full(own.shape[1], 1 / self.values)
        unseen = (own[-1] == 0) / max(1, self.new)
        by_rules = (own + _ACCIDENTS / self.values) / (total + _ACCIDENTS)
        shares = np.concatenate([by_rules, any_value[None], unseen[None]])
        sizes = np.concatenate([total, np.ones((2, own.shape[1]), np.int64)])
        size = np.minimum(np.log2(np.maximum(sizes, 1)).astype(np.int64), _SIZES - 1)
        return shares, size, sizes > 0


def _normalised(weights: Float64, size: Int64, there: Bool) -> Float64:
    """Return the weights of the parts that say something about a fact, which are 1 together."""
    found: Float64 = np.take_along_axis(weights, size, axis=1) * there
    found /= found.sum(0)
    return found


_FITTED = 20_000  # facts that a mixture is fitted to, and that are counted at once
_USUAL, _MOST = 2.0, 4.0  # standard deviations below the usual margin, from which on it counts, and up to which
_SHARE = 0.5  # of what the embedding's word seems to be worth: the two witnesses are not independent
_DRAWN = 500.0  # cells that the doubt of all columns counts for, beside those of one
_RATE, _ROUNDS = 0.005, 20
_LEAST = float(np.log(2))  # of both witnesses together, in nats: an accident is twice as likely


@dataclass(frozen=True, eq=False)
class JudgedRelation:
    """How doubtful the facts of a relation are, in nats, [arity, n]."""

    relation: int
    facts: Ids
    part: Int64  # where a fact is known from, [n]: 0 is the training facts, 1 the first of the others, ...
    evidence: Float64  # how much likelier an accident is than what evidence expects
    margins: Float64  # how many standard deviations below the usual of the column the embedding's margin is
    rivals: Ids  # the best other value by the embedding; -1 if there is none
    mixtures: tuple[Mixture, ...]  # what evidence expects at each position
    column: Float64 = field(default_factory=lambda: np.zeros(0))  # what is added for the column as a whole, [arity]
    embedding: Float64 = field(default_factory=lambda: np.zeros(0))  # what is added for the embedding

    @property
    def doubt(self) -> Float64:
        """How doubtful each cell is, [arity, n]."""
        return self.evidence + self.column[:, None] + self.embedding


@dataclass(frozen=True, eq=False)
class Doubts:
    """The known facts of some relations, judged together."""

    relations: tuple[JudgedRelation, ...]  # those that have any
    weight: float  # what a standard deviation of the embedding's margin is worth, in nats

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

    They are those that evidence reads, whose weights do not matter, and `held_out` ones, which the model was not trained on.
    All that is known are no rivals of each other. `advance` is called with how many cells are done since the last call.
    """
    judged = []
    for relation in relations:
        facts, part = _facts(evidence.facts, held_out, relation)
        if facts.shape[1]:
            scorer = CandidateScorer(model, tables, relation, known, [np.unique(column) for column in facts])
            judged.append(_judged(scorer, evidence, known, facts, part, advance))
    return _weighed(judged)


def expected(evidence: Evidence, judged: JudgedRelation, fact: int, known: KnownAnswers) -> tuple[int, int]:
    """Return the position of a fact that is most likely wrong, and the entity that is expected there instead.

    A wrong genre of an album may also be the wrong album for that genre: both are as doubtful. What is pointed at is the
    position where one other entity stands out. It is none of the known answers; where no rule names any, it is what the
    embedding expects, or -1 if there is nothing.
    """
    found = []
    for position in range(len(judged.facts)):
        column = _Column(evidence, known, judged.relation, position)
        trained = judged.part[[fact]] == 0
        entity, share = column.best_named(judged.facts[:, [fact]], trained, judged.mixtures[position])
        if entity < 0:
            entity, share = int(judged.rivals[position, fact]), 1 / judged.mixtures[position].values
        found.append((judged.doubt[position, fact] + np.log(share), -position, entity))
    _, position, entity = max(found)
    return -position, entity


class _Column:
    """A position of a relation: what the rules that read an answer from one fact count about it.

    What others name does not count how often something is so.
    """

    def __init__(self, evidence: Evidence, known: KnownAnswers, relation: int, position: int) -> None:
        self._store, self._known, self._relation, self._position = evidence.store, known, relation, position
        self._rules = [rule for rule in evidence.about(relation, position) if rule.template == "match"]
        self._facts = evidence.store.columns[relation].shape[1]
        self._frequency = np.bincount(evidence.store.columns[relation][position], minlength=len(evidence.facts.entities))

    def counts(self, facts: Ids, trained: Bool) -> tuple[Int64, Int64]:
        """Return how many facts name what facts have, and how many name anything that is not known, [rules + 1, n] both.

        The last row is about the column as a whole. A fact is left out of what is counted about it.
        """
        answers = self._answers(facts)
        own, total = np.empty((2, len(self._rules) + 1, facts.shape[1]), np.int64)
        for row, rule in enumerate(self._rules):
            found, left_out = self._store.found(rule, facts), self._left_out(rule, facts, trained)
            counts = count_named(found, facts[self._position], answers, left_out)
            own[row], total[row] = counts.own, counts.total
        own[-1] = self._frequency[facts[self._position]] - trained
        total[-1] = self._facts - trained
        return own, total

    def mixture(self, facts: Ids, trained: Bool, values: int) -> Mixture:
        """Return what evidence expects of a column with so many values."""
        rng, count = np.random.default_rng(0), facts.shape[1]
        drawn = np.sort(rng.choice(count, _FITTED, replace=False)) if count > _FITTED else np.arange(count)
        own, total = self.counts(facts[:, drawn], trained[drawn])
        new = int(np.count_nonzero(self._frequency[facts[self._position]] - trained == 0))
        return Mixture.fitted(own, total, values, new)

    def best_named(self, fact: Ids, trained: Bool, mixture: Mixture) -> tuple[int, float]:
        """Return the entity that rules together name most for a fact, int32[arity, 1], and its share; -1 for none."""
        total = self.counts(fact, trained)[1][:, 0]
        shares: dict[int, float] = defaultdict(float)
        for rule, weight, size in zip(self._rules, mixture.rule_weights(total), total.tolist(), strict=False):
            if size:
                entities, times = np.unique(self._store.found(rule, fact)[0], return_counts=True)
                times = times - (entities == self._left_out(rule, fact, trained)[0])
                for entity, time in zip(entities.tolist(), times.tolist(), strict=True):
                    shares[entity] += weight * time / size
        for entity in (*self._answers(fact)[0].tolist(), int(fact[self._position, 0])):
            shares.pop(entity, None)
        best = max(shares, key=lambda entity: (shares[entity], -entity), default=-1)
        return (best, shares[best]) if best >= 0 and shares[best] > 0 else (-1, 0.0)

    def _answers(self, facts: Ids) -> AnswerLists:
        return self._known.lookup(np.full(facts.shape[1], self._relation, np.int32), facts, self._position)

    def _left_out(self, rule: SoftRule, facts: Ids, trained: Bool) -> Ids:
        """Return what each fact would itself name by a rule, -1 where the rule does not read it."""
        return np.where(trained, self._store.own(rule, facts), -1).astype(np.int32)


def _facts(train: Hypergraph, held_out: Sequence[Hypergraph], relation: int) -> tuple[Ids, Int64]:
    """Return the facts of a relation, each once, int32[arity, n], and the first part that holds each."""
    name = train.schema[relation].name
    parts = [graph.table(name).columns for graph in (train, *held_out)]
    columns, part = np.concatenate(parts, axis=1), np.repeat(np.arange(len(parts)), [one.shape[1] for one in parts])
    order = np.lexsort((part, *columns[::-1]))
    order = order[differs_from_previous([column[order] for column in columns])]
    return columns[:, order], part[order]


def _judged(
    scorer: CandidateScorer, evidence: Evidence, known: KnownAnswers, facts: Ids, part: Int64, advance: Callable[[int], None]
) -> JudgedRelation:
    """Return how doubtful facts are; candidates are what stands at each position."""
    count, trained, relation = facts.shape[1], part == 0, scorer.relation
    relations, columns = torch.full((count,), relation), torch.from_numpy(facts.astype(np.int64))
    own = score(scorer.model, scorer.tables, relations, columns).numpy(force=True)
    likely, margins, rivals, mixtures = np.empty(facts.shape), np.zeros(facts.shape), np.empty_like(facts), []
    for position in range(len(facts)):
        column = _Column(evidence, known, relation, position)
        mixtures.append(column.mixture(facts, trained, scorer.count(position)))
        for start in range(0, count, _FITTED):
            some = slice(start, min(start + _FITTED, count))
            likely[position, some] = mixtures[-1].likelihood(*column.counts(facts[:, some], trained[some]))
            best, scores = scorer.top(position, facts[:, some], 1)
            rivals[position, some] = best[:, 0]
            margins[position, some] = own[some] - scores[:, 0]
            advance(some.stop - start)
        for each in (trained, ~trained):  # a fact that was not trained on is not expected to stand out as much
            margins[position, each] = _below_usual(margins[position, each])
    sizes = np.array([scorer.count(position) for position in range(len(facts))])
    by_evidence = -np.log(likely) - np.log(sizes)[:, None]
    return JudgedRelation(relation, facts, part, by_evidence, margins, rivals, tuple(mixtures))


def _below_usual(margins: Float64) -> Float64:
    """Return how many standard deviations margins are below the usual one; 0 where there is no rival to beat."""
    finite, found = np.isfinite(margins), np.zeros(len(margins))
    spread = float(margins[finite].std()) if finite.any() else 0.0
    if spread > 0:
        found[finite] = (np.median(margins[finite]) - margins[finite]) / spread
    return found


def _unusual(margins: Float64) -> Float64:
    """Return how far margins are beyond what is usual, from 0 up."""
    return np.clip(margins, _USUAL, _MOST) - _USUAL


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
