"""Weighted relus of minima of sums, by which HINGE and NeuInfer score, and the gradients of these."""

from __future__ import annotations

import numpy as np

from relatum.arrays import Bool, Float32
from relatum.kernels import parallel
from relatum.kernels.jit import TILE, exact, reordered

MIN_TILES = 4  # in a part of a job at least

_ZERO = np.float32(0)


@exact
def pack_tiles(candidates, first, last, tiles):  # type: ignore[no-untyped-def]
    """Fill tiles first..last from candidates[C, features]; lanes beyond the last candidate hold 0."""
    for t in range(first, last):
        columns = candidates[t * TILE : (t + 1) * TILE].T
        for j in range(len(columns)):
            column, out = columns[j], tiles[t, j]
            for e in range(len(column)):
                out[e] = column[e]
            for e in range(len(column), TILE):
                out[e] = _ZERO


def in_tiles(candidates: Float32) -> Float32:
    """Return candidates, [C, features], in tiles, [tiles, features, TILE]."""
    tiles = np.empty((-(-len(candidates) // TILE), candidates.shape[1], TILE), np.float32)
    ranges = parallel.cuts(len(tiles), MIN_TILES)
    parallel.run(lambda n: pack_tiles(candidates, *ranges[n], tiles), len(ranges))
    return tiles


@exact
def forward_tiles(tiles, queries, weights, count, first, last, sums):  # type: ignore[no-untyped-def]
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
def backward_tiles(  # type: ignore[no-untyped-def]
    tiles, queries, weights, count, upstream, first, last, of_queries, of_tiles, of_weights
):
    """Add what tiles first..last give to of_queries[Q, 2 H] and of_weights[H]; set of_tiles, of the shape of tiles."""
    width = len(weights)
    shift = tiles.shape[1] - width
    weight = np.empty((len(queries), TILE), np.float32)
    none = np.zeros(TILE, np.float32)
    unused = np.empty(TILE, np.float32)
    for t in range(first, last):
        start = t * TILE
        lanes = min(count - start, TILE)
        for q in range(len(queries)):
            for e in range(lanes):
                weight[q, e] = upstream[q, start + e]
            for e in range(lanes, TILE):
                weight[q, e] = _ZERO
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


def pack(candidates: Float32) -> Float32:
    """Return the candidates, [C, H] or [C, 2 H], in tiles, [tiles, ..., TILE]; a relu would hide what is not finite."""
    _require(np.isfinite(candidates))
    return in_tiles(candidates)


def forward(queries: Float32, tiles: Float32, count: int, weights: Float32) -> Float32:
    """Return w . relu(min(m + j, a + k)), [Q, C], for queries [m; a], [Q, 2 H], and `count` packed candidates [j; k].

    Candidates without a first half have j = 0. In m, infinity stands for no limit.
    """
    first, second = np.split(queries, 2, axis=1)
    _require(first > -np.inf)
    _require(np.isfinite(second))
    sums = np.empty((len(queries), count), np.float32)
    ranges = parallel.cuts(len(tiles), MIN_TILES)
    parallel.run(lambda n: forward_tiles(tiles, queries, weights, count, *ranges[n], sums), len(ranges))
    return sums


def backward(
    queries: Float32, tiles: Float32, count: int, weights: Float32, upstream: Float32
) -> tuple[Float32, Float32, Float32]:
    """Return the gradients with respect to queries, candidates and weights, given that of the sums, [Q, C].

    Where both sums are equal, the first has the gradient; a relu has none at 0.
    """
    ranges = parallel.cuts(len(tiles), MIN_TILES)
    of_queries = np.zeros((len(ranges), *queries.shape), np.float32)
    of_weights = np.zeros((len(ranges), len(weights)), np.float32)
    of_tiles = np.empty_like(tiles)
    side = (tiles, queries, weights, count, upstream)
    parallel.run(lambda n: backward_tiles(*side, *ranges[n], of_queries[n], of_tiles, of_weights[n]), len(ranges))
    rows = of_tiles.transpose(0, 2, 1).reshape(len(tiles) * TILE, tiles.shape[1])
    return of_queries.sum(0), np.ascontiguousarray(rows[:count]), of_weights.sum(0)


def _require(fine: Bool) -> None:
    if not fine.all():
        raise FloatingPointError("a side holds a number that is not finite")
