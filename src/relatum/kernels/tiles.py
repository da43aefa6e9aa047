"""Candidates in tiles, side by side."""

from __future__ import annotations

import numpy as np

from relatum.arrays import Float32
from relatum.kernels import parallel
from relatum.kernels.jit import TILE, exact

__all__ = ["MIN_TILES", "in_tiles", "pack_tiles"]

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
