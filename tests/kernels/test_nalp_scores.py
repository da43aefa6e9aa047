"""NaLP's compiled combine agrees with numpy, gradients included."""

from __future__ import annotations

import numpy as np
import pytest

from relatum.kernels import nalp_scores, parallel
from support import reference_kernels as reference


def drawn(queries: int, candidates: int, hidden: int, seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    sides = (rng.normal(size=(rows, 2 * hidden)).astype(np.float32) for rows in (queries, candidates))
    return (*sides, *rng.normal(size=(2, hidden)).astype(np.float32))


@pytest.mark.parametrize(
    ("queries", "candidates", "hidden"), [(1, 1, 1), (5, 127, 3), (4, 129, 8), (9, 300, 17), (0, 3, 2), (3, 0, 2)]
)
def test_scores_and_gradients_agree_with_numpy(queries: int, candidates: int, hidden: int) -> None:
    q, k, bias, weights = drawn(queries, candidates, hidden, hidden)
    scores = nalp_scores.forward(q, nalp_scores.pack(k), candidates, bias, weights, 0.5)
    wide = [values.astype(np.float64) for values in (q, k, bias, weights)]
    assert np.allclose(scores, reference.minimum_scores(*wide, 0.5), atol=1e-5)
    upstream = np.random.default_rng(1).normal(size=scores.shape).astype(np.float32)
    gradients = nalp_scores.backward(q, nalp_scores.pack(k), candidates, bias, weights, upstream)
    for place, gradient in enumerate(gradients):
        direction = np.random.default_rng(place).normal(size=gradient.shape)
        moved = [
            reference.minimum_scores(*[v + way * direction if n == place else v for n, v in enumerate(wide)], 0.5)
            for way in (1e-7, -1e-7)
        ]
        slope = np.sum((moved[0] - moved[1]) / 2e-7 * upstream)
        assert np.sum(gradient * direction) == pytest.approx(slope, rel=1e-3, abs=1e-2)


def test_an_infinite_query_stands_for_no_other_entity() -> None:
    q, k, bias, weights = drawn(2, 40, 5, 0)
    q[:] = np.inf
    scores = nalp_scores.forward(q, nalp_scores.pack(k), 40, bias, weights, 0.0)
    assert np.allclose(scores, reference.minimum_scores(q, k, bias, weights, 0.0), atol=1e-5)


def test_a_nan_is_an_error() -> None:
    q, k, bias, weights = drawn(2, 40, 5, 0)
    tiles = nalp_scores.pack(k)
    q[1, 3] = k[20, 4] = np.nan
    with pytest.raises(FloatingPointError):
        nalp_scores.pack(k)
    with pytest.raises(FloatingPointError):
        nalp_scores.forward(q, tiles, 40, bias, weights, 0.0)


def test_one_thread_and_many_give_the_same_bits() -> None:
    q, k, bias, weights = drawn(20, 3000, 12, 3)
    upstream = np.random.default_rng(1).normal(size=(20, 3000)).astype(np.float32)
    results = []
    for threads in (1, 2, 3):
        parallel.set_threads(threads)
        tiles = nalp_scores.pack(k)
        scores = nalp_scores.forward(q, tiles, 3000, bias, weights, 0.0)
        results.append([scores, *nalp_scores.backward(q, tiles, 3000, bias, weights, upstream)])
    parallel.set_threads(None)
    for other in results[1:]:
        assert all(np.array_equal(mine, theirs) for mine, theirs in zip(results[0], other, strict=True))
