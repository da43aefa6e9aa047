"""Sums over windows of sigmoid or tanh of query + candidate: forward, backward, counting and the best, for any values.

With a = query[j] and k = candidate[j], sigmoid(a + k) = 1 / (1 + exp(-a) exp(-k)), so exponentials are taken once per side.
To keep them in float32, k is centred on the middle of its range over the candidates, and the centre folded into a. With h
half that range, a is clamped to +-(20 + h): what is cut off would give a sigmoid within 3e-9 of 0 or 1 for every candidate.
(Clamping both sides would be wrong: a = 40 and k = -25 give 1, not one half.)

- h <= 12: u = exp(-a) exp(-k) <= exp(44), and the product of two such numbers is finite: two windows share a division.
- h <= 34: u <= exp(88) is finite: one division a window.
- beyond: the sigmoid of the sum itself.

tanh(x) is 2 (sigmoid(2 x) - 1/2). No array of (queries, candidates, windows) is ever made. Work is cut by the shape alone:
same bits for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from relatum.arrays import Float32, Int64
from relatum.kernels import parallel, ranking, windowed_sigmoid_loops
from relatum.kernels.filters import Bonus, Excluded, bonus_part, excluded_part, lists_of, no_bonus
from relatum.kernels.jit import TILE

CLAMP = 20.0
PAIRED, SINGLE = 12.0, 34.0
_TILES = 4  # in a part at least
_SUMS = 1 << 24  # that are kept at once to be sorted


@dataclass(frozen=True, eq=False, slots=True)
class Plan:
    """How the windows of some candidates are computed, by the range of their values."""

    order: Int64  # [W]: window order[j] is taken at j: paired ones first, then single ones, then the rest
    centre: Float32  # [W], in that order
    half: Float32  # [W], in that order: half the range
    paired: int
    single: int
    tanh: bool

    @property
    def steep(self) -> np.float32:
        """What both sides are multiplied with."""
        return np.float32(2 if self.tanh else 1)

    @property
    def offset(self) -> np.float32:
        """What is added to a sum of sigmoids less one half."""
        return np.float32(0 if self.tanh else len(self.order) / 2)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What loops take."""
        return self.steep, self.order, self.centre, self.paired, self.single, self.offset

    def query_side(self, queries: Float32) -> Float32:
        """Return exp(-a) of the clamped, centred queries, [Q, W] in the plan's order; the last windows hold a itself."""
        values = queries[:, self.order] * self.steep + self.centre
        if not np.isfinite(values).all():
            raise FloatingPointError("a query holds a number that is not finite")
        exponents = self.paired + self.single
        limit = (CLAMP + self.half[:exponents]).astype(np.float32)
        values[:, :exponents] = np.exp(-np.clip(values[:, :exponents], -limit, limit))
        return np.ascontiguousarray(values)


def extremes(candidates: Float32) -> tuple[Float32, Float32]:
    """Return the smallest and the largest value of each window, float32[W] both."""
    ranges = parallel.cuts(len(candidates), 1024)
    low, high = np.empty((2, len(ranges), candidates.shape[1]), np.float32)
    loop = windowed_sigmoid_loops.extremes
    parallel.run(lambda n: loop(candidates, *ranges[n], low[n], high[n]), len(ranges))
    lowest, highest = low.min(0), high.max(0)
    if not np.isfinite(highest - lowest).all():  # a NaN anywhere is both
        raise FloatingPointError("a candidate holds a number that is not finite")
    return lowest, highest


def plan(candidates: Float32, *, tanh: bool = False) -> Plan:
    """Return how candidates [C, W] are to be computed, for sigmoid or for tanh."""
    windows = candidates.shape[1]
    none = np.zeros(windows, np.float32)
    return plan_between(*(extremes(candidates) if len(candidates) else (none, none)), tanh=tanh)


def plan_between(low: Float32, high: Float32, *, tanh: bool = False) -> Plan:
    """Return how candidates are to be computed whose windows, [W] both, hold nothing below `low` or above `high`.

    The bits of sums follow from these two, so where candidates are computed in parts, all parts take the same.
    """
    if not np.isfinite(high - low).all():
        raise FloatingPointError("a candidate holds a number that is not finite")
    steep = np.float32(2 if tanh else 1)
    half = (high - low) / np.float32(2) * steep
    window_class = np.where(half <= PAIRED, 0, np.where(half <= SINGLE, 1, 2))
    order = np.argsort(window_class, kind="stable")
    paired = int(np.sum(window_class == 0)) // 2 * 2  # an odd one out of the pairs is taken alone
    single = int(np.sum(window_class <= 1)) - paired
    return Plan(order, (low * steep + half)[order], half[order], paired, single, tanh)


def forward(plan: Plan, queries: Float32, candidates: Float32) -> Float32:
    """Return the sums, [Q, C], for queries [Q, W]."""
    scores = np.empty((len(queries), len(candidates)), np.float32)
    start = candidates, plan.arrays, plan.query_side(queries)
    _over_tiles(candidates, lambda _, *tiles: windowed_sigmoid_loops.forward(*start, *tiles, scores))
    return _finished(plan, scores)


