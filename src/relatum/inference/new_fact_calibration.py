"""From the chances of a fact's entities as answers to the chance that the fact is true, which is not known.

A fact answers one question at each of its positions. Somebody who asks one of them has reasons to; a fact that a search
comes upon is the best of very many, and at one position alone: what it is like at the others tells it from an accident. So
its log-odds are a sum over what it is like at all positions, with an offset for each relation, drawn to a common one. And
where rules name nearly all true facts of a relation, one that they do not name is the less likely: clubs visit the cities
that they play in. The weights are fitted on the best new candidates of questions as they come, by which of them are
validation facts.

What is not known is not false: a fact that is true is a validation fact only so often, `valid`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np
import torch
from torch import Tensor

from relatum.arrays import Bool, Float64, Int64
from relatum.artefacts import Declared, Known, Within
from relatum.data.hypergraph import Hypergraph
from relatum.data.schema import Schema
from relatum.data.vocabulary import Ids
from relatum.errors import DataError
from relatum.fitting import log_odds, minimize, never_certain, sigmoid
from relatum.inference.answer_calibration import OF_TRUTH, AnswerCalibration
from relatum.inference.answer_sample import Answered, rivals_of
from relatum.inference.scoring import CandidateScorer, EvidenceSource
from relatum.models.ops import one_torch_thread

_TERMS = ("lowest", "mean", "best", "unanswered", "answers", "unnamed")
_START = (0.5, 0.0, 0.5, -1.0, 0.0, 1.0)
_CANDIDATES = 4_000  # that the weights are fitted on, the most likely ones
_DRAWN = 0.5  # how strongly weights, and offsets of relations, are drawn to where they begin
_STEPS = 200
_SMALL = 1e-9


class AsAnswers(NamedTuple):
    """What some facts of one relation are like as answers at each of their positions."""

    log_odds: Float64  # that they are validation facts, [arity, n]
    known: Int64  # how many other answers are known, [arity, n]
    named: Bool  # whether rules name them, [n]

    def terms(self, unnamed: float) -> Float64:
        """Return what weights are for, [n, terms]; rules fail to name so large a share of the relation's true facts."""
        answered = self.known > 0
        open_ones, others = (~answered).sum(axis=0), np.log1p(self.known).mean(axis=0)
        against = np.where(self.named, 0.0, np.log(unnamed))
        lowest, mean = self.log_odds.min(axis=0), self.log_odds.mean(axis=0)
        best = np.where(answered.any(axis=0), np.where(answered, self.log_odds, -np.inf).max(axis=0), lowest)
        return np.stack([lowest, mean, best, open_ones, others, against], axis=1).astype(np.float64)


def as_answers(calibration: AnswerCalibration, scorer: CandidateScorer, facts: Ids) -> AsAnswers:
    """Return what facts, int32[arity, n], are like as answers; one that is known does not count itself."""
    found, counts = np.empty(facts.shape), np.empty(facts.shape, np.int64)
    known = scorer.answers(0, facts).contain(facts[0])
    for position in range(len(facts)):
        rivals = rivals_of(scorer, position, facts)
        counts[position] = rivals.known - known
        among = (rivals.entities == facts[position][:, None]).any(axis=1)
        scores = scorer.scores(position, facts).astype(np.float64)
        others = rivals._replace(known=counts[position])
        likely = np.clip(calibration.valid_fact(scorer.relation, position, scores, others, among), _SMALL, 1 - _SMALL)
        found[position] = log_odds(likely)
    named = np.ones(len(known), np.bool_) if scorer.evidence is None else scorer.evidence.supports(scorer.relation, facts)
    return AsAnswers(found, counts, named)


@dataclass(frozen=True, eq=False)
class NewFactCalibration(Declared):
    """The chance that facts are true which are not known."""

    weights: Annotated[Float64, Within(-1000, 1000, shape=(len(_TERMS),))]
    offsets: Annotated[Float64, Within(-1000, 1000, shape=("schema",))]  # of the relations
    # of the relations, the share of the true facts that rules do not name
    unnamed: Annotated[Float64, Within(1e-15, 1, shape=("schema",))]
    # the share of the true facts outside the training facts that validation facts are
    valid: Annotated[float, OF_TRUTH]
    test: Annotated[float, Within(0, below=1)]  # the same of test facts

    @classmethod
    def unfitted(cls, schema: Schema, answers: AnswerCalibration) -> NewFactCalibration:
        """Return what is taken to hold where no facts tell more than what they are like as answers."""
        offsets = np.full(len(schema), -np.log(answers.valid))  # from the odds of a validation fact to those of a true one
        return cls(np.array(_START), offsets, np.ones(len(schema)), answers.valid, answers.test)

    def new(self, relation: int, answers: AsAnswers, known: float | None = None) -> Float64:
        """Return the probability that facts of a relation are true which are not known.

        `known` is the share of the true facts outside the training facts that is known, and left out; by default all of
        what validation and test facts are.
        """
        truth, share = self.truth(relation, answers), self.valid + self.test if known is None else known
        return never_certain(truth * (1 - share) / (1 - truth * share))

    def truth(self, relation: int, answers: AsAnswers) -> Float64:
        """Return the probability that facts of a relation are true which are no training facts."""
        logits = answers.terms(float(self.unnamed[relation])) @ self.weights + self.offsets[relation]
        return never_certain(sigmoid(logits))

    def check(self, known: Known) -> None:
        """Refuse more than all of the truth."""
        if not self.valid + self.test < 1:
            raise DataError(
                "damaged-file", f"must be below 1 together, not {self.valid + self.test}", place="valid and test"
            )


