"""The compiled sums of HINGE and NeuInfer agree with numpy, gradients included."""

from __future__ import annotations

import numpy as np
import pytest

from relatum.kernels import parallel, qualifier_scores
from support import reference_kernels as reference

SHAPES = [(1, 1, 1), (5, 127, 3), (4, 129, 8), (9, 300, 17), (0, 3, 2), (3, 0, 2)]


def drawn(queries: int, candidates: int, hidden: int, halves: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(hidden)
    shapes = (queries, 2 * hidden), (candidates, halves * hidden), (hidden,)
    q, c, weights = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
    return q, c, weights


@pytest.mark.parametrize("halves", [1, 2])
@pytest.mark.parametrize(("queries", "candidates", "hidden"), SHAPES)
def test_sums_and_gradients_agree_with_numpy(queries: int, candidates: int, hidden: int, halves: int) -> None:
    sides = drawn(queries, candidates, hidden, halves)
    q, c, weights = sides
    tiles = qualifier_scores.pack(c)
    sums = qualifier_scores.forward(q, tiles, candidates, weights)
    wide = [values.astype(np.float64) for values in sides]
    assert np.allclose(sums, reference.qualifier_scores(*wide), atol=1e-5)
    upstream = np.random.default_rng(1).normal(size=sums.shape).astype(np.float32)
    for number, gradient in enumerate(qualifier_scores.backward(q, tiles, candidates, weights, upstream)):
        assert gradient.shape == sides[number].shape
        direction = np.random.default_rng(number).normal(size=gradient.shape)
        moved = [
            reference.qualifier_scores(*[v + way * direction if n == number else v for n, v in enumerate(wide)])
            for way in (1e-7, -1e-7)
        ]
        slope = np.sum((moved[0] - moved[1]) / 2e-7 * upstream)
        assert np.sum(gradient * direction) == pytest.approx(slope, rel=1e-3, abs=1e-2)


def test_infinity_limits_nothing_and_has_no_gradient() -> None:
    q, c, weights = drawn(3, 140, 5, 1)
    q[:, :5] = np.inf
    tiles = qualifier_scores.pack(c)
    sums = qualifier_scores.forward(q, tiles, 140, weights)
    expected = np.maximum(q[:, None, 5:] + c, 0)
    assert np.allclose(sums, expected @ weights, atol=1e-5)
    of_queries, of_candidates, of_weights = qualifier_scores.backward(q, tiles, 140, weights, np.ones_like(sums))
    assert not of_queries[:, :5].any()
    assert np.allclose(of_candidates, (expected > 0).sum(0) * weights, atol=1e-4)
    assert np.allclose(of_weights, expected.sum((0, 1)), rtol=1e-4)


@pytest.mark.parametrize("halves", [1, 2])
def test_where_both_sums_are_equal_the_first_has_the_gradient(halves: int) -> None:
    q, c = np.array([[3, 1]], np.float32), np.array([[0, 2]], np.float32)[:, 2 - halves :]
    of_queries, of_candidates, of_weights = qualifier_scores.backward(
        q, qualifier_scores.pack(c), 1, np.ones(1, np.float32), np.ones((1, 1), np.float32)
    )
    assert of_queries.tolist() == [[1, 0]]
    assert of_candidates.tolist() == [[1, 0][2 - halves :]]
    assert of_weights.tolist() == [3]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_an_error(bad: float) -> None:
    for halves, half in ((1, 1), (2, 0), (2, 1)):
        q, c, weights = drawn(2, 40, 5, halves)
        tiles = qualifier_scores.pack(c)
        q[1, 5 * half + 3] = bad
        if half or bad != np.inf:
            with pytest.raises(FloatingPointError):
                qualifier_scores.forward(q, tiles, 40, weights)
        c[20, 4] = bad
        with pytest.raises(FloatingPointError):
            qualifier_scores.pack(c)


@pytest.mark.parametrize("halves", [1, 2])
def test_one_thread_and_many_give_the_same_bits(halves: int) -> None:
    q, c, weights = drawn(20, 3000, 12, halves)
    upstream = np.random.default_rng(1).normal(size=(20, 3000)).astype(np.float32)
    results = []
    for threads in (1, 2, 3):
        parallel.set_threads(threads)
        tiles = qualifier_scores.pack(c)
        sums = qualifier_scores.forward(q, tiles, 3000, weights)
        results.append([sums, *qualifier_scores.backward(q, tiles, 3000, weights, upstream)])
    parallel.set_threads(None)
    for other in results[1:]:
        assert all(np.array_equal(mine, theirs) for mine, theirs in zip(results[0], other, strict=True))
