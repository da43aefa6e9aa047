"""The best candidates of single queries, from a candidate side that was packed once, in a quarter of the memory.

Packing the exponentials of all candidates takes many times longer than meeting one query, and reading them, four bytes a
window, longer than computing with them. Here they are packed once, in one byte each: the range of a window is cut into 255
steps, even in the bits of a float32, nearly even in its logarithm. Sums over these are a little off, but by no more
than is known: whatever may be among the best is then summed again exactly, by the kernel of `windowed_sigmoid`, so that what
comes out has its very bits.

Half a step of s bits changes an exponential by s / 2^24 of itself at most, and a sigmoid by that times its slope. Most
windows of a query lie where the slope is far below its largest, a quarter, for every candidate there is: so the bound is the
query's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from relatum.arrays import Float32, Int32, Int64
from relatum.kernels import parallel, windowed_sigmoid
from relatum.kernels.filters import Bonus, Excluded, no_bonus
from relatum.kernels.jit import TILE, exact
from relatum.kernels.windowed_sigmoid import Plan
from relatum.kernels.windowed_sigmoid_loops import pack_tile

Bytes = npt.NDArray[np.uint8]

_CODES = 255
_SLACK = 64  # bits that the exponential here may be off from that of numpy, several times over
_TILES = 16  # in a part at least
_F = np.float32
_ZERO, _HALF, _ONE = _F(0), _F(0.5), _F(1)


@dataclass(frozen=True, eq=False, slots=True)
class CompactSide:
    """A candidate side that is packed for queries that come one at a time."""

    plan: Plan  # how the exact kernel computes these candidates
    tiles: Bytes  # codes of their exponentials, uint8[tiles, windows, TILE], windows in the order of the plan
    lowest: Int32  # the bits of the exponential that has code 0, int32[windows]
    steps: Int32  # how many bits the next code is above it, int32[windows]
    size: int  # how many candidates there are

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        return self.tiles.nbytes

    def error(self, query: Float32) -> float:
        """Return by how much the sum of a query, as `Plan.query_side` gives it, and any candidate can be off at most."""
        relative = self.steps * 2.0**-24 * 1.001  # a code is found in float32, and may be the second nearest
        nearest = np.maximum(np.abs(np.log(query.astype(np.float64))) - self.plan.half - relative, 0.0)
        below = np.exp(-nearest)
        slopes = below / (1 + below) ** 2  # of the sigmoid, where it is steepest for this query
        # The last term is for the float32 in which both kernels add up terms within one half, windows / 4 times.
        return float((relative * slopes).sum()) + (len(query) + 8) ** 2 * 2.0**-24


def compact(candidates: Float32) -> CompactSide | None:
    """Return candidates [C, W] packed, for sigmoids; None where a window has a range that is too wide for that."""
    plan, (size, windows) = windowed_sigmoid.plan(candidates), candidates.shape
    if not size or not windows or plan.half.max() > windowed_sigmoid.PAIRED:
        return None
    rounding = 4 * np.spacing(np.abs(plan.centre) + plan.half)  # of a value less the centre: it may leave the range by that
    slack = (_SLACK + np.ceil(2.0**23 * rounding)).astype(np.int32)
    lowest, highest = (np.exp(sign * plan.half).view(np.int32) + sign * slack for sign in (-1, 1))
    steps = -(-(highest - lowest) // _CODES)
    tiles = np.empty((-(-size // TILE), windows, TILE), np.uint8)
    ranges = parallel.shares(len(tiles), _TILES)
    limits = plan.arrays, lowest, (1 / steps).astype(np.float32)
    parallel.run(lambda n: _pack(candidates, *limits, *ranges[n], tiles), len(ranges))
    return CompactSide(plan, tiles, lowest, steps, size)


def top(
    side: CompactSide, rows: Callable[[Int64], Float32], queries: Float32, k: int, excluded: Excluded, bonus: Bonus | None
) -> tuple[Int64, Float32]:
    """Return what `windowed_sigmoid.top` does, to the bit; `rows` returns the exact sides of some candidates, [n, W]."""
    ids, sums = np.full((len(queries), k), -1, np.int64), np.full((len(queries), k), -np.inf, np.float32)
    more, packed = no_bonus(len(queries)) if bonus is None else bonus, side.plan.query_side(queries)
    totals = np.empty(len(side.tiles) * TILE, np.float32)
    ranges = parallel.shares(len(side.tiles), _TILES)
    for q in range(len(queries)):
        query = packed[q]
        start = side.tiles, side.lowest, side.steps, query
        parallel.run(lambda n, start=start: _sum_tiles(*start, *ranges[n], totals), len(ranges))  # type: ignore[misc]
        whole = totals[: side.size]
        named = slice(more.starts[q], more.starts[q] + more.counts[q])
        out = excluded.pool[excluded.starts[q] : excluded.starts[q] + excluded.counts[q]]
        whole[more.pool[named]] += more.values[named]
        whole[out] = -np.inf
        chosen = _within(whole, k, 2 * side.error(query))
        if not len(chosen):
            continue
        exact_sums = windowed_sigmoid.forward(side.plan, queries[q : q + 1], rows(chosen))[0]
        _add_bonus(exact_sums, chosen, more.pool[named], more.values[named])
        order = np.argsort(-exact_sums, kind="stable")[:k]
        ids[q, : len(order)], sums[q, : len(order)] = chosen[order], exact_sums[order]
    return ids, sums


def _within(totals: Float32, k: int, margin: float) -> Int64:
    """Return which totals, ascending by index, may be among the k best, if each is off by half of a margin at most."""
    bar = _worst_of_best(totals, np.full(min(k, len(totals)), -np.inf, np.float32)) if k < len(totals) else -np.inf
    # A bonus can be large beside a sum, and then a float32 of both is rounded more.
    slack = margin + 4 * float(np.spacing(np.float32(np.abs(bar)))) if np.isfinite(bar) else 0.0
    return np.flatnonzero((totals >= bar - slack) & (totals > -np.inf))


def _add_bonus(sums: Float32, chosen: Int64, pool: Int32, values: Float32) -> None:
    """Add what some candidates, ascending, score more to the sums of those that were chosen, ascending too."""
    if len(pool):
        where = np.minimum(np.searchsorted(pool, chosen), len(pool) - 1)
        sums += np.where(pool[where] == chosen, values[where], _ZERO)


@exact
def _worst_of_best(totals, best):  # type: ignore[no-untyped-def]
    """Return the last of the best totals, as many as `best` has room for."""
    last = len(best) - 1
    for index in range(len(totals)):
        if totals[index] > best[last]:
            slot = last
            while slot > 0 and totals[index] > best[slot - 1]:
                best[slot] = best[slot - 1]
                slot -= 1
            best[slot] = totals[index]
    return best[last]


@exact
def _pack(candidates, plan, lowest, rates, first, last, tiles):  # type: ignore[no-untyped-def]
    """Fill tiles first..last."""
    tile = np.empty((len(lowest), TILE), np.float32)
    raw = tile.view(np.int32)
    for t in range(first, last):
        pack_tile(candidates, t * TILE, plan, tile)
        for j in range(len(lowest)):
            out, low, rate = tiles[t, j], lowest[j], rates[j]
            for e in range(TILE):
                out[e] = np.uint8(np.int32(np.float32(raw[j, e] - low) * rate + _HALF))


@exact
def _sum_tiles(tiles, lowest, steps, query, first, last, totals):  # type: ignore[no-untyped-def]
    """Fill totals of tiles first..last with the sums of sigmoid - 1/2 of one query, each a little off."""
    windows = len(query)
    fours = windows // 4 * 4
    bits, total = np.empty((4, TILE), np.int32), np.empty(TILE, np.float32)
    value = bits.view(np.float32)
    for t in range(first, last):
        for e in range(TILE):
            total[e] = _ZERO
        for j in range(0, fours, 4):
            a, b, c, d = query[j], query[j + 1], query[j + 2], query[j + 3]
            for i in range(4):
                row, low, step = tiles[t, j + i], lowest[j + i], steps[j + i]
                for e in range(TILE):
                    bits[i, e] = np.int32(row[e]) * step + low
            for e in range(TILE):
                u = a * value[0, e]
                v = b * value[1, e]
                uv = u * v
                x = c * value[2, e]
                y = d * value[3, e]
                xy = x * y
                total[e] += (_ONE - uv) / (_ONE + (u + v) + uv) + (_ONE - xy) / (_ONE + (x + y) + xy)
        for j in range(fours, windows):
            row, low, step = tiles[t, j], lowest[j], steps[j]
            for e in range(TILE):
                bits[0, e] = np.int32(row[e]) * step + low
            for e in range(TILE):
                total[e] += _ONE / (_ONE + query[j] * value[0, e]) - _HALF
        for e in range(TILE):
            totals[t * TILE + e] = total[e]
