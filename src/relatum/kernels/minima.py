"""Scores v . relu(min(p, p') + min(q, q') + b) + c of every query with every candidate, a side being [p; q] (NaLP)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from relatum.kernels import minima_loops, parallel
from relatum.kernels.jit import TILE

__all__ = ["backward", "forward", "pack"]

Floats = npt.NDArray[np.float32]

_TILES = 4  # in a part at least


def pack(candidates: Floats) -> Floats:
    """Return the candidates, [C, 2 H], in tiles, [tiles, 2 H, TILE]; a NaN is an error, for a minimum would hide it."""
    _refuse_nan(candidates)
    tiles = np.empty((-(-len(candidates) // TILE), candidates.shape[1], TILE), np.float32)
    ranges = parallel.cuts(len(tiles), _TILES)
    parallel.run(lambda n: minima_loops.pack_tiles(candidates, *ranges[n], tiles), len(ranges))
    return tiles


def forward(queries: Floats, tiles: Floats, count: int, bias: Floats, weights: Floats, offset: float) -> Floats:
    """Return the scores, [Q, C], of queries [Q, 2 H] with `count` packed candidates, for bias b, weights v and offset c."""
    _refuse_nan(queries)
    scores = np.empty((len(queries), count), np.float32)
    ranges = parallel.cuts(len(tiles), _TILES)
    side = (tiles, queries, bias, weights, np.float32(offset), count)
    parallel.run(lambda n: minima_loops.forward_tiles(*side, *ranges[n], scores), len(ranges))
    return scores


def backward(
    queries: Floats, tiles: Floats, count: int, bias: Floats, weights: Floats, upstream: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the gradients with respect to queries, candidates, bias and weights, given that of the scores, [Q, C]."""
    ranges = parallel.cuts(len(tiles), _TILES)
    of_queries = np.zeros((len(ranges), *queries.shape), np.float32)
    of_bias, of_weights = np.zeros((2, len(ranges), len(bias)), np.float32)
    of_tiles = np.empty_like(tiles)
    side = (tiles, queries, bias, weights, count, upstream)
    parallel.run(
        lambda n: minima_loops.backward_tiles(*side, *ranges[n], of_queries[n], of_tiles, of_bias[n], of_weights[n]),
        len(ranges),
    )
    rows = of_tiles.transpose(0, 2, 1).reshape(len(tiles) * TILE, queries.shape[1])
    of_candidates = np.ascontiguousarray(rows[:count])
    return of_queries.sum(0), of_candidates, of_bias.sum(0), of_weights.sum(0)


def _refuse_nan(values: Floats) -> None:
    if np.isnan(values).any():
        raise FloatingPointError("a side holds a NaN")
