"""Adagrad on rows agrees with plain numpy and touches no other row."""

from __future__ import annotations

import numpy as np
import pytest

from relatum.kernels import reference
from relatum.kernels.rows import adagrad


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
