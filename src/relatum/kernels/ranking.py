"""Counting better candidates and picking the best, in a matrix of scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from relatum.arrays import Float32, Int32, Int64
from relatum.kernels import parallel
from relatum.kernels.filters import Excluded, lists_of
from relatum.kernels.jit import exact, strict_inline

_ZERO = np.float32(0)


@strict_inline
def first_at_least(pool, low, high, value):  # type: ignore[no-untyped-def]
    """Return the first index in pool[low..high], ascending, that holds at least `value`."""
    while low < high:
        middle = (low + high) // 2
        if pool[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@strict_inline
def insert(scores, ids, score, candidate):  # type: ignore[no-untyped-def]
    """Put a candidate where it belongs among the best so far; it must beat the last of them.

    Candidates come by ascending id, so an equal score does not displace the smaller id before it.
    """
    slot = len(scores) - 1
    while slot > 0 and score > scores[slot - 1]:
        scores[slot] = scores[slot - 1]
        ids[slot] = ids[slot - 1]
        slot -= 1
    scores[slot] = score
    ids[slot] = candidate


@exact
def count_rows(scores, targets, pool, starts, counts, first, last, better, equal):  # type: ignore[no-untyped-def]
    """Fill better[first..last] and equal[first..last] from rows of scores[Q, C]; return how many scores are not finite."""
    not_finite = 0
    for q in range(first, last):
        row = scores[q]
        bar = row[targets[q]]
        above = 0
        level = 0
        for c in range(len(row)):
            above += row[c] > bar
            level += row[c] == bar
            not_finite += (row[c] - row[c]) != _ZERO  # NaN and infinity less themselves are NaN
        for index in range(starts[q], starts[q] + counts[q]):
            if pool[index] != targets[q]:
                above -= row[pool[index]] > bar
                level -= row[pool[index]] == bar
        better[q] = above
        equal[q] = level - 1
    return not_finite


@exact
def top_rows(scores, pool, starts, counts, first, last, best, ids):  # type: ignore[no-untyped-def]
    """Fill best[first..last, k] and ids[first..last, k] from rows of scores[Q, C]; return how many are not finite."""
    not_finite = 0
    k = best.shape[1]
    for q in range(first, last):
        row = scores[q]
        index, end = starts[q], starts[q] + counts[q]
        for c in range(len(row)):
            not_finite += (row[c] - row[c]) != _ZERO
            if row[c] > best[q, k - 1]:
                index = first_at_least(pool, index, end, c)
                if index == end or pool[index] != c:
                    insert(best[q], ids[q], row[c], c)
    return not_finite


@exact
def add_bonus(scores, bonus):  # type: ignore[no-untyped-def]
    """Add what some candidates of each query score more, a `Bonus`, to scores[Q, C], in place."""
    pool, starts, counts, values = bonus
    for q in range(len(scores)):
        for index in range(starts[q], starts[q] + counts[q]):
            scores[q, pool[index]] += values[index]


FEW = 64  # so many are kept in order while scores pass by; more of them are sorted when all scores are there


def count_better(scores: Float32, targets: Int64, excluded: Excluded) -> tuple[Int64, Int64]:
    """Return, per row of [Q, C], how many scores are above that of the target, and how many equal it, both int64[Q].

    The target itself and the candidates excluded from the row are not counted.
    """
    better, equal = np.zeros((2, len(scores)), np.int64)
    lists = lists_of(excluded)
    _over_rows(scores, lambda first, last: count_rows(scores, targets, *lists, first, last, better, equal))
    return better, equal


def top(scores: Float32, k: int, excluded: Excluded) -> tuple[Int64, Float32]:
    """Return ids and scores of the k best of each row, both [Q, k], best first, smaller id first on ties; else -1, -inf."""
    check_k(k)
    best = np.full((len(scores), k), -np.inf, np.float32)
    ids = np.full((len(scores), k), -1, np.int64)
    loop = top_rows if k <= FEW else _sort_rows
    lists = lists_of(excluded)
    _over_rows(scores, lambda first, last: loop(scores, *lists, first, last, best, ids))
    return ids, best


def check_k(k: int) -> None:
    """Refuse to look for less than one."""
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")


def _sort_rows(
    scores: Float32, pool: Int32, starts: Int64, counts: Int64, first: int, last: int, best: Float32, ids: Int64
) -> int:
    """Do what `top_rows` does by sorting all that are as good as the last one wanted."""
    not_finite = 0
    most = min(best.shape[1], scores.shape[1])
    for q in range(first, last if most else first):
        row = scores[q].copy()
        if wrong := int(np.count_nonzero(~np.isfinite(row))):
            not_finite += wrong  # an error to come: there is no order to be found
            continue
        row[pool[starts[q] : starts[q] + counts[q]]] = -np.inf
        good = np.flatnonzero(row >= np.partition(row, -most)[-most])
        order = good[np.argsort(-row[good], kind="stable")[:most]]  # they came by ascending id, and ties stay so
        best[q, :most] = row[order]
        ids[q, :most] = np.where(row[order] > -np.inf, order, -1)
    return not_finite


def _over_rows(scores: Float32, work: Callable[[int, int], int]) -> None:
    ranges = parallel.cuts(len(scores))
    not_finite = [0] * len(ranges)

    def part(n: int) -> None:
        not_finite[n] = work(*ranges[n])

    parallel.run(part, len(ranges))
    if any(not_finite):
        raise FloatingPointError("a score is not a finite number")
