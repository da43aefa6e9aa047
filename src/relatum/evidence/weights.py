"""How much evidence weighs beside the scores of a model: fitted on validation questions, which neither of them has seen.

Of each question the right answer is to stand out among the candidates: those that rules name, the best of the others by the
model, and some at random, which stand for all the rest. Each position of a relation has weights of its own, drawn to those
that all have in common, and the more so the fewer questions there are about it; where evidence does not help with these
questions, as far as so few can tell, it weighs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from relatum.arrays import Float32, Float64, Int64
from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.known_answers import KnownAnswers
from relatum.data.vocabulary import Ids
from relatum.evidence.evidence import FEATURES, Evidence
from relatum.evidence.facts import FactStore, other_answers
from relatum.evidence.mining import mine
from relatum.evidence.neighbours import find_neighbourhoods
from relatum.fitting import minimize
from relatum.inference import scoring
from relatum.inference.validation import sample
from relatum.kernels.filters import excluded_pairs
from relatum.models.base import Model, Parameters
from relatum.models.ops import one_torch_thread
from relatum.progress import progress

_FACTS = 2_000  # validation facts that are asked about, at most
_NAMED, _BEST, _RANDOM = 100, 30, 30  # candidates of a question
_OWN, _ALL = 5.0, 1.0  # how strongly weights of a position are drawn to the common ones, and these to none
_SCORE = 0.1  # of that, how strongly the weight of the model's score is: a poor model is to count for little
_DRAWN = 20  # questions that what all gain counts for, beside what those about a position do
_TRIED = (1.0, 2.0, 3.0, 4.0, 8.0, 16.0, 64.0)  # nats that what neighbours say may count for, beside what is fitted
_QUESTIONS, _TOP = 50, 10  # questions about a position, at least, by which that is chosen, and ranks that count as good
_STEPS = 40
_OTHERS = FEATURES - 2  # which feature is what neighbours say
_PAIRS = 1 << 14  # that are scored at once


@dataclass(frozen=True, eq=False)
class _Group:
    """The candidates of some questions about one position: question, score, features, what each stands for, and if right."""

    group: tuple[int, int]
    rows: Int64
    scores: Float64
    features: Float64
    offsets: Float64
    right: Int64
    questions: int


def found_evidence(model: Model, tables: Parameters, split: Split, seed: int = 0) -> Evidence:
    """Return the evidence that the training facts of a split have, weighed beside a model by its validation facts."""
    with progress("rules", len(split.schema)) as advance:
        rules = mine(split.train, seed, advance)
    evidence = Evidence(split.train, rules, neighbourhoods=find_neighbourhoods(FactStore(split.train), seed))
    with progress("weights of rules", min(_FACTS, len(split.valid))) as advance:
        fit_weights(model, tables, evidence, split, seed, advance)
    return evidence


def fit_weights(
    model: Model,
    tables: Parameters,
    evidence: Evidence,
    split: Split,
    seed: int = 0,
    advance: Callable[[int], None] = lambda _: None,
) -> None:
    """Fit the weights of evidence to the validation facts of a split; without any it weighs nothing.

    `advance` is called with how many facts are done since the last call.
    """
    facts, rng = sample(split.valid, _FACTS) if len(split.valid) else split.valid, np.random.default_rng(seed)
    known = KnownAnswers(split.train, split.valid)
    with torch.no_grad():
        groups = list(_Asked(model, tables, evidence, known, rng).groups(facts, advance))
    if not any(len(one.features) and one.features.any() for one in groups):
        evidence.weights, evidence.common = {}, np.zeros(FEATURES)
        return
    with one_torch_thread():
        evidence.weights, evidence.common = _fitted(groups)


@dataclass(frozen=True, eq=False)
class _Asked:
    """Who is asked: a model with its encoded parameters, and evidence; known answers are no candidates."""

    model: Model
    tables: Parameters
    evidence: Evidence
    known: KnownAnswers
    rng: np.random.Generator

    def groups(self, facts: Hypergraph, advance: Callable[[int], None]) -> Iterator[_Group]:
        """Yield the questions of facts, by relation and position."""
        for relation, schema in enumerate(facts.schema):
            columns = facts.table(schema.name).columns
            for position in range(schema.arity if columns.shape[1] else 0):
                yield self._at(relation, position, columns)
            advance(columns.shape[1])

    def _at(self, relation: int, position: int, columns: Ids) -> _Group:
        count, entities = columns.shape[1], self.model.num_entities
        truth, hidden = other_answers(self.known, relation, position, columns, entities)
        fired = self.evidence.fired(relation, position, columns)
        pairs, strength = fired.rows * entities + fired.entities, fired.strength
        free = ~np.isin(pairs, hidden)
        by_rules = strength[free] > 0
        named = np.union1d(
            _strongest(pairs[free][by_rules], strength[free][by_rules], entities, truth),
            _strongest(pairs[free], fired.others[free], entities, truth),
        )
        rest, behind = _drawn_from(np.setdiff1d(pairs[free], named), entities, count, self.rng)
        out = np.union1d(np.union1d(hidden, pairs), truth)
        side = self.model.candidates(self.tables, torch.tensor(relation), position, None)
        questions, excluded = torch.from_numpy(columns.astype(np.int64)), excluded_pairs(*np.divmod(out, entities), count)
        most = min(_BEST, entities)
        best, _ = scoring.top(self.model, self.tables, relation, questions, position, most, excluded, side)
        found = best.numpy(force=True)
        likely = (np.arange(count)[:, None] * entities + found)[found >= 0]
        whole = np.unique(np.concatenate([named, likely, truth]))
        drawn = np.unique(np.arange(count)[:, None] * entities + self.rng.integers(0, entities, (count, _RANDOM)))
        drawn = drawn[~np.isin(drawn, np.concatenate([whole, hidden, pairs]))]
        chosen = np.concatenate([whole, rest, drawn])
        offsets = np.concatenate([np.zeros(len(whole)), behind, np.full(len(drawn), np.log(max(1, entities / _RANDOM)))])
        features = np.zeros((len(chosen), FEATURES))
        where = np.searchsorted(pairs, chosen)
        there = (where < len(pairs)) & (np.append(pairs, -1)[where] == chosen)
        features[there] = fired.features[where[there]]
        rows = chosen // entities
        scores = self._scores(relation, position, questions, side, rows, chosen % entities)
        return _Group((relation, position), rows, scores, features, offsets, np.searchsorted(whole, truth), count)

    def _scores(
        self, relation: int, position: int, questions: Tensor, candidates: Tensor, rows: Int64, entities: Int64
    ) -> Float64:
        """Return the model's scores of pairs of a question and an entity, whose candidate side is given."""
        combine, one = self.model.combine(self.tables), torch.tensor(relation)
        queries = self.model.queries(self.tables, one.expand(questions.shape[1]), questions, position)
        found = []
        for start in range(0, len(rows), _PAIRS):
            part = slice(start, start + _PAIRS)
            sides = queries[torch.from_numpy(rows[part])], candidates[torch.from_numpy(entities[part])]
            found.append(combine.pairs(*sides).double().numpy(force=True))
        return np.concatenate(found)


