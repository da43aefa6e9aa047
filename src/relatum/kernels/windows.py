"""Weighted sums over windows of neighbouring coordinates: the candidate side of ReAlE, in one pass over the entities."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from relatum.kernels import parallel
from relatum.kernels.jit import exact

__all__ = ["window_gradients", "window_sums"]

Floats = npt.NDArray[np.float32]

_ROWS = 2048  # in a part at least


def window_sums(values: Floats, weights: Floats, window: int) -> Floats:
    """Return sum over k in window j of values[i, k] * weights[k], [n, d / window], for values [n, d] and weights [d]."""
    sums = np.empty((len(values), values.shape[1] // window), np.float32)
    ranges = parallel.cuts(len(values), _ROWS)
    parallel.run(lambda n: _sum_rows(values, weights, window, *ranges[n], sums), len(ranges))
    return sums


def window_gradients(values: Floats, weights: Floats, window: int, upstream: Floats) -> tuple[Floats, Floats]:
    """Return the gradients with respect to values and weights, given that of the sums, [n, d / window]."""
    ranges = parallel.cuts(len(values), _ROWS)
    of_values = np.empty_like(values)
    of_weights = np.zeros((len(ranges), len(weights)), np.float32)
    parallel.run(
        lambda n: _spread_rows(values, weights, window, upstream, *ranges[n], of_values, of_weights[n]), len(ranges)
    )
    return of_values, of_weights.sum(0)


@exact
def _spread_rows(values, weights, window, upstream, first, last, of_values, of_weights):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        row, out, slopes = values[i], of_values[i], upstream[i]
        if window == 2:  # written out: a stride that is known can be vectorised
            for j in range(len(slopes)):
                out[2 * j] = slopes[j] * weights[2 * j]
                out[2 * j + 1] = slopes[j] * weights[2 * j + 1]
                of_weights[2 * j] += slopes[j] * row[2 * j]
                of_weights[2 * j + 1] += slopes[j] * row[2 * j + 1]
        else:
            for j in range(len(slopes)):
                for k in range(j * window, (j + 1) * window):
                    out[k] = slopes[j] * weights[k]
                    of_weights[k] += slopes[j] * row[k]


@exact
def _sum_rows(values, weights, window, first, last, sums):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        row, out = values[i], sums[i]
        if window == 1:
            for j in range(len(out)):
                out[j] = row[j] * weights[j]
        elif window == 2:
            for j in range(len(out)):
                out[j] = row[2 * j] * weights[2 * j] + row[2 * j + 1] * weights[2 * j + 1]
        else:
            for j in range(len(out)):
                total = np.float32(0)
                for k in range(j * window, (j + 1) * window):
                    total += row[k] * weights[k]
                out[j] = total
