"""The loops behind `windowed_sigmoid.py`, which cuts the work into parts and checks the arguments; nothing here does.

The sum over windows of sigmoid(a + k) is taken in the form 1 / (1 + u), where u = exp(-a) exp(-k) is the product of two
numbers that were computed once per query and once per candidate. Two windows share one division:
1 / (1 + u) + 1 / (1 + v) = 1 + (1 - u v) / (1 + u + v + u v). `windowed_sigmoid.py` says for which windows that is safe.

Candidates are taken in tiles of `TILE`, tile[window, lane], packed by the thread that needs them and then met by all
queries. A tile is always computed whole and lane by lane in the same way, so equal candidates score equal bits wherever
they stand: ties are decided on exact equality.

All functions take the candidates, [C, W], and the plan: what both sides are multiplied with, the order and the centre of the
windows, how many of them are paired and single, and what is added to a sum. `lists` and `bonus` have the arrays of an
`Excluded` and of a `Bonus`.
"""

from __future__ import annotations

import numpy as np

from relatum.kernels.jit import TILE, exact, exponentials, lanes_of, reordered, strict_inline
from relatum.kernels.ranking import first_at_least, insert

_F = np.float32
_ZERO, _HALF, _ONE = _F(0), _F(0.5), _F(1)


@strict_inline
def pack_tile(candidates, start, plan, tile):  # type: ignore[no-untyped-def]
    """Fill tile[W, TILE] from candidates[start : start + TILE], windows in their order, centred; lanes beyond hold x = 0.

    Paired and single windows hold exp(-x), the rest x itself.
    """
    steep, order, centre, paired, single, _ = plan
    exponents = paired + single
    columns = candidates[start : start + TILE].T
    bits = np.empty(TILE, np.int32)
    for j in range(len(order)):
        column, middle, x = columns[order[j]], centre[j], tile[j]
        sign = -_ONE if j < exponents else _ONE
        for e in range(len(column)):
            x[e] = sign * (column[e] * steep - middle)
        for e in range(len(column), TILE):
            x[e] = _ZERO
        if j < exponents:
            exponentials(x, bits)


@strict_inline
def score_tile(tile, query, paired, single, offset, total):  # type: ignore[no-untyped-def]
    """Fill total[TILE] with offset + the sums of sigmoid - 1/2 of one query over a tile.

    Windows 0..paired share divisions, then come single ones, then those whose sigmoid is taken of the sum. Less one half,
    sums of many windows stay small, and little is lost to rounding.
    """
    windows = len(query)
    for e in range(TILE):
        total[e] = _ZERO
    fours = paired // 4 * 4
    for j in range(0, fours, 4):
        a, b, c, d = query[j], query[j + 1], query[j + 2], query[j + 3]
        for e in range(TILE):
            u = a * tile[j, e]
            v = b * tile[j + 1, e]
            uv = u * v
            x = c * tile[j + 2, e]
            y = d * tile[j + 3, e]
            xy = x * y
            total[e] += (_ONE - uv) / (_ONE + (u + v) + uv) + (_ONE - xy) / (_ONE + (x + y) + xy)
    if fours < paired:
        a, b = query[fours], query[fours + 1]
        for e in range(TILE):
            u = a * tile[fours, e]
            v = b * tile[fours + 1, e]
            uv = u * v
            total[e] += (_ONE - uv) / (_ONE + (u + v) + uv)
    for j in range(paired, paired + single):
        a = query[j]
        for e in range(TILE):
            total[e] += _ONE / (_ONE + a * tile[j, e]) - _HALF
    for j in range(paired + single, windows):
        a = query[j]
        for e in range(TILE):
            total[e] += _ONE / (_ONE + np.exp(-(a + tile[j, e]))) - _HALF
    for e in range(TILE):
        total[e] += offset


