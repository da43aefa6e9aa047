"""Adagrad on rows agrees with plain numpy and touches no other row."""

from __future__ import annotations

import numpy as np
import pytest

from relatum.kernels.rows import adagrad, block
from support import reference_kernels as reference


@pytest.mark.parametrize("decay", [0.0, 0.01])
@pytest.mark.parametrize("count", [0, 1, 700, 1500])
def test_steps_agree_with_numpy(count: int, decay: float) -> None:
    rng = np.random.default_rng(count)
    table, history = rng.normal(size=(2000, 8)).astype(np.float32), rng.random((2000, 8)).astype(np.float32)
    rows = rng.permutation(2000)[:count]
    gradient = rng.normal(size=(count, 8)).astype(np.float32)
    expected = reference.adagrad(table, history, rows, gradient, 0.1, decay, 1e-10)
    adagrad(table, history, rows, gradient, 0.1, decay)
    assert np.allclose(table, expected[0], rtol=1e-6, atol=1e-7)
    assert np.allclose(history, expected[1], rtol=1e-6)


def test_a_gradient_of_zero_from_the_start_moves_nothing() -> None:
    table, history = np.ones((3, 2), np.float32), np.zeros((3, 2), np.float32)
    adagrad(table, history, np.array([1]), np.zeros((1, 2), np.float32), 0.5)
    assert np.array_equal(table, np.ones((3, 2)))


@pytest.mark.parametrize("columns", [[], [0, 3, 7], range(8, 24), [*range(8), *range(12, 20)], [*range(9), *range(12, 19)]])
def test_columns_in_runs_are_the_columns(columns: list[int]) -> None:
    rng = np.random.default_rng(0)
    table, history = rng.normal(size=(9, 24)).astype(np.float32), rng.random((9, 24)).astype(np.float32)
    rows, chosen = np.array([1, 4, 8]), np.array(columns, np.int64)
    where = np.ix_(rows, chosen)
    assert np.array_equal(block(table, rows, chosen), table[where])
    gradient = rng.normal(size=(3, len(chosen))).astype(np.float32)
    part, of_part = table[:, chosen].copy(), history[:, chosen].copy()
    adagrad(part, of_part, rows, gradient, 0.1, 0.01)
    before = table.copy()
    adagrad(table, history, rows, gradient, 0.1, 0.01, columns=chosen)
    assert np.array_equal(table[:, chosen], part)
    assert np.array_equal(history[:, chosen], of_part)
    others = np.setdiff1d(np.arange(24), chosen)
    assert np.array_equal(table[:, others], before[:, others])


def test_a_part_of_the_rows_is_moved_and_no_other() -> None:
    rng = np.random.default_rng(0)
    whole = rng.normal(size=(9, 4)).astype(np.float32)
    parts, histories = whole.copy(), [np.ones((9, 4), np.float32) for _ in range(2)]
    rows, gradient = np.array([1, 4, 8]), rng.normal(size=(3, 4)).astype(np.float32)
    adagrad(whole, histories[0], rows, gradient, 0.1)
    for among in ((0, 2), (2, 5), (5, 9)):
        adagrad(parts, histories[1], rows, gradient, 0.1, among=among)
        assert np.array_equal(parts[: among[1]], whole[: among[1]])
    assert np.array_equal(parts, whole)
    assert np.array_equal(*histories)
