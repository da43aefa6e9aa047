"""From scores to probabilities: models are trained by softmax within one relation, so scores compare only there.

A score s of relation r becomes the raw logit slope_r s + offset_r, and that, by one curve for all relations, the calibrated
logit. Both are fitted on held-out facts against as many negatives: copies of these facts in which one entity was replaced,
half of the time by one that the relation has at that position. So a probability assumes that facts and such negatives are
equally common. A relation with few facts stays close to the fit over all relations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
import torch

from relatum.arrays import Bool, Float64, Int64
from relatum.artefacts import Declared, Score, Within
from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.fitting import log_odds, logistic, never_certain, sigmoid
from relatum.inference.scoring import score
from relatum.models.base import Model, Parameters

_PRIOR = 4.0  # how strongly a relation's fit is pulled to that of all
_DRAWS = 10  # for a negative, until one is not known to be a fact
_BINS = 10
_POINTS, _AROUND = 20, 50  # of the curve at most, and how many facts and negatives each has at least
_TRAIN_FACTS = 100  # of a relation without held-out facts, from which negatives are drawn


_RawLogits = Annotated[Float64, replace(Score, shape=("points",), rising=True)]
_CalibratedLogits = Annotated[Float64, Within(-100, 100, shape=("points",), rising=True)]


@dataclass(frozen=True, eq=False)
class CalibrationSample:
    """Facts and negatives with their scores; the negatives of one fact weigh as much as that fact."""

    relation: Int64
    score: Float64
    true: Bool
    weight: Float64


@dataclass(frozen=True, eq=False)
class Calibration(Declared):
    """A slope and an offset for each relation, and one curve for all of them, from `raw_logits` to `calibrated_logits`.

    A straight line in the logit is too stiff where some facts are easy and others are guesses. The curve is linear between
    its points and goes on with slope 1 beyond them: a higher score never has a lower probability.
    """

    slope: Annotated[Float64, Within(0, 1e30, shape=("schema",))]
    offset: Annotated[Float64, replace(Score, shape=("schema",))]
    raw_logits: Annotated[Float64, replace(Score, shape=("points",), rising=True)] = field(
        default_factory=lambda: np.zeros(1)
    )
    calibrated_logits: Annotated[Float64, Within(-100, 100, shape=("points",), rising=True)] = field(
        default_factory=lambda: np.zeros(1)
    )

    def probability(self, relation: Int64 | int, score: Float64 | float) -> Float64:
        """Return the probability of facts of the given relations and scores."""
        return never_certain(sigmoid(self.calibrated_logit(relation, score)))

    def calibrated_logit(self, relation: Int64 | int, score: Float64 | float) -> Float64:
        """Return the logits of the probabilities, which still differ where probabilities round to 0 or 1."""
        raw = self.raw_logit(relation, score)
        return np.asarray(
            np.interp(raw, self.raw_logits, self.calibrated_logits)
            + raw
            - np.clip(raw, self.raw_logits[0], self.raw_logits[-1])
        )

    def raw_logit(self, relation: Int64 | int, score: Float64 | float) -> Float64:
        """Return the logits before the curve."""
        return np.asarray(self.slope[relation] * score + self.offset[relation])


@dataclass(frozen=True)
class Reliability:
    """How probabilities fare: the Brier score, the expected calibration error, and the curve that they sum up.

    A point of the curve is (mean probability, share that is true, share of the weight) of the facts whose probability lies
    in one of ten ranges of equal width; ranges without facts are left out.
    """

    brier: float
    error: float
    curve: list[tuple[float, float, float]]

    @classmethod
    def of(cls, probability: Float64, true: Bool, weight: Float64) -> Reliability:
        """Return how probabilities fare, given what is true and how much each counts."""
        share = weight / weight.sum()
        bins = np.minimum((probability * _BINS).astype(np.int64), _BINS - 1)
        mass, predicted, observed = (
            np.bincount(bins, share * values, _BINS) for values in (np.ones(len(bins)), probability, true)
        )
        filled = mass > 0
        points = np.stack([predicted[filled] / mass[filled], observed[filled] / mass[filled], mass[filled]], 1)
        return cls(
            brier=float(np.sum(share * (probability - true) ** 2)),
            error=float(np.sum(np.abs(predicted - observed))),
            curve=[(float(p), float(o), float(m)) for p, o, m in points],
        )

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain data."""
        names = ("predicted", "observed", "share")
        points = [dict(zip(names, point, strict=True)) for point in self.curve]
        return {"brier": self.brier, "ece": self.error, "reliability": points}


