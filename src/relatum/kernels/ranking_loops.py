"""The loops of counting and picking, in a matrix of scores."""

from __future__ import annotations

import numpy as np

from relatum.kernels.jit import exact, exact_part

__all__ = ["count_rows", "first_at_least", "insert", "top_rows"]

_ZERO = np.float32(0)


@exact_part
def first_at_least(pool, low, high, value):  # type: ignore[no-untyped-def]
    """Return the first place in pool[low..high], ascending, that holds at least `value`."""
    while low < high:
        middle = (low + high) // 2
        if pool[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@exact_part
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
    doubtful = 0
    for q in range(first, last):
        row = scores[q]
        bar = row[targets[q]]
        above = 0
        level = 0
        for c in range(len(row)):
            above += row[c] > bar
            level += row[c] == bar
            doubtful += (row[c] - row[c]) != _ZERO  # NaN and infinity less themselves are NaN
        for place in range(starts[q], starts[q] + counts[q]):
            if pool[place] != targets[q]:
                above -= row[pool[place]] > bar
                level -= row[pool[place]] == bar
        better[q] = above
        equal[q] = level - 1
    return doubtful


@exact
def top_rows(scores, pool, starts, counts, first, last, best, ids):  # type: ignore[no-untyped-def]
    """Fill best[first..last, k] and ids[first..last, k] from rows of scores[Q, C]; return how many are not finite."""
    doubtful = 0
    k = best.shape[1]
    if k == 0:  # there is no last one to beat
        return doubtful
    for q in range(first, last):
        row = scores[q]
        place, end = starts[q], starts[q] + counts[q]
        for c in range(len(row)):
            doubtful += (row[c] - row[c]) != _ZERO
            if row[c] > best[q, k - 1]:
                place = first_at_least(pool, place, end, c)
                if place == end or pool[place] != c:
                    insert(best[q], ids[q], row[c], c)
    return doubtful
