"""How often a value of a column comes with a value of a context, with what a row itself adds taken off exactly."""

from __future__ import annotations

import numpy as np

from relatum.arrays import Float64, Int64

_REACH = 4  # neighbours on each side that share
_DENSE = 4_000_000  # cells of a table of counts that is kept whole


class Counts:
    """n(x, v) and n(x) for codes x of a context, 0 to `size` - 1, and values v of a column, 0 to `width` - 1.

    Attributes:
        totals: float64[size], n(x).
    """

    def __init__(self, x: Int64, v: Int64, size: int, width: int) -> None:
        """Count pairs of x[n, k] and v[n]; -1 is none."""
        self.size, self.width = size, width
        there = (x >= 0) & (v >= 0)[:, None]
        pairs = (x * width + v[:, None])[there]
        self._dense: Float64 | None = None
        if size * width <= _DENSE:
            self._dense = np.bincount(pairs, minlength=size * width).astype(np.float64)
            self._keys = np.flatnonzero(self._dense)
            self._counts: Float64 = self._dense[self._keys]
        else:
            self._keys, often = np.unique(pairs, return_counts=True)
            self._counts = np.asarray(often, np.float64)
        self.totals: Float64 = np.asarray(np.bincount(self._keys // max(width, 1), self._counts, size), np.float64)
        self._spread: Float64 | None = None
        self._most: tuple[Int64, Int64, Float64] | None = None

    def smooth(self, order: Int64, share: float) -> None:
        """Let x beside each other in `order`, int64[size], share what they have: `share` of it with the next, and so on."""
        if self._dense is not None:
            kernel = _kernel(self.size, share)
            table = self._dense.reshape(self.size, self.width)
            table[order] = kernel @ table[order]
            self.totals = table.sum(1)

    def spread(self, order: Int64, share: float) -> None:
        """Let each value pass `share` of what it has to the next ones in `order`, int64[width], and so on; totals stay."""
        if self._dense is not None:
            kernel = _kernel(self.width, share)
            kernel /= kernel.sum(1, keepdims=True)
            self._spread = np.empty_like(kernel)
            self._spread[np.ix_(order, order)] = kernel
            self._dense = (self._dense.reshape(self.size, self.width) @ self._spread).reshape(-1)

    def own(self, own: Int64, v: Int64) -> Float64:
        """Return what a row that holds `own` adds to n(x, v), elementwise, for its own x; nothing if either is -1."""
        if self._spread is None:
            return np.asarray((own == v) & (own >= 0), np.float64)
        return np.where((own >= 0) & (v >= 0), self._spread[own, v], 0.0)

    def of(self, x: Int64, v: Int64) -> Float64:
        """Return n(x, v), elementwise; nothing for -1."""
        there = (x >= 0) & (v >= 0)
        keys = np.where(there, x * self.width + v, 0)
        if self._dense is not None:
            return np.where(there, self._dense[keys] if self._dense.size else 0.0, 0.0)
        where = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(there & (self._keys[where] == keys), self._counts[where], 0.0)

    def total(self, x: Int64) -> Float64:
        """Return n(x); nothing for -1."""
        return np.append(self.totals, 0.0)[x]

    def most(self, x: Int64, k: int) -> tuple[Int64, Float64]:
        """Return the values that come most often with each x, and how often, [..., k]; -1 where there are fewer."""
        if self._most is None:
            owner = self._keys // self.width
            order = np.lexsort((self._keys, -self._counts, owner))
            self._most = (
                np.searchsorted(owner, np.arange(self.size + 1)),
                (self._keys % self.width)[order],
                self._counts[order],
            )
        starts, values, counts = self._most
        begin, end = np.append(starts[:-1], 0)[x], np.append(starts[1:], 0)[x]
        at = begin[..., None] + np.arange(k)
        inside = at < end[..., None]
        at = np.where(inside, at, 0)
        if not len(values):
            return np.full(at.shape, -1, np.int64), np.zeros(at.shape)
        return np.where(inside, values[at], -1), np.where(inside, counts[at], 0.0)


def _kernel(size: int, share: float) -> Float64:
    distance = np.abs(np.arange(size)[:, None] - np.arange(size))
    return np.where(distance <= _REACH, share**distance, 0.0)