def draw_sample(
    model: Model, tables: Parameters, facts: Hypergraph, known: KnownAnswers, train: Hypergraph, seed: int = 0
) -> CalibrationSample:
    """Return facts and their negatives, one at each position of each fact, with their scores.

    Of a relation that has no such facts, there are negatives drawn from training facts, which give its scale.

    `tables` are what `model.encode` gave; nothing `known` is taken for a negative; `train` tells what a relation is known
    with.
    """
    rng = np.random.default_rng(seed)
    parts = list(_sampled(model, tables, facts, known, train, rng))
    return CalibrationSample(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def fit_calibration(sample: CalibrationSample, relations: int) -> Calibration:
    """Return the calibration of so many relations that fits a sample; those without any get the common fit.

    Each relation has its own scale, so scores are first put on one: how far they lie from the middle between the facts and
    the negatives of their relation, in units of the spread within relations. On that scale relations are much alike, and
    what is learned from all of them can replace what few facts do not show.
    """
    labels = 2 * sample.relation + sample.true
    weight = np.bincount(labels, sample.weight, 2 * relations)
    sums = np.bincount(labels, sample.weight * sample.score, 2 * relations)
    means = (sums / np.maximum(weight, 1e-300)).reshape(relations, 2)
    there = weight.reshape(relations, 2) > 0
    rest = sample.score - means[sample.relation, sample.true.astype(np.int64)]
    spread = max(float(np.sqrt(np.average(rest**2, weights=sample.weight))), 1e-12)
    both: Bool = np.all(there, axis=1)
    gap = float(np.mean((means[:, 1] - means[:, 0])[both])) if both.any() else 0.0
    anywhere = float(np.average(sample.score, weights=sample.weight))
    middle = np.where(both, means.mean(1), np.where(there[:, 0], means[:, 0] + gap / 2, anywhere))

    standard = (sample.score - middle[sample.relation]) / spread
    usable = both[sample.relation]
    line = np.stack([standard, np.ones_like(standard)], 1)
    common = _rising(logistic(line[usable], sample.true[usable], sample.weight[usable], np.array([1.0, 0.0]), 1e-3))
    slope, offset = np.full(relations, common[0]), np.full(relations, common[1])
    for relation in np.flatnonzero(both):
        chosen = sample.relation == relation
        own = logistic(line[chosen], sample.true[chosen], sample.weight[chosen], common, _PRIOR)
        slope[relation], offset[relation] = _rising(own)
    lines = Calibration(slope / spread, offset - slope * middle / spread)
    return replace(
        lines, **_curve(lines.raw_logit(sample.relation, sample.score)[usable], sample.true[usable], sample.weight[usable])
    )


def _rising(line: Float64) -> Float64:
    """Return a slope and an offset: the slope is never negative."""
    return np.array([max(line[0], 0.0), line[1]])


def _curve(raw: Float64, true: Bool, weight: Float64) -> dict[str, Float64]:
    """Return the points of the curve, each with equally many facts and negatives around it."""
    order = np.argsort(raw, kind="stable")
    parts = np.array_split(order, max(1, min(_POINTS, len(order) // _AROUND)))
    if not len(order):
        return {}
    heavy = np.array([weight[part].sum() for part in parts])
    share = (np.array([(weight * true)[part].sum() for part in parts]) + 0.5) / (heavy + 1)  # never 0 nor 1
    centres = np.array([np.average(raw[part], weights=weight[part]) for part in parts])
    return {"raw_logits": centres, "calibrated_logits": np.maximum.accumulate(log_odds(share))}


def reliability(calibration: Calibration, sample: CalibrationSample) -> Reliability:
    """Return how the probabilities of a sample fare; give it other facts than those of the fit."""
    return Reliability.of(calibration.probability(sample.relation, sample.score), sample.true, sample.weight)


def _sampled(
    model: Model,
    tables: Parameters,
    facts: Hypergraph,
    known: KnownAnswers,
    train: Hypergraph,
    rng: np.random.Generator,
) -> Iterator[tuple[Int64, Float64, Bool, Float64]]:
    """Yield relation, score, truth and weight of the facts of each relation, and of the negatives at each position."""
    for number, schema in enumerate(facts.schema):
        columns = facts.table(schema.name).columns
        if columns.shape[1]:
            yield _scored(model, tables, number, columns.astype(np.int64), true=True, weight=1.0)
        else:
            columns = train.table(schema.name).columns[:, :_TRAIN_FACTS]
        size = columns.shape[1]
        relations = np.full(size, number, np.int32)
        for position, there in enumerate(train.table(schema.name).columns):
            answers = known.lookup(relations, columns, position)
            local_entities = np.unique(there)
            drawn = np.empty(size, np.int32)
            wrong = np.ones(size, np.bool_)
            for _ in range(_DRAWS):
                anywhere = rng.integers(0, len(facts.entities), size)
                local = local_entities[rng.integers(0, len(local_entities), size)] if len(local_entities) else anywhere
                drawn = np.where(wrong, np.where(rng.random(size) < 0.5, local, anywhere), drawn).astype(np.int32)
                wrong = answers.contain(drawn) | (drawn == columns[position])
            corrupted = columns.astype(np.int64)
            corrupted[position] = drawn
            yield _scored(model, tables, number, corrupted[:, ~wrong], true=False, weight=1 / schema.arity)


def _scored(
    model: Model, tables: Parameters, relation: int, columns: Int64, *, true: bool, weight: float
) -> tuple[Int64, Float64, Bool, Float64]:
    relations = np.full(columns.shape[1], relation, np.int64)
    scores = score(model, tables, torch.from_numpy(relations), torch.from_numpy(columns))
    size = len(relations)
    return relations, scores.double().numpy(), np.full(size, true), np.full(size, weight)
