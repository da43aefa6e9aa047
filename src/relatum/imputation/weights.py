"""Weights of features by maximum likelihood: the right candidate of each cell is to stand out among all of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from relatum.arrays import Bool, Float64, Int64
from relatum.fitting import newton, sigmoid

_STEPS = 25
_CLOSE = 1e-5
_EDGE = 1e-6  # probabilities are taken to be as far from 0 and 1
_CURVE_PULL = (10.0, 10.0)  # how strongly the slope and the offset of a curve are drawn to where they begin


def probabilities(logits: Float64, is_open: Bool) -> Float64:
    """Return the softmax of logits[m, c] over the candidates that are open."""
    logits = np.where(is_open, logits, -np.inf)
    logits = logits - logits.max(1, keepdims=True)
    powers = np.exp(logits)
    return np.asarray(powers / powers.sum(1, keepdims=True))


def fit_weights(
    features: Float64,
    is_open: Bool,
    right: Int64,
    centre: Float64,
    pull: Float64,
    least: Float64,
    start: Float64 | None = None,
    times: Float64 | None = None,
) -> Float64:
    """Return the weights, float64[k], that make the right candidates likeliest, by Newton's method.

    Features, float64[m, c, k], are 0 where a candidate is not open; `right` has the index of the right one. Weights are
    drawn to `centre`, as strongly as `pull` says, and none is below its least. Each cell stands for as many as `times` says.
    """
    rows, _, count = features.shape
    often = np.ones(rows) if times is None else times
    flat = features.reshape(-1, count)
    chosen = often @ features[np.arange(rows), right]

    def cost(at: Float64) -> tuple[float, Callable[[], tuple[Float64, Float64]]]:
        shares = probabilities((flat @ at).reshape(is_open.shape), is_open)
        value = -(often @ np.log(np.maximum(shares[np.arange(rows), right], 1e-300)))

        def derivatives() -> tuple[Float64, Float64]:
            means = np.einsum("mc,mck->mk", shares, features)
            scaled = np.sqrt(shares * often[:, None]).reshape(-1, 1) * flat
            curvature = scaled.T @ scaled - means.T @ (often[:, None] * means) + np.diag(pull)
            return often @ means - chosen + pull * (at - centre), curvature

        return float(value + 0.5 * (pull * (at - centre) ** 2).sum()), derivatives

    begin = centre if start is None else start
    return newton(cost, begin, steps=_STEPS, close=_CLOSE * max(1.0, rows * 1e-2), least=least)


def gain_of(feature: Float64, shares: Float64, right: Int64, pull: float) -> float:
    """Return about how much likelier the right candidates become by a feature, [m, c], beside those that gave shares."""
    means = (shares * feature).sum(1)
    gradient = float((feature[np.arange(len(right)), right] - means).sum())
    curve = float((shares * feature**2).sum() - (means**2).sum()) + pull
    return gradient**2 / (2 * curve) if gradient > 0 else 0.0


def best_of(shares: Float64, right: Int64) -> tuple[Float64, Bool]:
    """Return the share of the best candidate of each cell, and whether it is right.

    Of shares[m, c + 1] the last are those of all other values, which are never the best candidate.
    """
    if shares.shape[1] < 2:
        return np.zeros(len(shares)), np.zeros(len(shares), np.bool_)
    best = shares[:, :-1].argmax(1)
    return np.asarray(shares[np.arange(len(shares)), best]), np.asarray(best == right)


def fit_curve(
    best: Float64, hit: Bool, start: tuple[float, float] = (1.0, 0.0), times: Float64 | None = None
) -> tuple[float, float]:
    """Return slope and offset, in logits, that turn the shares of best candidates into how often these are right."""
    if not len(best):
        return start
    features = np.zeros((len(best), 2, 2))
    features[:, 0, 0], features[:, 0, 1] = _logits(best), 1.0
    centre, least, is_open = np.array(start), np.array([0.3, -np.inf]), np.ones((len(best), 2), np.bool_)
    found = fit_weights(features, is_open, (~hit).astype(np.int64), centre, np.array(_CURVE_PULL), least, None, times)
    return round(float(found[0]), 6), round(float(found[1]), 6)


def calibrated(shares: Float64, curve: tuple[float, float]) -> Float64:
    """Return shares[m, c + 1] with those of the best by a curve and the others in proportion; the best stay best.

    Where the best would fall behind another in that way, all candidates lose the same part of their shares to the values
    that are none of them; where there are no others, all come nearer to equal shares instead.
    """
    if curve == (1.0, 0.0) or shares.shape[1] < 2:
        return shares
    every, best = np.arange(len(shares)), shares[:, :-1].argmax(1)
    share = shares[every, best]
    wanted = sigmoid(curve[0] * _logits(share) + curve[1])
    others = shares.copy()
    others[every, best] = 0.0
    left, second = others.sum(1), others[:, :-1].max(1)
    wanted = np.where((share > 0) & (left > 0), wanted, share)
    found = others * ((1 - wanted) / np.where(left > 0, left, 1.0))[:, None]
    found[every, best] = wanted
    behind = wanted * left < (1 - wanted) * second
    equal = (shares > 0) / (shares > 0).sum(1, keepdims=True)
    room = np.maximum(share - equal[every, best], _EDGE)
    part = np.clip((share - wanted) / room, 0.0, 1 - _EDGE)[:, None]
    found = np.where(behind[:, None], (1 - part) * shares + part * equal, found)
    less = shares * (wanted / np.where(share > 0, share, 1.0))[:, None]
    less[:, -1] = 1 - less[:, :-1].sum(1)
    found = np.where((behind & (shares[:, -1] > 0) & (wanted <= share))[:, None], less, found)
    return np.asarray(found / found.sum(1, keepdims=True))


def _logits(shares: Float64) -> Float64:
    inside = np.clip(shares, _EDGE, 1 - _EDGE)
    return np.asarray(np.log(inside) - np.log1p(-inside))