@exact
def extremes(candidates, first, last, low, high):  # type: ignore[no-untyped-def]
    """Fill low[W] and high[W] with the smallest and largest value of each window in rows first..last, or NaN.

    Where a value is not finite, both are NaN.
    """
    wrong = np.zeros(len(low), np.float32)
    for j in range(len(low)):
        low[j], high[j] = np.inf, -np.inf
    for c in range(first, last):
        row = candidates[c]
        for j in range(len(low)):
            low[j] = min(low[j], row[j])
            high[j] = max(high[j], row[j])
            wrong[j] += row[j] - row[j]  # NaN and infinity less themselves are NaN
    for j in range(len(low)):
        low[j] += wrong[j]
        high[j] += wrong[j]


@exact
def forward(candidates, plan, queries, first, last, scores):  # type: ignore[no-untyped-def]
    """Fill the columns of scores[Q, C] that belong to tiles first..last."""
    _, order, _, paired, single, offset = plan
    tile, total = np.empty((len(order), TILE), np.float32), np.empty(TILE, np.float32)
    for t in range(first, last):
        start = t * TILE
        stop = min(len(candidates), start + TILE)
        pack_tile(candidates, start, plan, tile)
        for q in range(len(queries)):
            score_tile(tile, queries[q], paired, single, offset, total)
            for c in range(start, stop):
                scores[q, c] = total[c - start]


@exact
def target_scores(candidates, plan, queries, targets, first, last, scores):  # type: ignore[no-untyped-def]
    """Fill scores[first..last] with the score of each of these queries for its own target."""
    _, order, _, paired, single, offset = plan
    tile, total = np.empty((len(order), TILE), np.float32), np.empty(TILE, np.float32)
    for start in range(first, last, TILE):
        stop = min(last, start + TILE)
        pack_tile(candidates[targets[start:stop]], 0, plan, tile)
        for q in range(start, stop):
            score_tile(tile, queries[q], paired, single, offset, total)
            scores[q] = total[q - start]


@strict_inline
def add_bonus(total, start, stop, bonus, q, index):  # type: ignore[no-untyped-def]
    """Add the bonus of the candidates start..stop of a query, from an index of its pool on; return the index of the next."""
    pool, starts, counts, values = bonus
    while index < starts[q] + counts[q] and pool[index] < stop:
        total[pool[index] - start] += values[index]
        index += 1
    return index


@strict_inline
def _first_indices(pool, starts, counts, candidate):  # type: ignore[no-untyped-def]
    """Return where the list of each query has the first that is no less than a candidate."""
    found = np.empty(len(starts), np.int64)
    for q in range(len(starts)):
        found[q] = first_at_least(pool, starts[q], starts[q] + counts[q], candidate)
    return found


@exact
def add_bonus_of_targets(scores, targets, bonus):  # type: ignore[no-untyped-def]
    """Add the bonus of each query's own target to its score."""
    pool, starts, counts, values = bonus
    for q in range(len(targets)):
        end = starts[q] + counts[q]
        index = first_at_least(pool, starts[q], end, targets[q])
        if index < end and pool[index] == targets[q]:
            scores[q] += values[index]


@exact
def count(candidates, plan, queries, targets, bars, lists, bonus, first, last, better, equal):  # type: ignore[no-untyped-def]
    """Add to better[Q] and equal[Q] the candidates in tiles first..last that beat or equal bars[Q], the targets' scores.

    Of what is excluded from a query only the target counts.
    """
    _, order, _, paired, single, offset = plan
    tile, total = np.empty((len(order), TILE), np.float32), np.empty(TILE, np.float32)
    pool, starts, counts = lists
    next_excluded = _first_indices(pool, starts, counts, first * TILE)
    next_bonus = _first_indices(bonus[0], bonus[1], bonus[2], first * TILE)
    for t in range(first, last):
        start = t * TILE
        stop = min(len(candidates), start + TILE)
        pack_tile(candidates, start, plan, tile)
        for q in range(len(queries)):
            score_tile(tile, queries[q], paired, single, offset, total)
            next_bonus[q] = add_bonus(total, start, stop, bonus, q, next_bonus[q])
            bar = bars[q]
            above = 0
            level = 0
            for e in range(stop - start):
                above += total[e] > bar
                level += total[e] == bar
            index, end = next_excluded[q], starts[q] + counts[q]
            while index < end and pool[index] < stop:
                if pool[index] != targets[q]:
                    above -= total[pool[index] - start] > bar
                    level -= total[pool[index] - start] == bar
                index += 1
            next_excluded[q] = index
            better[q] += above
            equal[q] += level


