"""How likely a value is at a position, by counting: a mixture of what each rule finds.

A rule that finds twelve facts, nine of which name a value, gives it a share of 9 / 12. The mixture takes the shares of all
rules of the position, each weighed by how well it foretells what facts have, and beside them how frequent the value is, that
it may be a new one, and that it stands there by accident, which gives any value of the column the same share. The weights
are found by expectation maximisation on facts whose own word is left out, so they need no validation facts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from relatum.arrays import Float64, Int64

_SIZES = 5  # that a rule has weights for: it finds 1 fact, 2 or 3, 4 to 7, 8 to 15, or more
_ACCIDENTS = 0.01  # facts by accident, among those that a rule finds
_ROUNDS = 40
_DRAWN = 1.0  # facts that the weight of a rule as a whole counts for, beside those of one size
_TINY = 1e-3


@dataclass(frozen=True, eq=False)
class Mixture:
    """What rules make of the values at one position together.

    Attributes:
        values: how many different values the column has.
        new: how many facts have a value there that no other one has.
        weights: of each rule by how many facts it finds, [rules, sizes]; behind the rules those of the frequency, of any
            value, and of new values.
    """

    values: int
    new: int
    weights: Float64

    @classmethod
    def fitted(cls, own: Int64, total: Int64, values: int, new: int) -> Self:
        """Return the mixture that makes what facts have most likely.

        Args:
            own: how many facts name what each fact has, [rules + 1, n], itself left out; the last row is by frequency.
            total: how many facts name anything that is no known answer, likewise.
            values: how many different values the column has.
            new: how many of all facts have a value that no other one has.
        """
        begun = cls(values, new, np.ones((len(own) + 2, _SIZES)))
        shares, size, there = begun._shares(own, total)
        cells = (np.arange(len(shares))[:, None] * _SIZES + size)[there]
        weights = begun.weights
        for _ in range(_ROUNDS):
            prior = _normalised(weights, size, there)
            posterior = prior * shares
            posterior /= posterior.sum(0)
            gained, expected = (
                np.bincount(cells, each[there], minlength=weights.size).reshape(weights.shape) for each in (posterior, prior)
            )
            whole = (gained.sum(1, keepdims=True) + 10 * _TINY) / (expected.sum(1, keepdims=True) + 10 * _TINY)
            weights = weights * (gained + _DRAWN * whole + _TINY) / (expected + _DRAWN + _TINY)
        return cls(values, new, weights)

    def likelihood(self, own: Int64, total: Int64) -> Float64:
        """Return how likely what each fact has is, [n], by the same counts as `fitted` takes."""
        shares, size, there = self._shares(own, total)
        found: Float64 = (_normalised(self.weights, size, there) * shares).sum(0)
        return found

    def rule_weights(self, total: Int64) -> Float64:
        """Return how much each rule weighs where they find so many facts, [rules], the frequency left out."""
        _, size, there = self._shares(np.zeros((len(total), 1), np.int64), total[:, None])
        found: Float64 = _normalised(self.weights, size, there)[: len(total) - 1, 0]
        return found

    def _shares(self, own: Int64, total: Int64) -> tuple[Float64, Int64, np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
        """Return the share that each part of the mixture gives a value, its size, and whether it says anything."""
        any_value = np.full(own.shape[1], 1 / self.values)
        unseen = (own[-1] == 0) / max(1, self.new)
        by_rules = (own + _ACCIDENTS / self.values) / (total + _ACCIDENTS)
        shares = np.concatenate([by_rules, any_value[None], unseen[None]])
        sizes = np.concatenate([total, np.ones((2, own.shape[1]), np.int64)])
        size = np.minimum(np.log2(np.maximum(sizes, 1)).astype(np.int64), _SIZES - 1)
        return shares, size, sizes > 0


def _normalised(weights: Float64, size: Int64, there: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Float64:
    """Return the weights of the parts that say something about a fact, which are 1 together."""
    found: Float64 = np.take_along_axis(weights, size, axis=1) * there
    found /= found.sum(0)
    return found
