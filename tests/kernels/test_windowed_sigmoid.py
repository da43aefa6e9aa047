"""The compiled windowed sigmoid agrees with numpy in float64 for parameters of any size, and keeps ties exact."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from relatum.kernels import parallel, windowed_sigmoid, windowed_sigmoid_loops
from relatum.kernels.filters import nothing_excluded
from relatum.kernels.jit import TILE
from support import reference_kernels as reference
from support.kernels_known import bonus_of, known_of

EPSILON = np.finfo(np.float32).eps
EDGES = (0, 1, TILE - 1, TILE, TILE + 1)


def tolerance(queries: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Return 1e-5 plus the float32 rounding of the sum of the terms' magnitudes, [Q, C]."""
    magnitudes = np.abs(queries).sum(1)[:, None] + np.abs(candidates).sum(1) + np.abs(candidates).max(0, initial=0).sum()
    return 1e-5 + EPSILON * (magnitudes + queries.shape[1] * 10)


def check(queries: np.ndarray, candidates: np.ndarray) -> None:
    wide = queries.astype(np.float64), candidates.astype(np.float64)
    for tanh in (False, True):
        plan = windowed_sigmoid.plan(candidates, tanh=tanh)
        sums = windowed_sigmoid.forward(plan, queries, candidates)
        slack = (2 if tanh else 1) * tolerance(queries, candidates)
        assert np.all(np.abs(sums - reference.sigma_sums(*wide, tanh)) <= slack)
        upstream = np.cos(np.arange(sums.size, dtype=np.float32)).reshape(sums.shape)
        found = windowed_sigmoid.backward(plan, queries, candidates, upstream)
        expected = reference.sigma_gradients(*wide, upstream.astype(np.float64), tanh)
        assert np.all(np.abs(found[0] - expected[0]) <= 2 * slack.sum(1)[:, None])
        assert np.all(np.abs(found[1] - expected[1]) <= 2 * slack.sum(0)[:, None])


@pytest.mark.parametrize("size", [1e-40, 1e-30, 0.1, 1, 3, 8, 30, 100, 1e3, 1e4])
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 127, 2), (2, 128, 3), (5, 300, 7), (9, 129, 100)])
def test_sums_and_gradients_agree_with_float64(size: float, shape: tuple[int, int, int]) -> None:
    queries, candidates, windows = shape
    rng = np.random.default_rng(windows)
    a, k = (rng.normal(size=(n, windows)) * size for n in (queries, candidates))
    check(a.astype(np.float32), k.astype(np.float32))


floats = st.floats(-1e4, 1e4, width=32) | st.sampled_from([0.0, -0.0, 1e-40, 12.0, 34.0, -34.0, 1e4, -1e4])


@given(st.data(), st.integers(0, 4), st.sampled_from(EDGES) | st.integers(0, 150), st.integers(0, 9))
def test_any_values_agree_with_float64(data: st.DataObject, queries: int, candidates: int, windows: int) -> None:
    a = data.draw(hnp.arrays(np.float32, (queries, windows), elements=floats))
    k = data.draw(hnp.arrays(np.float32, (candidates, windows), elements=floats))
    check(a, k)


def test_windows_of_every_range_live_side_by_side() -> None:
    rng = np.random.default_rng(0)
    ranges = np.array([1, 50, 13, 3, 100, 20, 5, 0, 9], np.float32)
    a = rng.normal(size=(6, 9)).astype(np.float32) * 10
    k = rng.uniform(-1, 1, size=(200, 9)).astype(np.float32) * ranges
    plan = windowed_sigmoid.plan(k)
    assert (plan.paired, plan.single) == (4, 3)
    check(a, k)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_an_error(value: float) -> None:
    good, bad = np.zeros((200, 3), np.float32), np.zeros((200, 3), np.float32)
    bad[150, 1] = value
    with pytest.raises(FloatingPointError, match="candidate"):
        windowed_sigmoid.plan(bad)
    with pytest.raises(FloatingPointError, match="query"):
        windowed_sigmoid.forward(windowed_sigmoid.plan(good), bad, good)


