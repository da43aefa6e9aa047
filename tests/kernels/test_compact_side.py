"""Candidates that were packed once give the best of each query to the very bits of the exact kernel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum.kernels import compact_side, parallel, windowed_sigmoid
from relatum.kernels.filters import Bonus, nothing_excluded
from relatum.kernels.jit import TILE
from support import reference_kernels as reference
from support.kernels_known import bonus_of, known_of


def sides(seed: int, queries: int, size: int, windows: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    candidates = rng.normal(size=(size, windows)) * spread
    candidates[rng.random(size) < 0.1] = candidates[0]  # ties
    return rng.normal(size=(queries, windows)).astype(np.float32), candidates.astype(np.float32)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 3 * TILE), st.integers(1, 9), st.integers(1, 40))
def test_the_best_are_those_of_the_exact_kernel(seed: int, queries: int, size: int, windows: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    q, c = sides(seed, queries, size, windows, float(rng.choice([1e-6, 0.01, 0.5, 2.0])))
    side = compact_side.compact(c)
    assert side is not None
    (excluded, _), (bonus, _) = known_of(rng, queries, size), bonus_of(rng, queries, size)
    for more in (None, bonus):
        expected = windowed_sigmoid.top(side.plan, q, c, k, excluded, more)
        found = compact_side.top(side, lambda ids: c[ids], q, k, excluded, more)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("windows", [1, 3, 4, 50, 400])
@pytest.mark.parametrize("spread", [1e-3, 0.3, 2.5])
@pytest.mark.parametrize("shift", [0.0, -7.0, 30.0])
def test_no_sum_is_further_off_than_is_stated(windows: int, spread: float, shift: float) -> None:
    q, c = sides(1, 3, 300, windows, spread)
    q += np.float32(shift)
    side = compact_side.compact(c)
    assert side is not None
    exact = reference.sigma_sums(q.astype(np.float64), c.astype(np.float64), tanh=False) - windows / 2
    totals = np.empty(len(side.tiles) * TILE, np.float32)
    for query, sums in zip(side.plan.query_side(q), exact, strict=True):
        start = side.tiles, side.lowest, side.steps, query
        compact_side._sum_tiles(*start, 0, len(side.tiles), totals)
        off = np.abs(totals[:300] - sums).max()
        assert off <= side.error(query)
        assert shift or spread < 1 or windows < 50 or off > side.error(query) / 100, "the bound says something"


def test_values_far_from_zero_keep_within_the_codes() -> None:
    q, c = sides(3, 2, 300, 6, 1e-4)
    c += np.float32(5000)  # what is left of their differences is rounding
    q -= np.float32(5000)
    side = compact_side.compact(c)
    assert side is not None
    found = compact_side.top(side, lambda ids: c[ids], q, 20, nothing_excluded(2), None)
    for one, other in zip(found, windowed_sigmoid.top(side.plan, q, c, 20, nothing_excluded(2)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_cannot_be_packed_is_not() -> None:
    assert compact_side.compact(np.array([[-12.5], [12.5]], np.float32)) is None
    assert compact_side.compact(np.array([[-11.9], [11.9]], np.float32)) is not None
    assert compact_side.compact(np.empty((0, 3), np.float32)) is None
    with pytest.raises(FloatingPointError):
        compact_side.compact(np.array([[1.0], [np.nan]], np.float32))


def test_any_number_of_threads_gives_the_same_bits() -> None:
    q, c = sides(5, 2, 30 * TILE, 20, 1.0)
    found = []
    for threads in (1, 2, 5):
        parallel.set_threads(threads)
        try:
            side = compact_side.compact(c)
            assert side is not None
            ids, sums = compact_side.top(side, lambda ids: c[ids], q, 50, nothing_excluded(2), None)
        finally:
            parallel.set_threads(None)
        found.append((side.tiles.tobytes(), ids.tobytes(), sums.tobytes()))
    assert found[0] == found[1] == found[2]


def test_a_bonus_larger_than_all_sums_decides() -> None:
    q, c = sides(2, 1, 200, 8, 0.5)
    side = compact_side.compact(c)
    assert side is not None
    bonus = Bonus(np.array([7, 150], np.int32), np.zeros(1, np.int64), np.array([2]), np.array([1e4, 2e4], np.float32))
    ids, _ = compact_side.top(side, lambda chosen: c[chosen], q, 3, nothing_excluded(1), bonus)
    assert ids[0, :2].tolist() == [150, 7]