def backward(plan: Plan, queries: Float32, candidates: Float32, upstream: Float32) -> tuple[Float32, Float32]:
    """Return the gradients with respect to queries [Q, W] and candidates [C, W], given that of the sums, [Q, C]."""
    start = candidates, plan.arrays, np.ascontiguousarray(plan.query_side(queries).T), upstream
    parts = np.zeros((parallel.PARTS, *queries.shape[::-1]), np.float32)
    of_queries, of_candidates = np.empty_like(queries), np.empty_like(candidates)
    _over_tiles(candidates, lambda n, *tiles: windowed_sigmoid_loops.backward(*start, *tiles, parts[n], of_candidates))
    of_queries[:, plan.order] = parts.sum(0).T
    if plan.tanh:  # the slope of 2 sigmoid(2 x) is 4 times that of sigmoid at 2 x
        of_queries *= np.float32(4)
        of_candidates *= np.float32(4)
    return of_queries, of_candidates


def count_better(
    plan: Plan, queries: Float32, candidates: Float32, targets: Int64, excluded: Excluded, bonus: Bonus | None = None
) -> tuple[Int64, Int64]:
    """Return how many candidates score above each query's target, and how many exactly as much, both int64[Q].

    The target itself and the candidates excluded from a query are not counted; what is in `bonus` is added to the sums. No
    score is kept.
    """
    bars = target_sums(plan, queries, candidates, targets, bonus)
    better, equal = count_above(plan, queries, candidates, bars, targets, excluded, bonus)
    return better, equal - 1  # the target equals itself


def target_sums(plan: Plan, queries: Float32, candidates: Float32, targets: Int64, bonus: Bonus | None = None) -> Float32:
    """Return the sum of each query with its own target, in the units of the loops, which for tanh have half of a sum."""
    more = _in_units(plan, bonus, len(queries))
    start = candidates, plan.arrays, plan.query_side(queries), targets
    bars = np.empty(len(queries), np.float32)
    ranges = parallel.cuts(len(queries), 16)
    parallel.run(lambda n: windowed_sigmoid_loops.target_scores(*start, *ranges[n], bars), len(ranges))
    windowed_sigmoid_loops.add_bonus_of_targets(bars, targets, tuple(more))
    return bars


def count_above(
    plan: Plan,
    queries: Float32,
    candidates: Float32,
    bars: Float32,
    targets: Int64,
    excluded: Excluded,
    bonus: Bonus | None = None,
) -> tuple[Int64, Int64]:
    """Return how many candidates score above each query's bar, as `target_sums` has it, and how many as much, int64[Q] both.

    A target that is among the candidates is counted as equal to itself, even where it is excluded; -1 is none of them.
    """
    more = _in_units(plan, bonus, len(queries))
    start = candidates, plan.arrays, plan.query_side(queries), targets, bars, lists_of(excluded), tuple(more)
    counts = np.zeros((2, parallel.PARTS, len(queries)), np.int64)
    _over_tiles(candidates, lambda n, *tiles: windowed_sigmoid_loops.count(*start, *tiles, counts[0, n], counts[1, n]))
    better, equal = counts.sum(1)
    return better, equal


def top(
    plan: Plan, queries: Float32, candidates: Float32, k: int, excluded: Excluded, bonus: Bonus | None = None
) -> tuple[Int64, Float32]:
    """Return the ids and sums of the k best candidates of each query, both [Q, k], best first, smaller id first on ties.

    Where fewer than k are left after the exclusions, the id is -1 and the sum -inf. What is in `bonus` is added to the sums.
    """
    ranking.check_k(k)
    if k > ranking.FEW:
        return _top_of_many(plan, queries, candidates, k, excluded, bonus)
    more = _in_units(plan, bonus, len(queries))
    scores = np.full((parallel.PARTS, len(queries), k), -np.inf, np.float32)
    ids = np.full((parallel.PARTS, len(queries), k), -1, np.int64)
    start = candidates, plan.arrays, plan.query_side(queries), lists_of(excluded), tuple(more)
    _over_tiles(candidates, lambda n, *tiles: windowed_sigmoid_loops.top(*start, *tiles, scores[n], ids[n]))
    # Parts stand in the order of their ids, so a stable sort keeps the smaller id first.
    all_scores = scores.swapaxes(0, 1).reshape(len(queries), parallel.PARTS * k)
    all_ids = ids.swapaxes(0, 1).reshape(len(queries), parallel.PARTS * k)
    best = np.argsort(-all_scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(all_ids, best, 1), _finished(plan, np.take_along_axis(all_scores, best, 1))


def _top_of_many(
    plan: Plan, queries: Float32, candidates: Float32, k: int, excluded: Excluded, bonus: Bonus | None
) -> tuple[Int64, Float32]:
    """Return what `top` does for a large k, where all sums of some queries at a time are kept and sorted."""
    ids, sums = np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.float32)
    step = max(1, _SUMS // max(1, len(candidates)))
    for start in range(0, len(queries), step):
        part = slice(start, start + step)
        found = forward(plan, queries[part], candidates)
        if bonus is not None:
            ranking.add_bonus(found, bonus_part(bonus, part))
        ids[part], sums[part] = ranking.top(found, k, excluded_part(excluded, part))
    return ids, sums


def _in_units(plan: Plan, bonus: Bonus | None, queries: int) -> Bonus:
    """Return a bonus, or none, in the units of the loops, which for tanh have half of a sum."""
    return no_bonus(queries) if bonus is None else bonus.scaled(0.5) if plan.tanh else bonus


def _finished(plan: Plan, sums: Float32) -> Float32:
    if plan.tanh:
        sums *= np.float32(2)
    return sums


def _over_tiles(candidates: Float32, work: Callable[[int, int, int], None]) -> None:
    """Call work(part, first tile, last tile) for every part of the candidates."""
    ranges = parallel.cuts(-(-len(candidates) // TILE), _TILES)
    parallel.run(lambda n: work(n, *ranges[n]), len(ranges))