def made(seed: int, queries: int = 13, candidates: int = 300, windows: int = 9) -> tuple[np.ndarray, np.ndarray]:
    """Return sides with many equal candidates."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(queries, windows)).astype(np.float32) * rng.choice([0.5, 3, 30])
    k = rng.normal(size=(max(1, candidates // 3), windows)).astype(np.float32) * rng.choice([0.5, 3, 30])
    return a, k[rng.integers(0, len(k), candidates)]


def size_of(rng: np.random.Generator, least: int = 0) -> int:
    """Return a number of candidates that is often at the edge of a tile."""
    return max(least, int(rng.choice([*EDGES, *rng.integers(0, 400, 5)])))


def test_counts_equal_a_plain_count_with_ties_and_filters(count: Callable[[int, int], int]) -> None:
    for seed in range(count(60, 3000)):
        rng = np.random.default_rng(seed)
        a, k = made(
            seed, queries=int(rng.integers(0, 9)), candidates=int(rng.choice([*EDGES[1:], *rng.integers(1, 400, 5)]))
        )
        targets = rng.integers(0, len(k), len(a))
        known, lists = known_of(rng, len(a), len(k))
        plan = windowed_sigmoid.plan(k, tanh=bool(seed % 2))
        expected = reference.count_better(windowed_sigmoid.forward(plan, a, k), targets, lists)
        assert np.array_equal(windowed_sigmoid.count_better(plan, a, k, targets, known), expected)
        bonus, more = bonus_of(rng, len(a), len(k))
        expected = reference.count_better(windowed_sigmoid.forward(plan, a, k) + more, targets, lists)
        assert np.array_equal(windowed_sigmoid.count_better(plan, a, k, targets, known, bonus), expected)


def test_counts_of_more_questions_than_a_tile_holds_equal_a_plain_count() -> None:
    a, k = made(3, queries=16 * TILE + 200, candidates=150)  # a part of the questions fills a tile and starts another
    targets = np.random.default_rng(0).integers(0, len(k), len(a))
    plan = windowed_sigmoid.plan(k)
    expected = reference.count_better(windowed_sigmoid.forward(plan, a, k), targets, [[]] * len(a))
    assert np.array_equal(windowed_sigmoid.count_better(plan, a, k, targets, nothing_excluded(len(a))), expected)


def test_the_best_equal_a_plain_sort_with_ties_and_exclusions(
    monkeypatch: pytest.MonkeyPatch, count: Callable[[int, int], int]
) -> None:
    for seed in range(count(60, 3000)):
        rng = np.random.default_rng(seed)
        a, k = made(seed, queries=int(rng.integers(0, 9)), candidates=size_of(rng))
        monkeypatch.setattr(windowed_sigmoid, "_SUMS", 3 * len(k) if seed % 4 > 1 else 1 << 20)  # a few queries at a time
        excluded, lists = known_of(rng, len(a), len(k))
        plan, most = windowed_sigmoid.plan(k, tanh=bool(seed % 2)), int(rng.integers(1, rng.choice([30, len(k) + 30])))
        sums = windowed_sigmoid.forward(plan, a, k)
        ids, scores = windowed_sigmoid.top(plan, a, k, most, excluded)
        for row, expected in enumerate(reference.top(sums, most, lists)):
            assert ids[row, : len(expected)].tolist() == expected.tolist()
            assert np.array_equal(scores[row, : len(expected)], sums[row, expected])
            assert np.all(ids[row, len(expected) :] == -1)
            assert np.all(scores[row, len(expected) :] == -np.inf)


def test_one_thread_and_many_give_the_same_bits() -> None:
    a, k = made(1, queries=40, candidates=5000, windows=30)
    upstream = np.random.default_rng(0).normal(size=(40, 5000)).astype(np.float32)
    results = []
    for threads in (1, 2, 5):
        parallel.set_threads(threads)
        plan = windowed_sigmoid.plan(k)
        results.append([windowed_sigmoid.forward(plan, a, k), *windowed_sigmoid.backward(plan, a, k, upstream)])
    for other in results[1:]:
        assert all(np.array_equal(mine, theirs) for mine, theirs in zip(results[0], other, strict=True))


def test_the_packed_exponential_is_accurate_to_the_last_bits() -> None:
    x = np.linspace(-34, 34, 20 * TILE, dtype=np.float32)[:, None]
    tile = np.empty((1, TILE), np.float32)
    for start in range(0, len(x), TILE):
        plan = np.float32(1), np.array([0]), np.zeros(1, np.float32), 0, 1, np.float32(0)
        windowed_sigmoid_loops.pack_tile(x, start, plan, tile)
        exact = np.exp(-x[start : start + TILE, 0].astype(np.float64))
        assert np.max(np.abs(tile[0] / exact - 1)) < 4 * EPSILON
