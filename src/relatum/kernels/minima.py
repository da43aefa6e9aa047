"""Scores of NaLP, HINGE and NeuInfer, and their gradients: weighted relus of minima, and the log-odds of a mean.

The log-odds of a weighted mean of two probabilities are those of NeuInfer. Let h be the higher and l the lower of the two
log-odds that are given, and u and v their weights. The odds of the mean are exp(min(h, 0) + max(l, 0)) A / B, where A and B
are sums of u, v, 1 and products of these with exp(-|h|), exp(-|l|) and exp(l - h). Both are at least as large as the smaller
weight and below 3: nothing overflows, and nothing cancels.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from relatum.arrays import Bool, Float32
from relatum.kernels import parallel
from relatum.kernels.jit import TILE, exact, exponentials, lanes_of, reordered

# From the gradient of scores, [Q, C], to those of what they were made of.
Gradients = Callable[[Float32], tuple[Float32, ...]]

_TILES, _ODDS_TILES = 4, 64  # in a part of a job at least
_ZERO, _ONE, _LEAST = np.float32(0), np.float32(1), np.float32(-87)


def minima_of_pairs(queries: Float32, candidates: Float32, bias: Float32, weights: Float32) -> tuple[Float32, Gradients]:
    """Return v . relu(min(p, p') + min(q, q') + b), [Q, C], for sides [p; q] of [Q, 2 H] and [C, 2 H], and its gradients.

    A NaN is an error, for a minimum would hide it.
    """
    _require(~np.isnan(candidates))
    _require(~np.isnan(queries))
    side = _in_tiles(candidates), queries, bias, weights, len(candidates)
    scores = np.empty((len(queries), len(candidates)), np.float32)
    ranges = parallel.cuts(len(side[0]), _TILES)
    parallel.run(lambda n: _pair_scores(*side, *ranges[n], scores), len(ranges))

    def gradients(upstream: Float32) -> tuple[Float32, ...]:
        of_queries = np.zeros((len(ranges), *queries.shape), np.float32)
        of_bias, of_weights = np.zeros((2, len(ranges), len(bias)), np.float32)
        of_tiles = np.empty_like(side[0])
        into = of_queries, of_bias, of_weights
        parallel.run(
            lambda n: _pair_gradients(*side, upstream, *ranges[n], of_tiles, *(each[n] for each in into)), len(ranges)
        )
        return of_queries.sum(0), _out_of_tiles(of_tiles, len(candidates)), of_bias.sum(0), of_weights.sum(0)

    return scores, gradients


def minima_of_sums(queries: Float32, candidates: Float32, weights: Float32) -> tuple[Float32, Gradients]:
    """Return w . relu(min(m + j, a + k)), [Q, C], for queries [m; a], [Q, 2 H], and candidates [j; k], and its gradients.

    Candidates without a first half, [C, H], have j = 0. In m, infinity stands for no limit; any other number that is not
    finite is an error, for a relu would hide it. Of two equal sums the first has the gradient, and a relu has none at 0.
    """
    _require(np.isfinite(candidates))
    first, second = np.split(queries, 2, axis=1)
    _require(first > -np.inf)
    _require(np.isfinite(second))
    side = _in_tiles(candidates), queries, weights, len(candidates)
    sums = np.empty((len(queries), len(candidates)), np.float32)
    ranges = parallel.cuts(len(side[0]), _TILES)
    parallel.run(lambda n: _sum_scores(*side, *ranges[n], sums), len(ranges))

    def gradients(upstream: Float32) -> tuple[Float32, ...]:
        of_queries = np.zeros((len(ranges), *queries.shape), np.float32)
        of_weights = np.zeros((len(ranges), len(weights)), np.float32)
        of_tiles = np.empty_like(side[0])
        parallel.run(
            lambda n: _sum_gradients(*side, upstream, *ranges[n], of_tiles, of_queries[n], of_weights[n]), len(ranges)
        )
        return of_queries.sum(0), _out_of_tiles(of_tiles, len(candidates)), of_weights.sum(0)

    return sums, gradients


def mean_log_odds(left: Float32, right: Float32, weight: float, *, sloped: bool) -> tuple[Float32, Float32, Float32]:
    """Return the log-odds of weight * sigmoid(left) + (1 - weight) * sigmoid(right), and their slopes by left and by right.

    All have the shape of `left`; slopes that are not wanted are empty.
    """
    odds = np.empty(left.shape, np.float32)
    of_left, of_right = (np.empty(left.shape if sloped else 0, np.float32) for _ in range(2))
    flat = [values.reshape(-1) for values in (left, right, odds, of_left, of_right)]
    ranges = parallel.cuts(-(-left.size // TILE), _ODDS_TILES)
    weights = np.array([weight, 1 - weight], np.float32)
    parallel.run(lambda n: _odds(*flat[:2], weights, *ranges[n], *flat[2:]), len(ranges))
    return odds, of_left, of_right


def _require(fine: Bool) -> None:
    if not fine.all():
        raise FloatingPointError("a side holds a number that is not finite")


def _in_tiles(candidates: Float32) -> Float32:
    """Return candidates, [C, features], in tiles, [tiles, features, TILE]."""
    tiles = np.empty((-(-len(candidates) // TILE), candidates.shape[1], TILE), np.float32)
    ranges = parallel.cuts(len(tiles), _TILES)
    parallel.run(lambda n: _pack_tiles(candidates, *ranges[n], tiles), len(ranges))
    return tiles


def _out_of_tiles(tiles: Float32, count: int) -> Float32:
    """Return the first so many rows, [C, features], of tiles."""
    return np.ascontiguousarray(tiles.transpose(0, 2, 1).reshape(len(tiles) * TILE, tiles.shape[1])[:count])


@exact
def _pack_tiles(candidates, first, last, tiles):  # type: ignore[no-untyped-def]
    """Fill tiles first..last from candidates[C, features]; lanes beyond the last candidate hold 0."""
    for t in range(first, last):
        columns = candidates[t * TILE : (t + 1) * TILE].T
        for j in range(len(columns)):
            column, out = columns[j], tiles[t, j]
            for e in range(len(column)):
                out[e] = column[e]
            for e in range(len(column), TILE):
                out[e] = _ZERO


@exact
def _pair_scores(tiles, queries, bias, weights, count, first, last, scores):  # type: ignore[no-untyped-def]
    """Fill the columns of scores[Q, C] that belong to tiles first..last."""
    hidden = len(bias)
    total = np.empty(TILE, np.float32)
    for t in range(first, last):
        start = t * TILE
        stop = min(count, start + TILE)
        for q in range(len(queries)):
            for e in range(TILE):
                total[e] = _ZERO
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
def _pair_gradients(  # type: ignore[no-untyped-def]
    tiles, queries, bias, weights, count, upstream, first, last, of_tiles, of_queries, of_bias, of_weights
):
    """Add what tiles first..last give to of_queries[Q, 2 H], of_bias[H], of_weights[H]; set of_tiles[tiles, 2 H, TILE]."""
    hidden = len(bias)
    weight = np.empty((len(queries), TILE), np.float32)
    for t in range(first, last):
        lanes_of(upstream, t * TILE, min(count - t * TILE, TILE), weight)
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


@exact
def _sum_scores(tiles, queries, weights, count, first, last, sums):  # type: ignore[no-untyped-def]
    """Fill the columns of sums[Q, C] that belong to tiles first..last."""
    width = len(weights)
    shift = tiles.shape[1] - width  # 0 where candidates have one half only
    total = np.empty(TILE, np.float32)
    for t in range(first, last):
        start = t * TILE
        stop = min(count, start + TILE)
        for q in range(len(queries)):
            for e in range(TILE):
                total[e] = _ZERO
            for h in range(width):
                m, a, w = queries[q, h], queries[q, width + h], weights[h]
                right = tiles[t, shift + h]
                if shift:
                    left = tiles[t, h]
                    for e in range(TILE):
                        x, y = a + right[e], m + left[e]
                        s = x if x < y else y
                        total[e] += w * (s if s > _ZERO else _ZERO)
                else:
                    for e in range(TILE):
                        x = a + right[e]
                        s = x if x < m else m
                        total[e] += w * (s if s > _ZERO else _ZERO)
            for c in range(start, stop):
                sums[q, c] = total[c - start]


@reordered
def _sum_gradients(  # type: ignore[no-untyped-def]
    tiles, queries, weights, count, upstream, first, last, of_tiles, of_queries, of_weights
):
    """Add what tiles first..last give to of_queries[Q, 2 H] and of_weights[H]; set of_tiles, of the shape of tiles."""
    width = len(weights)
    shift = tiles.shape[1] - width
    weight = np.empty((len(queries), TILE), np.float32)
    none = np.zeros(TILE, np.float32)
    unused = np.empty(TILE, np.float32)
    for t in range(first, last):
        lanes_of(upstream, t * TILE, min(count - t * TILE, TILE), weight)
        for h in range(width):
            right, right_out = tiles[t, shift + h], of_tiles[t, shift + h]
            left, left_out = (tiles[t, h], of_tiles[t, h]) if shift else (none, unused)
            for e in range(TILE):
                left_out[e] = _ZERO
                right_out[e] = _ZERO
            w = weights[h]
            for q in range(len(queries)):
                m, a, g = queries[q, h], queries[q, width + h], weight[q]
                of_left, of_right, weight_sum = _ZERO, _ZERO, _ZERO
                for e in range(TILE):
                    x, y = a + right[e], m + left[e]
                    s = x if x < y else y
                    active = g[e] if s > _ZERO else _ZERO
                    weight_sum += active * s
                    slope = active * w
                    mine = slope if x < y else _ZERO
                    right_out[e] += mine
                    of_right += mine
                    mine = slope - mine
                    left_out[e] += mine
                    of_left += mine
                of_queries[q, h] += of_left
                of_queries[q, width + h] += of_right
                of_weights[h] += weight_sum


@exact
def _odds(left, right, weights, first, last, odds, of_left, of_right):  # type: ignore[no-untyped-def]
    """Fill odds[n] in tiles first..last, and the slopes of_left[n] and of_right[n] unless these are empty.

    `weights` are those of left and right; what is not finite gives NaN.
    """
    x, y, found = np.empty(TILE, np.float32), np.empty(TILE, np.float32), np.empty(TILE, np.float32)
    of_high, of_low, apart = np.empty(TILE, np.float32), np.empty(TILE, np.float32), np.empty(TILE, np.float32)
    bits = np.empty(TILE, np.int32)
    for t in range(first, last):
        start = t * TILE
        lanes = min(len(left) - start, TILE)
        for e in range(lanes):
            x[e], y[e] = left[start + e], right[start + e]
        for e in range(lanes, TILE):
            x[e], y[e] = _ZERO, _ZERO
        for e in range(TILE):
            high, low = (x[e], y[e]) if x[e] >= y[e] else (y[e], x[e])
            of_high[e] = max(-abs(high), _LEAST)
            of_low[e] = max(-abs(low), _LEAST)
            apart[e] = max(low - high, _LEAST)
        exponentials(of_high, bits)
        exponentials(of_low, bits)
        exponentials(apart, bits)
        for e in range(TILE):
            high, low = (x[e], y[e]) if x[e] >= y[e] else (y[e], x[e])
            u, v = (weights[0], weights[1]) if x[e] >= y[e] else (weights[1], weights[0])
            h, l, r = of_high[e], of_low[e], apart[e]  # noqa: E741
            above = _ONE + u * l + v * h if low > _ZERO else u + v * r + l
            below = _ONE + u * l + v * h if high <= _ZERO else v + u * r + h
            odds_of_mean = min(high, _ZERO) + max(low, _ZERO) + np.log(above / below)
            scale = _ONE / (above * below)
            by_high = u * scale * (_ONE + l) * (_ONE + l) * (r if low > _ZERO else h if high > _ZERO else _ONE)
            by_low = v * scale * (_ONE + h) * (_ONE + h) * (r if high <= _ZERO else l if low <= _ZERO else _ONE)
            of_high[e], of_low[e] = (by_high, by_low) if x[e] >= y[e] else (by_low, by_high)
            found[e] = odds_of_mean + (x[e] - x[e]) + (y[e] - y[e])  # what is added is 0, or NaN
        for e in range(lanes):
            odds[start + e] = found[e]
        if len(of_left):
            for e in range(lanes):
                of_left[start + e], of_right[start + e] = of_high[e], of_low[e]