def _strongest(pairs: Int64, strength: Float32, entities: int, truth: Int64) -> Int64:
    """Return, of each question, the candidates that rules speak for most, and the right one if it is among them."""
    order = np.lexsort((-strength, pairs // entities))
    rows = pairs[order] // entities
    first = np.searchsorted(rows, rows)
    kept = pairs[order][np.arange(len(order)) - first < _NAMED]
    return np.union1d(kept, np.intersect1d(pairs, truth))


def _drawn_from(pairs: Int64, entities: int, questions: int, rng: np.random.Generator) -> tuple[Int64, Float64]:
    """Return some of the pairs of each question, ascending, and the logarithm of how many each stands for."""
    shuffled = pairs[np.argsort(rng.random(len(pairs)), kind="stable")]
    shuffled = shuffled[np.argsort(shuffled // entities, kind="stable")]
    rows = shuffled // entities
    drawn = np.sort(shuffled[np.arange(len(rows)) - np.searchsorted(rows, rows) < _RANDOM])
    sizes = np.bincount(rows, minlength=questions)
    return drawn, np.log(np.maximum(1, sizes[drawn // entities] / _RANDOM))


def _fitted(groups: list[_Group]) -> tuple[dict[tuple[int, int], Float64], Float64]:
    """Return the weights by position, and the common ones, in units of the model's score."""
    sizes = [len(one.rows) for one in groups]
    firsts = np.cumsum([0, *(one.questions for one in groups)])
    starts = np.cumsum([0, *sizes])
    rows = torch.from_numpy(np.concatenate([one.rows + first for one, first in zip(groups, firsts, strict=False)]))
    right = torch.from_numpy(np.concatenate([one.right + start for one, start in zip(groups, starts, strict=False)]))
    scores, offsets = (
        torch.from_numpy(np.concatenate([getattr(one, name) for one in groups])) for name in ("scores", "offsets")
    )
    features = torch.from_numpy(np.concatenate([one.features for one in groups]))
    group = torch.from_numpy(np.repeat(np.arange(len(groups)), sizes))
    questions = int(firsts[-1])
    scale = float(scores[right].std()) or 1.0  # so that a weight of 1 is a usual one, whatever the model's scores are
    common = torch.zeros(FEATURES, dtype=torch.float64, requires_grad=True)
    own = torch.zeros(len(groups), FEATURES, dtype=torch.float64, requires_grad=True)
    drawn = torch.ones(FEATURES, dtype=torch.float64)
    drawn[0] = _SCORE

    def loss() -> Tensor:
        weights = common + own
        evidence = (weights[group, 1:] * features[:, :-1]).sum(1) + features[:, -1]  # repeats are log-odds as they are
        logits = offsets + torch.exp(weights[group, 0]) * scores / scale + evidence
        largest = torch.full((questions,), -torch.inf, dtype=torch.float64).scatter_reduce(0, rows, logits.detach(), "amax")
        sums = torch.zeros(questions, dtype=torch.float64).index_add(0, rows, torch.exp(logits - largest[rows]))
        cost = (sums.log() + largest).sum() - logits[right].sum()
        return cost + _OWN * (drawn * own.square()).sum() + _ALL * (drawn * common.square()).sum()

    minimize(loss, [common, own], _STEPS)
    with torch.no_grad():
        weights = torch.cat([common + own, common[None]])
        unit = scale / torch.exp(weights[:, :1])
        inner = torch.cat([weights[:, 1:] * unit, unit], 1).numpy()
    chosen = [_with_neighbours(one, each) for one, each in zip(groups, inner, strict=False)]
    return _that_help(groups, np.stack([*chosen, inner[-1]]))


def _with_neighbours(group: _Group, weights: Float64) -> Float64:
    """Return weights with that of neighbours by which most answers are among the first, where there are questions enough.

    The likelihood is about all candidates, and most answers that neighbours can tell little of are far down: what weighs
    rightly there weighs too little among the first.
    """
    if group.questions < _QUESTIONS or not group.features[:, _OTHERS].any():
        return weights
    tried = [weights]
    for nats in _TRIED:
        one = weights.copy()
        one[_OTHERS] = nats * weights[-1]
        tried.append(one)
    return max(tried, key=lambda one: _quality(group, one))  # the first of equals: what was fitted


def _quality(group: _Group, weights: Float64) -> float:
    """Return the MRR of the right answers and the share of them that are among the first, together."""
    better = _better(group, group.scores + group.features @ weights)
    return float(np.mean(1 / (1 + better)) + np.mean(better < _TOP))


def _that_help(groups: list[_Group], weights: Float64) -> tuple[dict[tuple[int, int], Float64], Float64]:
    """Return the weights of each group and the last, common ones; none for rules where answers rank lower by them.

    A position has few questions, often none to which a rule says anything: what all gain counts for some of them.
    """
    gains = [one.questions * _gain(one, each) for one, each in zip(groups, weights, strict=False)]
    usual = sum(gains) / sum(one.questions for one in groups)
    against = np.arange(FEATURES) == FEATURES - 1  # what no fact has is unlikely, whether rules help or not
    found = {
        one.group: each if gain + _DRAWN * usual > 0 else each * against
        for one, each, gain in zip(groups, weights, gains, strict=False)
    }
    return found, weights[-1] if usual > 0 else weights[-1] * against


def _gain(group: _Group, weights: Float64) -> float:
    """Return how much the MRR of the right answers, among the candidates that there are, gains by evidence."""
    ranked = (1 / (1 + _better(group, scores)) for scores in (group.scores + group.features @ weights, group.scores))
    with_evidence, without = (float(np.mean(each)) for each in ranked)
    return with_evidence - without


def _better(group: _Group, scores: Float64) -> Int64:
    """Return of each question how many candidates score above the right one."""
    return np.bincount(group.rows, scores > scores[group.right][group.rows], minlength=group.questions)
