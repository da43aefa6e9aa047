"""Counting and picking in a matrix of scores, in one pass over it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from relatum.kernels import parallel, ranking_loops
from relatum.kernels.filters import Known

__all__ = ["FEW", "check_k", "count_better", "top"]

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

FEW = 64  # so many are kept in order while scores pass by; more of them are sorted when all scores are there


def count_better(scores: Floats, targets: Ints, known: Known) -> tuple[Ints, Ints]:
    """Return, per row of [Q, C], how many scores are above that of the target, and how many equal it, both int64[Q].

    The target itself and the other known answers of the row are not counted.
    """
    better, equal = np.zeros((2, len(scores)), np.int64)
    out = (known.pool, known.starts, known.counts)
    _over_rows(scores, lambda first, last: ranking_loops.count_rows(scores, targets, *out, first, last, better, equal))
    return better, equal


def top(scores: Floats, k: int, excluded: Known) -> tuple[Ints, Floats]:
    """Return ids and scores of the k best of each row, both [Q, k], best first, smaller id first on ties; else -1, -inf."""
    check_k(k)
    best = np.full((len(scores), k), -np.inf, np.float32)
    ids = np.full((len(scores), k), -1, np.int64)
    loop = ranking_loops.top_rows if k <= FEW else _sort_rows
    out = (excluded.pool, excluded.starts, excluded.counts)
    _over_rows(scores, lambda first, last: loop(scores, *out, first, last, best, ids))
    return ids, best


def check_k(k: int) -> None:
    """Refuse to look for less than one."""
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")


def _sort_rows(
    scores: Floats, pool: npt.NDArray[np.int32], starts: Ints, counts: Ints, first: int, last: int, best: Floats, ids: Ints
) -> int:
    """Do what `ranking_loops.top_rows` does by sorting all that are as good as the last one wanted."""
    doubtful = 0
    most = min(best.shape[1], scores.shape[1])
    for q in range(first, last if most else first):
        row = scores[q].copy()
        if wrong := int(np.count_nonzero(~np.isfinite(row))):
            doubtful += wrong  # an error to come: there is no order to be found
            continue
        row[pool[starts[q] : starts[q] + counts[q]]] = -np.inf
        good = np.flatnonzero(row >= np.partition(row, -most)[-most])
        order = good[np.argsort(-row[good], kind="stable")[:most]]  # they came by ascending id, and ties stay so
        best[q, :most] = row[order]
        ids[q, :most] = np.where(row[order] > -np.inf, order, -1)
    return doubtful


def _over_rows(scores: Floats, work: Callable[[int, int], int]) -> None:
    ranges = parallel.cuts(len(scores))
    doubtful = [0] * len(ranges)

    def part(n: int) -> None:
        doubtful[n] = work(*ranges[n])

    parallel.run(part, len(ranges))
    if any(doubtful):
        raise FloatingPointError("a score is not a finite number")
