"""Weighted sums over windows of neighbouring coordinates: the candidate side of ReAlE, in one pass over the entities."""

from __future__ import annotations

import numpy as np

from relatum.arrays import Float32
from relatum.kernels import parallel
from relatum.kernels.jit import exact, fastmath_inline, reordered, strict_inline

_ROWS = 2048  # in a part at least


def window_sums(values: Float32, weights: Float32, window: int) -> Float32:
    """Return sum over k in window j of values[i, k] * weights[i // share, k], [n, d / window]: of values [n, d].

    Each row of weights, [n / share, d], weighs the next `share` rows of values. The window divides d.
    """
    sums = np.empty((len(values), values.shape[1] // window), np.float32)
    ranges = parallel.shares(len(values), _ROWS)
    share = len(values) // max(1, len(weights))
    parallel.run(lambda n: _sum_rows(values, weights, share, *ranges[n], sums), len(ranges))
    return sums


def window_gradients(values: Float32, weights: Float32, window: int, upstream: Float32) -> tuple[Float32, Float32]:
    """Return the gradients with respect to values and weights, given that of the sums, [n, d / window]."""
    share = len(values) // max(1, len(weights))
    ranges = parallel.cuts(len(values), _ROWS)
    of_values = np.zeros_like(values)
    of_weights = np.zeros((len(ranges), *weights.shape), np.float32)
    parallel.run(lambda n: _spread_rows(values, weights, share, upstream, *ranges[n], of_values, of_weights[n]), len(ranges))
    return of_values, of_weights.sum(0)


@strict_inline
def sum_row(row, weight, out):  # type: ignore[no-untyped-def]
    """Fill out[W] with the sums over windows of row * weight."""
    window = len(row) // len(out)
    if window == 1:  # written out: a stride that is known can be vectorised
        for j in range(len(out)):
            out[j] = row[j] * weight[j]
    elif window == 2:
        for j in range(len(out)):
            out[j] = row[2 * j] * weight[2 * j] + row[2 * j + 1] * weight[2 * j + 1]
    else:
        for j in range(len(out)):
            total = np.float32(0)
            for k in range(j * window, (j + 1) * window):
                total += row[k] * weight[k]
            out[j] = total


@fastmath_inline
def spread_row(slopes, row, weight, of_row, of_weight):  # type: ignore[no-untyped-def]
    """Add the gradients of the sums over windows to those of row and weight."""
    window = len(row) // len(slopes)
    if window == 1:
        for j in range(len(slopes)):
            of_row[j] += slopes[j] * weight[j]
            of_weight[j] += slopes[j] * row[j]
    elif window == 2:
        for j in range(len(slopes)):
            of_row[2 * j] += slopes[j] * weight[2 * j]
            of_row[2 * j + 1] += slopes[j] * weight[2 * j + 1]
            of_weight[2 * j] += slopes[j] * row[2 * j]
            of_weight[2 * j + 1] += slopes[j] * row[2 * j + 1]
    else:
        for j in range(len(slopes)):
            for k in range(j * window, (j + 1) * window):
                of_row[k] += slopes[j] * weight[k]
                of_weight[k] += slopes[j] * row[k]


@exact
def _sum_rows(values, weights, share, first, last, sums):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        sum_row(values[i], weights[i // share], sums[i])


@reordered
def _spread_rows(values, weights, share, upstream, first, last, of_values, of_weights):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        spread_row(upstream[i], values[i], weights[i // share], of_values[i], of_weights[i // share])
