"""Counting among some of the candidates against scores from elsewhere: counts of parts add up to those of all.

Where several processes have some candidates each, the one that has a query's target says what it scores, and all count what
they have above it. Equal candidates have equal scores wherever they are computed, so the sums of the counts are exact.
"""

from __future__ import annotations

import numpy as np
from torch import Tensor

from relatum.arrays import Float32, Int64
from relatum.data.answer_index import AnswerLists
from relatum.errors import SettingError
from relatum.kernels import ranking, windowed_sigmoid
from relatum.kernels.filters import Bonus, Excluded, bonus_part
from relatum.models.combine import Combine, WindowedSigma
from relatum.models.ops import as_array

Extremes = tuple[Float32, Float32]


def can_count_parts(combine: Combine, values: Tensor) -> bool:
    """Return whether parts of candidates that are computed as some values are can be counted."""
    return not isinstance(combine, WindowedSigma) or (combine.is_fused(values))


def extremes_of(combine: Combine, candidates: Tensor) -> Extremes | None:
    """Return what must be known of all candidates before some of them are counted; None if nothing must.

    Of several parts the smallest and the largest numbers count. Where a number is not finite, none of these is.
    """
    if not isinstance(combine, WindowedSigma):
        return None
    if not can_count_parts(combine, candidates):
        raise SettingError(
            "sigma-not-ranked-in-parts",
            f"{combine.sigma} cannot be ranked in parts here",
            place="model.sigma",
            remedy="take sigmoid, on the CPU",
        )
    windows = candidates.shape[1]
    if not len(candidates):
        return np.full(windows, np.inf, np.float32), np.full(windows, -np.inf, np.float32)
    try:
        return windowed_sigmoid.extremes(as_array(candidates))
    except FloatingPointError:
        return np.full(windows, -np.inf, np.float32), np.full(windows, np.inf, np.float32)


def counter_of(
    combine: Combine, queries: Tensor, candidates: Tensor, extremes: Extremes | None, bonus: Bonus | None = None
) -> SigmaCounter | MatrixCounter:
    """Return what counts among some candidates; `extremes` are those of all candidates, and `bonus` is of these alone.

    The targets that a counter is given are indices among these, -1 for one that is elsewhere.
    """
    if isinstance(combine, WindowedSigma) and extremes is not None:
        return SigmaCounter(combine, queries, candidates, extremes, bonus)
    return MatrixCounter(combine, queries, candidates, bonus)


class SigmaCounter:
    """By the kernel of windowed sums, with the plan that follows from the extremes of all candidates."""

    def __init__(
        self, combine: WindowedSigma, queries: Tensor, candidates: Tensor, extremes: Extremes, bonus: Bonus | None
    ) -> None:
        self._plan = windowed_sigmoid.plan_between(*extremes, tanh=combine.sigma == "tanh")
        self._queries, self._candidates = as_array(queries), as_array(candidates)
        self._bonus = combine.of_sums(bonus)

    def bars(self, targets: Int64) -> Float32:
        """Return what each query's target scores, in the units of the kernel; 0 where it is elsewhere."""
        found, here = np.zeros(len(targets), np.float32), targets >= 0
        bonus = None if self._bonus is None else bonus_part(self._bonus, here)
        queries = np.ascontiguousarray(self._queries[here])
        found[here] = windowed_sigmoid.target_sums(self._plan, queries, self._candidates, targets[here], bonus)
        return found

    def count(self, bars: Float32, targets: Int64, excluded: Excluded) -> tuple[Int64, Int64]:
        """Return how many candidates score above each query's bar, and how many as much; the target is not counted."""
        found = windowed_sigmoid.count_above(
            self._plan, self._queries, self._candidates, bars, targets, excluded, self._bonus
        )
        return found[0], found[1] - (targets >= 0)


class MatrixCounter:
    """By a matrix of scores."""

    def __init__(self, combine: Combine, queries: Tensor, candidates: Tensor, bonus: Bonus | None) -> None:
        self._scores = combine.matrix(queries, candidates).numpy(force=True)
        if bonus is not None:
            self._scores = self._scores.copy()
            ranking.add_bonus(self._scores, bonus)

    def bars(self, targets: Int64) -> Float32:
        """Return what each query's target scores, 0 where it is elsewhere."""
        found, here = np.zeros(len(targets), np.float32), targets >= 0
        found[here] = self._scores[np.flatnonzero(here), targets[here]]
        return found

    def count(self, bars: Float32, targets: Int64, excluded: Excluded) -> tuple[Int64, Int64]:
        """Return the counts in a matrix that has the bars as one more candidate."""
        scores = np.concatenate([self._scores, bars[:, None]], 1)
        added = np.full(len(targets), self._scores.shape[1], np.int64)
        better, equal = ranking.count_better(scores, added, excluded)
        lists = AnswerLists(excluded.pool, excluded.starts, excluded.counts)
        counted = (targets >= 0) & ~lists.contain(targets.astype(np.int32))  # an excluded target was not
        return better, equal - counted
