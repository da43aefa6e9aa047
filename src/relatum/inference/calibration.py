"""From scores to probabilities: the softmax that models are trained by leaves scores of different relations incomparable.

A score s of relation r becomes the logit slope_r s + offset_r, and that, by a bend that all relations share, the logit of a
probability. Both are fitted on held-out facts against as many non-facts: copies of these facts of which one entity was
replaced, half of the time by one that the relation is known with at that position. So 0.5 means: as often true as not, where
facts and such non-facts are equally common. A relation with few facts stays near the fit over all relations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.errors import DataError
from relatum.inference.scoring import score
from relatum.models.base import Model, Parameters

__all__ = ["Calibration", "Labelled", "Reliability", "fit_calibration", "label", "reliability", "sigmoid"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_PRIOR = 4.0  # how strongly a relation's fit is held to that of all
_ROUNDS = 30  # of Newton's method
_DRAWS = 10  # for a non-fact, until one is not known to be a fact
_BINS = 10
_POINTS, _AROUND = 20, 50  # of the bend at most, and how many facts and non-facts one stands for at least
_STRANGE = 100  # training facts of which non-facts are made, where there are no other facts


def sigmoid(logits: Floats) -> Floats:
    """Return the probabilities of logits, without overflow."""
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -700, 700))))


@dataclass(frozen=True, eq=False)
class Labelled:
    """Facts and non-facts with their scores; the non-facts made from one fact weigh as much as that fact."""

    relation: Ints
    score: Floats
    true: npt.NDArray[np.bool_]
    weight: Floats


@dataclass(frozen=True, eq=False)
class Calibration:
    """A slope and an offset for each relation, and one bend for all of them: what logits of `said` turn out to mean.

    A straight line in the logit is too stiff where some facts are plain and others are guesses. Between its points the
    bend is straight, beyond them it goes on with slope 1: more score is never less probability.
    """

    slope: Floats
    offset: Floats
    said: Floats = field(default_factory=lambda: np.zeros(1))
    meant: Floats = field(default_factory=lambda: np.zeros(1))

    def probability(self, relation: Ints | int, score: Floats | float) -> Floats:
        """Return the probability of facts of the given relations and scores."""
        return sigmoid(self.bent(relation, score))

    def bent(self, relation: Ints | int, score: Floats | float) -> Floats:
        """Return the logits of the probabilities: they tell facts apart that are all but certain."""
        said = self.logit(relation, score)
        return np.asarray(np.interp(said, self.said, self.meant) + said - np.clip(said, self.said[0], self.said[-1]))

    def logit(self, relation: Ints | int, score: Floats | float) -> Floats:
        """Return the logits of the lines, before they are bent."""
        return np.asarray(self.slope[relation] * score + self.offset[relation])

    def to_json(self) -> dict[str, Any]:
        """Return the calibration as plain data."""
        return {name: getattr(self, name).tolist() for name in ("slope", "offset", "said", "meant")}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], relations: int) -> Calibration:
        """Return the calibration of so many relations from plain data; anything else is refused."""
        try:
            slope, offset, said, meant = (np.array(data[key], np.float64) for key in ("slope", "offset", "said", "meant"))
        except (KeyError, TypeError, ValueError):
            raise DataError("calibration: must hold the numbers `slope`, `offset`, `said` and `meant`") from None
        if not all(np.isfinite(values).all() for values in (slope, offset, said, meant)):
            raise DataError("calibration: its numbers must be finite")
        if slope.shape != (relations,) or offset.shape != (relations,):
            raise DataError(f"calibration: must hold a slope and an offset for each of {relations} relations")
        if said.ndim != 1 or not len(said) or said.shape != meant.shape or (np.diff([said, meant]) < 0).any():
            raise DataError("calibration: `said` and `meant` must be equally long and never fall")
        return cls(slope, offset, said, meant)


@dataclass(frozen=True)
class Reliability:
    """How probabilities fare: the Brier score, the expected calibration error, and the curve that they sum up.

    A point of the curve is (mean probability, share that is true, share of the weight) of the facts whose probability lies
    in one of ten ranges of equal width; ranges without facts are left out.
    """

    brier: float
    error: float
    curve: list[tuple[float, float, float]]

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain data."""
        names = ("predicted", "observed", "share")
        points = [dict(zip(names, point, strict=True)) for point in self.curve]
        return {"brier": self.brier, "ece": self.error, "reliability": points}


