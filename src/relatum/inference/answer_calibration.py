"""From scores to the chance that an answer is true: by how far it stands out among the best candidates of its question.

A softmax over candidates is right where the given entities determine the answer, as those of a key do; where a question has
many answers or none, the score itself and how many answers are known already say more. The log-odds of an answer are a sum
of both, with weights for each position of a relation, drawn to those that all have in common. They are fitted on questions
as they come: those that validation facts answer, and those that training facts answer, to which most often none is missing.

What is not known is not false. Of the true facts outside the training facts only some are validation facts, so a candidate
that is true is one of these only so often; and a new answer is true if it is one of those that nobody has noted. How much of
the truth is known is an estimate or an assumption, `observed`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from relatum.arrays import Bool, Float64, Int64
from relatum.artefacts import Declared, Given, Known, Score, Within
from relatum.data.hypergraph import Hypergraph, Split
from relatum.errors import DataError
from relatum.fitting import log_odds, minimize, never_certain, never_falling, sigmoid
from relatum.inference.answer_sample import Answered, Rivals
from relatum.models.ops import one_torch_thread

_TERMS = ("temperature", "contrast", "level", "offset", "unanswered", "answers")
_START = (0.0, 0.0, -2.0, 0.0, 0.0, 0.0)  # a softmax
_OWN, _ALL = 5.0, 1.0  # how strongly weights of a position are drawn to the common ones, and these to where they begin
_STEPS = 100
_OBSERVED = 0.98  # of the truth is taken to be known where nothing tells
_MOST_OBSERVED = 0.998  # no data can tell that nothing is missing
_APART = 15.0  # log-odds by which an answer stands out at most, as one without a rival does
_AROUND = 40  # candidates to the last point of a curve, of those that stand for most, and right ones to all of it at least
_SUREST = 0.99  # of what can be, that a point of a curve says at most, and what is said where more is seen than should be
_RISE = 1e-3
_NEXT_TO_ONE = float(np.exp(-_APART))
OF_TRUTH = Within(1e-15, below=1)  # the share that validation facts are
_NOWHERE = -1e6  # instead of minus infinity, through which no gradient goes


@dataclass(frozen=True, eq=False)
class AnswerCalibration(Declared):
    """The chance that an answer is true, from its score and the scores of its rivals."""

    starts: Annotated[Int64, Given]  # where the positions of each relation begin among all positions, and their number
    # of each position, the usual score of the best candidate
    centres: Annotated[Float64, replace(Score, shape=("positions",))]
    # of each position, [positions, terms]
    weights: Annotated[Float64, Within(-100, 100, shape=("positions", len(_TERMS)))]
    # from log-odds by the weights to those that were observed, for questions without a known answer, and with one:
    # points, float64[2, n], between which they are linear; never falling
    curves: tuple[
        Annotated[Float64, replace(Score, shape=(2, "points of one"), rising=True)],
        Annotated[Float64, replace(Score, shape=(2, "points of the other"), rising=True)],
    ]
    scale: Annotated[float, Within(1e-30, 1e30)]  # what a score is divided by
    observed: Annotated[float, Within(0, below=1)]  # the share of the true facts that is known
    # the share of the true facts outside the training facts that validation facts are
    valid: Annotated[float, OF_TRUTH]
    test: Annotated[float, Within(0, below=1)]  # the same of test facts

    @property
    def known(self) -> float:
        """The share of the true facts outside the training facts that validation and test facts are."""
        return self.valid + self.test

    def known_with(self, split: Split, given: Hypergraph | None) -> float:
        """Return the share of the true facts outside the training facts that is known by some facts; None for all parts."""
        if given is None:
            return self.known
        more = len(given) - len(split.train)
        return float(np.clip(more * self.valid / max(1, len(split.valid)), 0.0, self.known))

    def new(
        self, relation: int, position: int, scores: Float64, rivals: Rivals, among: Bool, known: float | None = None
    ) -> Float64:
        """Return the probability that answers which are not known are true, arguments as of `valid_fact`.

        `known` is the share of the true facts outside the training facts that is known, and left out; by default all of
        what validation and test facts are.
        """
        truth, share = self.truth(relation, position, scores, rivals, among), self.known if known is None else known
        return never_certain(np.where(_answered(rivals, truth), truth * (1 - share) / (1 - truth * share), truth))

    def truth(self, relation: int, position: int, scores: Float64, rivals: Rivals, among: Bool) -> Float64:
        """Return the probability that answers are true which are not among the training facts, arguments as of `valid_fact`.

        A question without any known answer is taken to have one, as those have that validation facts ask. To others true
        answers are validation facts only so often, `valid`, and the probability is that much higher.
        """
        found = self.valid_fact(relation, position, scores, rivals, among)
        share = found / self.valid
        beyond = _SUREST + (1 - _SUREST) * -np.expm1(np.minimum(_SUREST - share, 0))  # rises on, and stays below 1
        return never_certain(np.where(_answered(rivals, found), np.where(share < _SUREST, share, beyond), found))

    def test_fact(self, relation: int, position: int, scores: Float64, rivals: Rivals, among: Bool) -> Float64:
        """Return the probability that answers are test facts, if not valid facts, arguments as of `valid_fact`."""
        found = self.valid_fact(relation, position, scores, rivals, among)
        likely = np.minimum(found * self.test / self.valid / np.maximum(1 - found, _NEXT_TO_ONE), 1.0)
        return never_certain(np.where(_answered(rivals, found), likely, found))

    def valid_fact(self, relation: int, position: int, scores: Float64, rivals: Rivals, among: Bool) -> Float64:
        """Return the probability that answers are validation facts, where they are not training facts.

        There is one answer to each question, or several: scores are [n] or [n, m], and so is `among`, which says whether an
        answer is one of its rivals.
        """
        group = int(self.starts[relation]) + position
        standard, others = (_finite((_wide(one) - self.centres[group]) / self.scale) for one in (scores, rivals.scores))
        logits = _logits_at(self.weights[group], standard, others, _wide(among), rivals.known)
        curved = np.where((rivals.known > 0)[:, None], *(_curved(curve, logits) for curve in self.curves[::-1]))
        return sigmoid(curved).reshape(scores.shape)

    def sharpness(self, relation: int, position: int) -> float:
        """Return what a difference of two scores at a position weighs, in nats, in the softmax over candidates."""
        return float(np.exp(self.weights[int(self.starts[relation]) + position, _TERMS.index("temperature")]) / self.scale)

    def check(self, known: Known) -> None:
        """Refuse more than all of the truth."""
        if not self.known < 1:
            raise DataError("damaged-file", f"must be below 1 together, not {self.known}", place="valid and test")


def fit_answer_calibration(
    answered: Iterable[Answered], split: Split, observed: float | None = None
) -> AnswerCalibration | None:
    """Return the chance that answers are true as a sample of training and validation facts shows it; None of nothing.

    Of test facts only the number is looked at. `observed` is the share of the true facts that is known; where nothing tells,
    nearly all of them.
    """
    parts, starts = list(answered), split.schema.starts
    if not parts:
        return None
    count = int(starts[-1])
    group = np.concatenate([np.full(len(one.weight), starts[one.relation] + one.position) for one in parts])
    scores, known = (np.concatenate([getattr(one.rivals, name) for one in parts]) for name in ("scores", "known"))
    right, weight = (np.concatenate([getattr(one, name) for one in parts]) for name in ("right", "weight"))
    best = np.where(np.isfinite(scores[:, 0]), scores[:, 0], 0)
    size = np.bincount(group, minlength=count)
    centres = np.where(size > 0, np.bincount(group, best, count) / np.maximum(1, size), best.mean())
    scale = float(np.std(best - centres[group])) or 1.0
    share = _OBSERVED if observed is None else min(observed, _MOST_OBSERVED)
    outside = sum(map(len, split.parts.values())) / share - len(split.train)  # true facts that are no training facts
    valid, test = len(split.valid) / outside, len(split.test) / outside
    with one_torch_thread():
        standard = _finite((scores - centres[group][:, None]) / scale)
        weights = _fitted(group, standard, right, known, weight, count)
        logits = _logits(*map(torch.from_numpy, (weights[group], standard, known))).numpy()
    unanswered, answered = (
        _curve(logits[some], right[some], np.where(standard[some] > _NOWHERE, weight[some, None], 0.0), _SUREST * most)
        for some, most in ((known == 0, 1.0), (known > 0, valid))
    )
    return AnswerCalibration(starts, centres, weights, (unanswered, answered), scale, share, valid, test)


def _curve(logits: Float64, right: Bool, weight: Float64, most: float) -> Float64:
    """Return points, float64[2, n], of log-odds as they were said and as they came out.

    The highest are of most interest, and the fewest: each point is of twice as many candidates as the one above it, and the
    first of as many that some of those count among them which stand for most.

    `weight` is how many candidates each stands for, and `most` the highest share that can be right.
    """
    order = np.argsort(-logits.ravel(), kind="stable")
    order = order[weight.ravel()[order] > 0]
    logits, right, weight = logits.ravel()[order], right.ravel()[order], weight.ravel()[order]
    if not len(order):
        return np.zeros((2, 1))
    passed, unit = np.cumsum(weight), _AROUND * weight.max()
    sizes = unit * (2 ** np.arange(1, 60, dtype=np.float64) - 1)
    cuts = np.searchsorted(passed, sizes[sizes < passed[-1] - unit]) + 1
    parts = [part for part in np.split(np.arange(len(order)), cuts)[::-1] if len(part)]
    if len(parts) < 3 or np.count_nonzero(right) < _AROUND:
        return np.zeros((2, 1))  # too few to tell
    heavy = np.array([weight[part].sum() for part in parts])
    shares = never_falling(np.array([(weight * right)[part].sum() for part in parts]) / heavy, heavy)
    centres = np.array([np.average(logits[part], weights=weight[part]) for part in parts])
    return np.stack([centres, log_odds(np.clip(shares, _NEXT_TO_ONE, most))])


def _curved(curve: Float64, logits: Float64) -> Float64:
    """Return log-odds as a curve has them; they go on rising, if slowly, where it is flat, and beyond its last point."""
    if curve.shape[1] == 1:
        return np.asarray(logits + curve[1] - curve[0])
    inside = np.clip(logits, *curve[0, [0, -1]])
    below, above = np.minimum(logits - inside, 0), np.maximum(logits - inside, 0)
    return np.asarray(np.interp(inside, *curve) + below + _RISE * (above + inside))


def _fitted(group: Int64, scores: Float64, right: Bool, known: Int64, weight: Float64, count: int) -> Float64:
    """Return the weights of the terms, [count, terms]."""
    numbers, times, truth = torch.from_numpy(group), torch.from_numpy(known), torch.from_numpy(right)
    standard = torch.from_numpy(scores)
    heavy = torch.from_numpy(weight / weight.mean())[:, None] * (standard > _NOWHERE)
    begin = torch.tensor(_START, dtype=torch.float64)
    common, own = begin.clone().requires_grad_(), torch.zeros(count, len(_TERMS), dtype=torch.float64, requires_grad=True)

    def loss() -> Tensor:
        logits = _logits((common + own)[numbers], standard, times)
        cost = (heavy * torch.nn.functional.softplus(torch.where(truth, -logits, logits))).sum()
        return cost + _OWN * own.square().sum() + _ALL * (common - begin).square().sum()

    minimize(loss, [common, own], _STEPS)
    found: Float64 = (common + own).detach().numpy()
    return found


def _logits(weights: Tensor, scores: Tensor, known: Tensor) -> Tensor:
    """Return the log-odds of rivals as answers, [n, RIVALS], for weights[n, terms] and standard scores[n, RIVALS].

    None competes with itself. The log-odds grow with the score of an answer, whatever the weights are.
    """
    temperature, contrast, level, offset, unanswered, answers = weights.unbind(1)
    heat = torch.exp(temperature)[:, None]
    against = (heat * scores - torch.logsumexp(heat * scores, 1)[:, None]).clamp_max(_APART)
    others = torch.log(-torch.expm1(against.clamp_max(-_NEXT_TO_ONE)))  # the logarithm of their share
    apart = against - others
    linear = offset + torch.where(known == 0, unanswered, answers * torch.log1p(known.double()))
    return torch.exp(contrast)[:, None] * apart + torch.nn.functional.softplus(level)[:, None] * scores + linear[:, None]


def _logits_at(weights: Float64, scores: Float64, rivals: Float64, among: Bool, known: Int64) -> Float64:
    """Return what `_logits` does, for the weights[terms] of one position and any answers, [n, m].

    Without a gradient it takes a third of the time. An answer that is among its rivals does not compete with itself.
    """
    temperature, contrast, level, offset, unanswered, answers = weights.tolist()
    heat = math.exp(temperature)
    warm = heat * rivals
    highest = warm.max(1, keepdims=True)
    total = highest + np.log(np.exp(warm - highest).sum(1, keepdims=True))
    against = np.minimum(heat * scores - total, _APART)
    others = np.log(-np.expm1(np.minimum(against, -_NEXT_TO_ONE)))
    apart = against - np.where(among, others, 0.0)
    linear = offset + np.where(known == 0, unanswered, answers * np.log1p(known))
    return np.asarray(math.exp(contrast) * apart + float(np.logaddexp(0.0, level)) * scores + linear[:, None])


def _answered(rivals: Rivals, shaped: Float64) -> Bool:
    """Return which questions have known answers, so that it can stand beside what is shaped as answers are."""
    return (rivals.known > 0).reshape(-1, *[1] * (shaped.ndim - 1))


def _wide(one: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array with a row for each question, which may have but one answer."""
    return one[:, None] if one.ndim == 1 else one


def _finite(scores: Float64) -> Float64:
    return np.where(np.isfinite(scores), scores, _NOWHERE)
