"""Counting and picking in a matrix of scores agree with plain numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from relatum.kernels import ranking
from relatum.kernels.filters import nothing_excluded
from support import reference_kernels as reference
from support.kernels_known import known_of


def drawn(seed: int) -> tuple[np.random.Generator, np.ndarray]:
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(0, 9)), int(rng.integers(1, 300))
    return rng, rng.integers(-3, 3, shape).astype(np.float32)


def test_counts_equal_a_plain_count_with_ties_and_filters(count: Callable[[int, int], int]) -> None:
    for seed in range(count(100, 10_000)):
        rng, scores = drawn(seed)
        targets = rng.integers(0, scores.shape[1], len(scores))
        known, lists = known_of(rng, *scores.shape)
        assert np.array_equal(ranking.count_better(scores, targets, known), reference.count_better(scores, targets, lists))


def test_the_best_equal_a_plain_sort(count: Callable[[int, int], int]) -> None:
    for seed in range(count(100, 10_000)):
        rng, scores = drawn(seed)
        excluded, lists = known_of(rng, *scores.shape)
        k = int(rng.choice([7, rng.integers(1, 2 * scores.shape[1] + 1)]))
        ids, best = ranking.top(scores, k, excluded)
        for row, expected in enumerate(reference.top(scores, k, lists)):
            assert ids[row].tolist() == expected.tolist() + [-1] * (k - len(expected))
            assert np.array_equal(best[row, : len(expected)], scores[row, expected])
            assert np.all(best[row, len(expected) :] == -np.inf)


@pytest.mark.parametrize("k", [0, -1])
def test_less_than_one_is_refused(k: int) -> None:
    with pytest.raises(ValueError, match=f"k must be at least 1, not {k}"):
        ranking.top(np.zeros((2, 5), np.float32), k, nothing_excluded(2))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_not_finite_is_an_error(value: float) -> None:
    scores = np.zeros((4, 50), np.float32)
    scores[2, 30] = value
    known, _ = known_of(np.random.default_rng(0), 4, 50)
    with pytest.raises(FloatingPointError):
        ranking.count_better(scores, np.zeros(4, np.int64), known)
    for k in (3, ranking.FEW + 1):
        with pytest.raises(FloatingPointError):
            ranking.top(scores, k, known)
