"""Bounds on what a sum of sigmas can reach, where each of several variables takes one of its candidates.

The most that each window could get by itself is far too much: one candidate would have to be the best of all windows. A line
above sigma, on all that a window can get, turns the sum over windows into one over variables, and of such a sum every
variable takes its own best. Any slopes will do; good ones are those of sigma at what the best candidates give, which follow
from slopes in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relatum.arrays import Float64, Int64
from relatum.inference.calibration import sigmoid

__all__ = ["Reach", "reach_of", "sigma_of"]

_ROUNDS = 3  # in which slopes and choices follow from each other
_HALVINGS = 8  # until a line that touches sigma is found
_STEEPEST = 0.25  # slope of the sigmoid


@dataclass(frozen=True, eq=False)
class Reach:
    """What sums can reach.

    Attributes:
        high: bounds from above, [n].
        children: the same for each candidate of the first variable, [n, candidates].
        choice: the indices of candidates that were the best together so far, [n, variables].
        low: the sums with these, [n].
    """

    high: Float64
    children: Float64
    choice: Int64
    low: Float64


def sigma_of(sigma: str, values: Float64) -> Float64:
    """Return sigma of values, `sigmoid` or `exp`."""
    return np.exp(values) if sigma == "exp" else sigmoid(values)


def reach_of(sigma: str, given: Float64, sets: Sequence[Float64]) -> Reach:
    """Return how large the sum over windows of sigma(given + one row of each set) can be.

    Args:
        sigma: `sigmoid` or `exp`; a tanh is a sigmoid of twice as much.
        given: [n, windows].
        sets: for each variable [candidates, windows]; at least one.
    """
    least = given + sum(one.min(0) for one in sets)
    most = given + sum(one.max(0) for one in sets)
    slopes = _slopes(sigma, given + sum(one.mean(0) for one in sets), least, most)
    high = np.full(len(given), np.inf)
    children = np.full((len(given), len(sets[0])), np.inf)
    low, choice = np.full(len(given), -np.inf), np.zeros((len(given), len(sets)), np.int64)
    for number in range(_ROUNDS):
        gains = [slopes @ one.T for one in sets]
        best = np.stack([gain.argmax(1) for gain in gains], 1)
        rest = (_intercepts(sigma, slopes, least, most) + slopes * given).sum(1)
        rest = rest + sum(gain.max(1) for gain in gains[1:])
        np.fmin(children, rest[:, None] + gains[0], out=children)  # what is too large for a number bounds nothing
        np.fmin(high, children.max(1), out=high)
        inside = given + sum(one[best[:, variable]] for variable, one in enumerate(sets))
        sums = sigma_of(sigma, inside).sum(1)
        better = sums > low
        low[better], choice[better] = sums[better], best[better]
        slopes = slopes + (_slopes(sigma, inside, least, most) - slopes) / (number + 2)
    return Reach(high, children, choice, low)


def _slopes(sigma: str, at: Float64, least: Float64, most: Float64) -> Float64:
    """Return the slopes of the lowest concave curve above sigma, from `least` to `most`."""
    bottom = sigma_of(sigma, least)
    if sigma == "exp":  # the chord
        width = np.maximum(most - least, 1e-9)
        return np.asarray((sigma_of(sigma, most) - bottom) / width)
    # Where sigma bends upwards the curve is a line from the bottom that touches sigma, or ends at the top.
    left, right = np.maximum(least, 0), np.maximum(most, 0)
    for _ in range(_HALVINGS):
        middle = (left + right) / 2
        value = sigma_of(sigma, middle)
        further = value * (1 - value) * (middle - least) > value - bottom
        left, right = np.where(further, middle, left), np.where(further, right, middle)
    touching = np.maximum(at, (left + right) / 2)
    value = sigma_of(sigma, touching)
    chord = (value - bottom) / np.maximum(touching - least, 1e-9)
    flat = value * (1 - value)
    return np.where((at > right) | (least >= 0), flat, np.minimum(chord, _STEEPEST))


def _intercepts(sigma: str, slopes: Float64, least: Float64, most: Float64) -> Float64:
    """Return how high lines of given slopes must lie to be nowhere below sigma, from `least` to `most`."""
    ends = [sigma_of(sigma, end) - slopes * end for end in (least, most)]
    if sigma == "exp":
        return np.asarray(np.maximum(*ends))
    value = (1 + np.sqrt(1 - np.clip(slopes / _STEEPEST, 1e-12, 1))) / 2
    touching = np.clip(np.log(value / np.maximum(1 - value, 1e-300)), least, most)
    return np.asarray(np.maximum(np.maximum(*ends), sigma_of(sigma, touching) - slopes * touching))