@exact
def top(candidates, plan, queries, lists, bonus, first, last, scores, ids):  # type: ignore[no-untyped-def]
    """Keep in scores[Q, k] and ids[Q, k], both descending, the best candidates of tiles first..last; excluded ones out."""
    _, order, _, paired, single, offset = plan
    tile, total = np.empty((len(order), TILE), np.float32), np.empty(TILE, np.float32)
    k = scores.shape[1]
    pool, starts, counts = lists
    next_excluded = _first_indices(pool, starts, counts, first * TILE)
    next_bonus = _first_indices(bonus[0], bonus[1], bonus[2], first * TILE)
    for t in range(first, last):
        start = t * TILE
        stop = min(len(candidates), start + TILE)
        pack_tile(candidates, start, plan, tile)
        for q in range(len(queries)):
            score_tile(tile, queries[q], paired, single, offset, total)
            next_bonus[q] = add_bonus(total, start, stop, bonus, q, next_bonus[q])
            while next_excluded[q] < starts[q] + counts[q] and pool[next_excluded[q]] < stop:
                total[pool[next_excluded[q]] - start] = -np.inf
                next_excluded[q] += 1
            for e in range(stop - start):
                if total[e] > scores[q, k - 1]:
                    insert(scores[q], ids[q], total[e], start + e)


@reordered
def backward(candidates, plan, queries, upstream, first, last, of_queries, of_candidates):  # type: ignore[no-untyped-def]
    """Add to of_queries[W, Q], and set in of_candidates[C, W], what tiles first..last give; queries is [W, Q] here.

    The slope of 1 / (1 + u) is u / (1 + u)^2; two windows share one division.
    """
    _, order, _, paired, single, _ = plan
    windows, size = queries.shape
    tile, gradient = np.empty((windows, TILE), np.float32), np.empty((windows, TILE), np.float32)
    weight = np.empty((size, TILE), np.float32)
    for t in range(first, last):
        start = t * TILE
        width = min(len(candidates) - start, TILE)
        pack_tile(candidates, start, plan, tile)
        lanes_of(upstream, start, width, weight)
        for j in range(windows):
            for e in range(TILE):
                gradient[j, e] = _ZERO
        for j in range(0, paired, 2):
            left, right, left_out, right_out = tile[j], tile[j + 1], gradient[j], gradient[j + 1]
            for q in range(size):
                a, b, g = queries[j, q], queries[j + 1, q], weight[q]
                left_sum, right_sum = _ZERO, _ZERO
                for e in range(TILE):
                    u = a * left[e]
                    v = b * right[e]
                    share = _ONE / ((_ONE + u) * (_ONE + v))
                    su = (_ONE + v) * share
                    sv = (_ONE + u) * share
                    du = g[e] * ((u * su) * su)
                    dv = g[e] * ((v * sv) * sv)
                    left_sum += du
                    right_sum += dv
                    left_out[e] += du
                    right_out[e] += dv
                of_queries[j, q] += left_sum
                of_queries[j + 1, q] += right_sum
        for j in range(paired, windows):
            row, out = tile[j], gradient[j]
            for q in range(size):
                a, g = queries[j, q], weight[q]
                row_sum = _ZERO
                for e in range(TILE):
                    u = a * row[e] if j < paired + single else np.exp(-(a + row[e]))
                    s = _ONE / (_ONE + u)
                    d = g[e] * (s * (_ONE - s))
                    row_sum += d
                    out[e] += d
                of_queries[j, q] += row_sum
        for j in range(windows):
            column, out = of_candidates[start : start + width].T[order[j]], gradient[j]
            for e in range(width):
                column[e] = out[e]
