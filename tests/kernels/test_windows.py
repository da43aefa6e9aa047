"""Sums over windows agree with numpy, gradients included, for one thread and many."""

from __future__ import annotations

import numpy as np
import pytest

from relatum.kernels import parallel
from relatum.kernels.windows import window_gradients, window_sums


@pytest.mark.parametrize("count", [0, 1, 700, 3000])
@pytest.mark.parametrize("window", [1, 2, 3, 4, 12])
def test_sums_and_gradients_agree_with_numpy(count: int, window: int) -> None:
    rng = np.random.default_rng(window)
    groups = 1 if count % 7 else 7
    values = rng.normal(size=(count, 12)).astype(np.float32)
    weights = rng.normal(size=(groups, 12)).astype(np.float32)
    upstream = rng.normal(size=(count, 12 // window)).astype(np.float32)
    results = []
    for threads in (1, 2):
        parallel.set_threads(threads)
        results.append([window_sums(values, weights, window), *window_gradients(values, weights, window, upstream)])
    parallel.set_threads(None)
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(*results, strict=True))
    slopes = np.repeat(upstream.astype(np.float64), window, axis=1)
    each = np.repeat(weights, count // groups, axis=0)
    of_weights = (slopes * values).reshape(groups, count // groups, 12).sum(1)
    expected = [(values * each).reshape(count, 12 // window, window).sum(-1), slopes * each, of_weights]
    for found, wanted in zip(results[0], expected, strict=True):
        assert np.allclose(found, wanted, rtol=1e-4, atol=1e-4)