def label(
    model: Model, tables: Parameters, facts: Hypergraph, known: KnownAnswers, train: Hypergraph, seed: int = 0
) -> Labelled:
    """Return facts and non-facts made from them, one at each position of each fact, with their scores.

    Of a relation that has no such facts, there are non-facts made from training facts: they tell its scale.

    Args:
        model: the model.
        tables: what `model.encode` gave.
        facts: held-out facts, at least one.
        known: what is not to be taken for a non-fact.
        train: the training facts, which tell what a relation is known with.
        seed: of what is drawn.
    """
    chance = np.random.default_rng(seed)
    parts = list(_labelled(model, tables, facts, known, train, chance))
    return Labelled(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def fit_calibration(labelled: Labelled, relations: int) -> Calibration:
    """Return the calibration of so many relations that fits labelled facts; those without any get the common fit.

    Each relation has its own scale, so scores are first put on one: how far they lie from the middle between the facts and
    the non-facts of their relation, in units of the spread within relations. On that scale relations are much alike, and
    what is learned from all of them can stand in for what few facts do not tell.
    """
    kinds = 2 * labelled.relation + labelled.true
    weight = np.bincount(kinds, labelled.weight, 2 * relations)
    sums = np.bincount(kinds, labelled.weight * labelled.score, 2 * relations)
    means = (sums / np.maximum(weight, 1e-300)).reshape(relations, 2)
    there = weight.reshape(relations, 2) > 0
    rest = labelled.score - means[labelled.relation, labelled.true.astype(np.int64)]
    spread = max(float(np.sqrt(np.average(rest**2, weights=labelled.weight))), 1e-12)
    both: npt.NDArray[np.bool_] = np.all(there, axis=1)
    gap = float(np.mean((means[:, 1] - means[:, 0])[both])) if both.any() else 0.0
    anywhere = float(np.average(labelled.score, weights=labelled.weight))
    middle = np.where(both, means.mean(1), np.where(there[:, 0], means[:, 0] + gap / 2, anywhere))

    standard = (labelled.score - middle[labelled.relation]) / spread
    told = both[labelled.relation]
    common = _logistic(standard[told], labelled.true[told], labelled.weight[told], np.array([1.0, 0.0]), 1e-3)
    slope, offset = np.full(relations, common[0]), np.full(relations, common[1])
    for relation in np.flatnonzero(both):
        chosen = labelled.relation == relation
        own = _logistic(standard[chosen], labelled.true[chosen], labelled.weight[chosen], common, _PRIOR)
        slope[relation], offset[relation] = own
    lines = Calibration(slope / spread, offset - slope * middle / spread)
    return replace(
        lines, **_bend(lines.logit(labelled.relation, labelled.score)[told], labelled.true[told], labelled.weight[told])
    )


def _bend(said: Floats, true: npt.NDArray[np.bool_], weight: Floats) -> dict[str, Floats]:
    """Return what logits turn out to mean, at points with equally many facts and non-facts around them."""
    order = np.argsort(said, kind="stable")
    parts = np.array_split(order, max(1, min(_POINTS, len(order) // _AROUND)))
    if not len(order):
        return {}
    heavy = np.array([weight[part].sum() for part in parts])
    share = (np.array([(weight * true)[part].sum() for part in parts]) + 0.5) / (heavy + 1)  # never 0 nor 1
    centres = np.array([np.average(said[part], weights=weight[part]) for part in parts])
    return {"said": centres, "meant": np.maximum.accumulate(np.log(share / (1 - share)))}


def reliability(calibration: Calibration, labelled: Labelled) -> Reliability:
    """Return how the probabilities of labelled facts fare; give it other facts than those of the fit."""
    probability = calibration.probability(labelled.relation, labelled.score)
    weight = labelled.weight / labelled.weight.sum()
    bins = np.minimum((probability * _BINS).astype(np.int64), _BINS - 1)
    mass, predicted, observed = (
        np.bincount(bins, weight * values, _BINS) for values in (np.ones(len(bins)), probability, labelled.true)
    )
    filled = mass > 0
    points = np.stack([predicted[filled] / mass[filled], observed[filled] / mass[filled], mass[filled]], 1)
    return Reliability(
        brier=float(np.sum(weight * (probability - labelled.true) ** 2)),
        error=float(np.sum(np.abs(predicted - observed))),
        curve=[(float(p), float(o), float(m)) for p, o, m in points],
    )


def _labelled(
    model: Model,
    tables: Parameters,
    facts: Hypergraph,
    known: KnownAnswers,
    train: Hypergraph,
    chance: np.random.Generator,
) -> Iterator[tuple[Ints, Floats, npt.NDArray[np.bool_], Floats]]:
    """Yield relation, score, truth and weight of the facts of each relation, and of the non-facts at each position."""
    for number, schema in enumerate(facts.schema):
        columns = facts.table(schema.name).columns
        if columns.shape[1]:
            yield _scored(model, tables, number, columns.astype(np.int64), true=True, weight=1.0)
        else:
            columns = train.table(schema.name).columns[:, :_STRANGE]
        size = columns.shape[1]
        relations = np.full(size, number, np.int32)
        for position, there in enumerate(train.table(schema.name).columns):
            answers = known.lookup(relations, columns, position)
            near = np.unique(there)
            drawn = np.empty(size, np.int32)
            wrong = np.ones(size, np.bool_)
            for _ in range(_DRAWS):
                anywhere = chance.integers(0, len(facts.entities), size)
                nearby = near[chance.integers(0, len(near), size)] if len(near) else anywhere
                drawn = np.where(wrong, np.where(chance.random(size) < 0.5, nearby, anywhere), drawn).astype(np.int32)
                wrong = answers.contain(drawn) | (drawn == columns[position])
            made = columns.astype(np.int64)
            made[position] = drawn
            yield _scored(model, tables, number, made[:, ~wrong], true=False, weight=1 / schema.arity)


def _scored(
    model: Model, tables: Parameters, relation: int, columns: Ints, *, true: bool, weight: float
) -> tuple[Ints, Floats, npt.NDArray[np.bool_], Floats]:
    relations = np.full(columns.shape[1], relation, np.int64)
    scores = score(model, tables, torch.from_numpy(relations), torch.from_numpy(columns))
    size = len(relations)
    return relations, scores.double().numpy(), np.full(size, true), np.full(size, weight)


def _logistic(values: Floats, true: npt.NDArray[np.bool_], weight: Floats, prior: Floats, strength: float) -> Floats:
    """Return slope and offset of the weighted logistic fit that is held to `prior`; a slope is never negative.

    The objective is convex; the pull to the prior also makes it strictly so where facts and non-facts are apart.
    """
    found = prior.copy()
    features = np.stack([values, np.ones_like(values)], 1)

    def objective(point: Floats) -> float:
        logit = features @ point
        return float(
            np.sum(weight * np.logaddexp(0, np.where(true, -logit, logit))) + strength / 2 * np.sum((point - prior) ** 2)
        )

    for _ in range(_ROUNDS):
        probability = sigmoid(features @ found)
        slope = features.T @ (weight * (probability - true)) + strength * (found - prior)
        curve = (features * (weight * probability * (1 - probability))[:, None]).T @ features + strength * np.eye(2)
        move = np.linalg.solve(curve, slope)
        reach = 1.0
        while objective(found - reach * move) > objective(found) and reach > 1e-6:
            reach /= 2
        found = found - reach * move
        if np.abs(move).max() < 1e-10:
            break
    return np.array([max(found[0], 0.0), found[1]])
