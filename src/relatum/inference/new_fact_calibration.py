"""From the chances of a fact's entities as answers to the chance that the fact is true, which is not known.

A fact answers one question at each of its positions. Somebody who asks one of them has reasons to; a fact that a search
comes upon is the best of very many, and at one position alone: what it is like at the others tells it from an accident. So
its log-odds are a sum over what it is like at all positions, with an offset for each relation, drawn to a common one. The
weights are fitted on the best new candidates of questions as they come, by which of them are validation facts.

What is not known is not false: a fact that is true is a validation fact only so often, `valid`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from relatum.arrays import Bool, Float64, Int64
from relatum.data.hypergraph import Hypergraph
from relatum.data.schema import Schema
from relatum.data.vocabulary import Ids
from relatum.errors import DataError
from relatum.inference.answer_calibration import AnswerCalibration
from relatum.inference.answer_sample import Answered, rivals_of
from relatum.inference.calibration import sigmoid
from relatum.inference.scoring import CandidateScorer
from relatum.models.ops import one_torch_thread

__all__ = ["AsAnswers", "Candidates", "NewFactCalibration", "as_answers", "best_candidates", "fit_new_fact_calibration"]

_VERSION = 1
_TERMS = ("lowest", "mean", "best", "unanswered", "answers")
_START = (0.5, 0.0, 0.5, -1.0, 0.0)
_CANDIDATES = 4_000  # that the weights are fitted on, the most likely ones
_DRAWN = 0.5  # how strongly weights, and offsets of relations, are drawn to where they begin
_STEPS = 200
_SMALL = 1e-9
_NUMBERS = ("valid", "test")


class AsAnswers(NamedTuple):
    """What some facts of one relation are like as answers at each of their positions.

    Attributes:
        log_odds: that they are validation facts, [arity, n].
        known: how many other answers are known, [arity, n].
    """

    log_odds: Float64
    known: Int64

    @property
    def terms(self) -> Float64:
        """What weights are for, [n, terms]."""
        answered = self.known > 0
        lowest = self.log_odds.min(axis=0)
        best = np.where(answered.any(axis=0), np.where(answered, self.log_odds, -np.inf).max(axis=0), lowest)
        columns = lowest, self.log_odds.mean(axis=0), best, (~answered).sum(axis=0), np.log1p(self.known).mean(axis=0)
        return np.stack(columns, axis=1).astype(np.float64)


def as_answers(calibration: AnswerCalibration, scorer: CandidateScorer, facts: Ids) -> tuple[AsAnswers, Bool]:
    """Return what facts, int32[arity, n], are like as answers, and which of them are known: these do not count."""
    log_odds, counts = np.empty(facts.shape), np.empty(facts.shape, np.int64)
    known = scorer.answers(0, facts).contain(facts[0])
    for position in range(len(facts)):
        rivals = rivals_of(scorer, position, facts)
        counts[position] = rivals.known - known
        among = (rivals.entities == facts[position][:, None]).any(axis=1)
        scores = scorer.scores(position, facts).astype(np.float64)
        others = rivals._replace(known=counts[position])
        likely = np.clip(calibration.valid_fact(scorer.relation, position, scores, others, among), _SMALL, 1 - _SMALL)
        log_odds[position] = np.log(likely / (1 - likely))
    return AsAnswers(log_odds, counts), known


@dataclass(frozen=True, eq=False)
class NewFactCalibration:
    """The chance that facts are true which are not known.

    Attributes:
        weights: of the terms.
        offsets: of the relations.
        valid: the share of the true facts outside the training facts that validation facts are.
        test: the same of test facts.
    """

    weights: Float64
    offsets: Float64
    valid: float
    test: float

    @classmethod
    def unfitted(cls, schema: Schema, answers: AnswerCalibration) -> NewFactCalibration:
        """Return what is taken to hold where no facts tell more than what they are like as answers."""
        offsets = np.full(len(schema), -np.log(answers.valid))  # from the odds of a validation fact to those of a true one
        return cls(np.array(_START), offsets, answers.valid, answers.test)

    def new(self, relation: int, answers: AsAnswers) -> Float64:
        """Return the probability that facts of a relation are true which are not known."""
        truth, known = self.truth(relation, answers), self.valid + self.test
        return truth * (1 - known) / (1 - truth * known)

    def truth(self, relation: int, answers: AsAnswers) -> Float64:
        """Return the probability that facts of a relation are true which are no training facts."""
        return sigmoid(answers.terms @ self.weights + self.offsets[relation])

    def to_json(self) -> dict[str, Any]:
        """Return the calibration as plain data."""
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        lists = {"weights": self.weights.tolist(), "offsets": self.offsets.tolist()}
        return {"version": _VERSION, "terms": list(_TERMS), **numbers, **lists}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], schema: Schema) -> NewFactCalibration:
        """Return the calibration for the relations of a schema from plain data; anything else is refused."""
        if not isinstance(data, Mapping):
            raise DataError("calibration of new facts: must be a JSON object")
        if data.get("version") != _VERSION or data.get("terms") != list(_TERMS):
            version = data.get("version")
            raise DataError(f"calibration of new facts: version {version!r} is unknown; this relatum reads {_VERSION}")
        try:
            weights, offsets = (np.array(data[name], np.float64) for name in ("weights", "offsets"))
            valid, test = (float(data[name]) for name in _NUMBERS)
        except (KeyError, TypeError, ValueError):
            names = ", ".join(("weights", "offsets", *_NUMBERS))
            raise DataError(f"calibration of new facts: must hold the numbers {names}") from None
        if weights.shape != (len(_TERMS),) or offsets.shape != (len(schema),):
            raise DataError(f"calibration of new facts: must be about {len(schema)} relations")
        if not (np.isfinite(weights).all() and np.isfinite(offsets).all() and valid > 0 and test >= 0 and valid + test < 1):
            raise DataError("calibration of new facts: numbers must be finite, and what is known of the truth a share")
        return cls(weights, offsets, valid, test)


class Candidates(NamedTuple):
    """Facts of one relation that may be true.

    Attributes:
        relation: which one.
        facts: int32[arity, n].
        right: which of them are validation facts.
        weight: how many each stands for.
    """

    relation: int
    facts: Ids
    right: Bool
    weight: Float64


def best_candidates(calibration: AnswerCalibration, answered: Sequence[Answered]) -> list[Candidates]:
    """Return the facts that the most likely new answers make, of questions to which other answers are known."""
    likely = []
    for one in answered:
        there = (one.rivals.known > 0)[:, None] & (one.rivals.entities >= 0)
        chances = calibration.valid_fact(one.relation, one.position, one.rivals.scores, one.rivals, there)
        likely.append(np.where(there, chances, -1.0))
    ordered = -np.sort(-np.concatenate([each.ravel() for each in likely])) if likely else np.empty(0)
    least = max(float(ordered[_CANDIDATES - 1]) if len(ordered) >= _CANDIDATES else 0.0, 0.0)
    found = []
    for one, chances in zip(answered, likely, strict=True):
        rows, ranks = np.nonzero(chances >= least)
        facts = one.questions[:, rows].copy()
        facts[one.position] = one.rivals.entities[rows, ranks]
        if len(rows):
            found.append(Candidates(one.relation, facts, one.right[rows, ranks], one.weight[rows]))
    return found


def fit_new_fact_calibration(
    judged: Sequence[tuple[Candidates, AsAnswers]], train: Hypergraph, answers: AnswerCalibration
) -> NewFactCalibration:
    """Return the chance that new facts are true, as candidates show it of which some are validation facts.

    Args:
        judged: the candidates, and what they are like as answers.
        train: the training facts; relations that are alike in size and arity are taken to be alike.
        answers: the calibration of answers.
    """
    start = NewFactCalibration.unfitted(train.schema, answers)
    if not any(one.right.any() for one, _ in judged):
        return start
    relation = torch.from_numpy(np.concatenate([np.full(len(one.right), one.relation) for one, _ in judged]))
    right = torch.from_numpy(np.concatenate([one.right for one, _ in judged]))
    weight = torch.from_numpy(np.concatenate([one.weight for one, _ in judged]))
    terms = torch.from_numpy(np.concatenate([each.terms for _, each in judged]))
    sizes = np.array([[np.log1p(len(train.table(one.name))), one.arity] for one in train.schema], np.float64)
    alike = torch.from_numpy(sizes - sizes[relation.numpy()].mean(axis=0))
    begin, common = torch.from_numpy(start.weights), float(start.offsets[0])
    own = torch.zeros(len(train.schema), dtype=torch.float64, requires_grad=True)
    changes = torch.zeros(len(_TERMS) + 1 + alike.shape[1], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([own, changes], max_iter=_STEPS, line_search_fn="strong_wolfe")

    def parts() -> tuple[Tensor, Tensor]:
        count = len(_TERMS)
        return begin + changes[:count], common + changes[count] + alike @ changes[count + 1 :] + own

    def loss() -> Tensor:
        optimizer.zero_grad()
        weights, offsets = parts()
        log_odds = terms @ weights + offsets[relation]
        true = torch.nn.functional.logsigmoid(log_odds) + float(np.log(answers.valid))  # and a validation fact
        likelihood = torch.where(right, true, torch.log1p(-torch.exp(true)))
        cost = -(weight / weight.mean() * likelihood).sum() + _DRAWN * (own.square().sum() + changes.square().sum())
        cost.backward()  # type: ignore[no-untyped-call]
        return cost

    with one_torch_thread():
        optimizer.step(loss)  # type: ignore[no-untyped-call]
        with torch.no_grad():
            weights, offsets = (each.numpy() for each in parts())
    return NewFactCalibration(weights, offsets, answers.valid, answers.test)