class Candidates(NamedTuple):
    """Facts of one relation that may be true."""

    relation: int
    facts: Ids  # int32[arity, n]
    right: Bool  # which of them are validation facts
    weight: Float64  # how many each stands for


def best_candidates(calibration: AnswerCalibration, answered: Sequence[Answered]) -> list[Candidates]:
    """Return the facts that the most likely new answers make, of questions to which other answers are known."""
    likely = []
    for one in answered:
        there = (one.rivals.known > 0)[:, None] & (one.rivals.entities >= 0)
        chances = calibration.valid_fact(one.relation, one.position, one.rivals.scores, one.rivals, there)
        likely.append(np.where(there, chances, -1.0))
    together = np.concatenate([np.empty(0), *(each.ravel() for each in likely)])
    best = np.argsort(-together, kind="stable")[:_CANDIDATES]  # no more, however many are equal
    taken = np.zeros(len(together), np.bool_)
    taken[best] = together[best] >= 0
    ends = np.cumsum([each.size for each in likely])
    found = []
    for one, end, chances in zip(answered, ends, likely, strict=True):
        rows, ranks = np.nonzero(taken[end - chances.size : end].reshape(chances.shape))
        facts = one.questions[:, rows].copy()
        facts[one.position] = one.rivals.entities[rows, ranks]
        if len(rows):
            found.append(Candidates(one.relation, facts, one.right[rows, ranks], one.weight[rows]))
    return found


def fit_new_fact_calibration(
    judged: Sequence[tuple[Candidates, AsAnswers]], train: Hypergraph, answers: AnswerCalibration, unnamed: Float64
) -> NewFactCalibration:
    """Return the chance that new facts are true, as candidates show it of which some are validation facts.

    They are judged by what they are like as answers. Relations that are alike in size and arity in `train` are taken to be
    alike. `unnamed` is the share of the true facts of each relation that rules do not name.
    """
    start = replace(NewFactCalibration.unfitted(train.schema, answers), unnamed=unnamed)
    if not any(one.right.any() for one, _ in judged):
        return start
    relation = torch.from_numpy(np.concatenate([np.full(len(one.right), one.relation) for one, _ in judged]))
    right = torch.from_numpy(np.concatenate([one.right for one, _ in judged]))
    weight = torch.from_numpy(np.concatenate([one.weight for one, _ in judged]))
    weight = weight * weight.sum() / weight.square().sum()  # those that stand for many are few, and tell that little
    terms = torch.from_numpy(np.concatenate([each.terms(float(unnamed[one.relation])) for one, each in judged]))
    sizes = np.array([[np.log1p(len(train.table(one.name))), one.arity] for one in train.schema], np.float64)
    alike = torch.from_numpy(sizes - sizes[relation.numpy()].mean(axis=0))
    begin, common = torch.from_numpy(start.weights), float(start.offsets[0])
    own = torch.zeros(len(train.schema), dtype=torch.float64, requires_grad=True)
    changes = torch.zeros(len(_TERMS) + 1 + alike.shape[1], dtype=torch.float64, requires_grad=True)

    def parts() -> tuple[Tensor, Tensor]:
        count = len(_TERMS)
        return begin + changes[:count], common + changes[count] + alike @ changes[count + 1 :] + own

    def loss() -> Tensor:
        weights, offsets = parts()
        logits = terms @ weights + offsets[relation]
        true = torch.nn.functional.logsigmoid(logits) + float(np.log(answers.valid))  # and a validation fact
        likelihood = torch.where(right, true, torch.log1p(-torch.exp(true)))
        return -(weight * likelihood).sum() + _DRAWN * (own.square().sum() + changes.square().sum())

    with one_torch_thread():
        minimize(loss, [own, changes], _STEPS)
        with torch.no_grad():
            weights, offsets = (each.numpy() for each in parts())
    return replace(start, weights=weights, offsets=offsets)


def share_unnamed(evidence: EvidenceSource | None, held_out: Hypergraph) -> Float64:
    """Return of each relation the share of the facts that rules do not name, drawn to that of all; 1 without evidence."""
    names = held_out.schema.names
    if evidence is None or not len(held_out):
        return np.ones(len(names))
    named = [evidence.supports(relation, held_out.table(name).columns) for relation, name in enumerate(names)]
    counts, missed = (np.array([f(one) for one in named], np.float64) for f in (len, lambda one: (~one).sum()))
    usual = (missed.sum() + 1) / (counts.sum() + 1)
    return np.asarray((missed + usual) / (counts + 1))
