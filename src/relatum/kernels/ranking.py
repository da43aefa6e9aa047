"""Counting and picking in a matrix of scores, in one pass over it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from relatum.kernels import parallel, ranking_loops
from relatum.kernels.known import Known

__all__ = ["count_better", "top"]

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


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
    best = np.full((len(scores), k), -np.inf, np.float32)
    ids = np.full((len(scores), k), -1, np.int64)
    out = (excluded.pool, excluded.starts, excluded.counts)
    _over_rows(scores, lambda first, last: ranking_loops.top_rows(scores, *out, first, last, best, ids))
    return ids, best


def _over_rows(scores: Floats, work: Callable[[int, int], int]) -> None:
    ranges = parallel.cuts(len(scores))
    doubtful = [0] * len(ranges)

    def part(n: int) -> None:
        doubtful[n] = work(*ranges[n])

    parallel.run(part, len(ranges))
    if any(doubtful):
        raise FloatingPointError("a score is not a finite number")
