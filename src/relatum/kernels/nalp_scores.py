"""The scores of NaLP, a weighted relu of sums of minima, and their gradients."""

from __future__ import annotations

import numpy as np

from relatum.arrays import Float32
from relatum.kernels import parallel
from relatum.kernels.jit import TILE, exact, reordered
from relatum.kernels.qualifier_scores import MIN_TILES, in_tiles

_ZERO = np.float32(0)


@exact
def forward_tiles(tiles, queries, bias, weights, offset, count, first, last, scores):  # type: ignore[no-untyped-def]
    """Fill the columns of scores[Q, C] that belong to tiles first..last."""
    hidden = len(bias)
    total = np.empty(TILE, np.float32)
    for t in range(first, last):
        start = t * TILE
        stop = min(count, start + TILE)
        for q in range(len(queries)):
            for e in range(TILE):
                total[e] = offset
            for h in range(hidden):
                p, r, b, v = queries[q, h], queries[q, hidden + h], bias[h], weights[h]
                left, right = tiles[t, h], tiles[t, hidden + h]
                for e in range(TILE):
                    x = left[e] if left[e] < p else p
                    y = right[e] if right[e] < r else r
                    s = x + y + b
                    total[e] += v * (s if s > _ZERO else _ZERO)
            for c in range(start, stop):
                scores[q, c] = total[c - start]


@reordered
def backward_tiles(  # type: ignore[no-untyped-def]
    tiles, queries, bias, weights, count, upstream, first, last, of_queries, of_tiles, of_bias, of_weights
):
    """Add what tiles first..last give to of_queries[Q, 2 H], of_bias[H], of_weights[H]; set of_tiles[tiles, 2 H, TILE]."""
    hidden = len(bias)
    weight = np.empty((len(queries), TILE), np.float32)
    for t in range(first, last):
        start = t * TILE
        width = min(count - start, TILE)
        for q in range(len(queries)):
            for e in range(width):
                weight[q, e] = upstream[q, start + e]
            for e in range(width, TILE):
                weight[q, e] = _ZERO
        for h in range(hidden):
            left, right = tiles[t, h], tiles[t, hidden + h]
            left_out, right_out = of_tiles[t, h], of_tiles[t, hidden + h]
            for e in range(TILE):
                left_out[e] = _ZERO
                right_out[e] = _ZERO
            b, v = bias[h], weights[h]
            for q in range(len(queries)):
                p, r, g = queries[q, h], queries[q, hidden + h], weight[q]
                of_left, of_right, bias_sum, weight_sum = _ZERO, _ZERO, _ZERO, _ZERO
                for e in range(TILE):
                    x = left[e] if left[e] < p else p
                    y = right[e] if right[e] < r else r
                    s = x + y + b
                    active = g[e] if s > _ZERO else _ZERO
                    slope = active * v
                    weight_sum += active * s
                    bias_sum += slope
                    mine = slope if left[e] < p else _ZERO
                    left_out[e] += mine
                    of_left += slope - mine
                    mine = slope if right[e] < r else _ZERO
                    right_out[e] += mine
                    of_right += slope - mine
                of_queries[q, h] += of_left
                of_queries[q, hidden + h] += of_right
                of_bias[h] += bias_sum
                of_weights[h] += weight_sum


def pack(candidates: Float32) -> Float32:
    """Return the candidates, [C, 2 H], in tiles, [tiles, 2 H, TILE]; a NaN is an error, for a minimum would hide it."""
    _refuse_nan(candidates)
    return in_tiles(candidates)


def forward(queries: Float32, tiles: Float32, count: int, bias: Float32, weights: Float32, offset: float) -> Float32:
    """Return the scores, [Q, C], of queries [Q, 2 H] with `count` packed candidates, for bias b, weights v and offset c."""
    _refuse_nan(queries)
    scores = np.empty((len(queries), count), np.float32)
    ranges = parallel.cuts(len(tiles), MIN_TILES)
    side = (tiles, queries, bias, weights, np.float32(offset), count)
    parallel.run(lambda n: forward_tiles(*side, *ranges[n], scores), len(ranges))
    return scores


def backward(
    queries: Float32, tiles: Float32, count: int, bias: Float32, weights: Float32, upstream: Float32
) -> tuple[Float32, Float32, Float32, Float32]:
    """Return the gradients with respect to queries, candidates, bias and weights, given that of the scores, [Q, C]."""
    ranges = parallel.cuts(len(tiles), MIN_TILES)
    of_queries = np.zeros((len(ranges), *queries.shape), np.float32)
    of_bias, of_weights = np.zeros((2, len(ranges), len(bias)), np.float32)
    of_tiles = np.empty_like(tiles)
    side = (tiles, queries, bias, weights, count, upstream)
    parallel.run(
        lambda n: backward_tiles(*side, *ranges[n], of_queries[n], of_tiles, of_bias[n], of_weights[n]),
        len(ranges),
    )
    rows = of_tiles.transpose(0, 2, 1).reshape(len(tiles) * TILE, queries.shape[1])
    of_candidates = np.ascontiguousarray(rows[:count])
    return of_queries.sum(0), of_candidates, of_bias.sum(0), of_weights.sum(0)


def _refuse_nan(values: Float32) -> None:
    if np.isnan(values).any():
        raise FloatingPointError("a side holds a NaN")
