"""The compiled scores of NaLP, HINGE and NeuInfer agree with numpy, gradients included."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from relatum.kernels import parallel
from relatum.kernels.jit import TILE
from relatum.kernels.minima import Gradients, mean_log_odds, minima_of_pairs, minima_of_sums
from support import reference_kernels as reference

Kernel = Callable[..., tuple[np.ndarray, Gradients]]

SHAPES = [(1, 1, 1), (5, TILE - 1, 3), (4, TILE, 8), (9, 300, 17), (3, TILE + 1, 2), (0, 3, 2), (3, 0, 2), (3, 5, 0)]
# The kernel, its twin, how many halves a candidate has, and how many vectors there are beside the sides.
KINDS: dict[str, tuple[Kernel, Callable[..., np.ndarray], int, int]] = {
    "pairs": (minima_of_pairs, lambda *arrays: reference.minimum_scores(*arrays, 0.0), 2, 2),
    "sums, one half": (minima_of_sums, reference.qualifier_scores, 1, 1),
    "sums": (minima_of_sums, reference.qualifier_scores, 2, 1),
}


def drawn(kind: str, queries: int, candidates: int, hidden: int) -> list[np.ndarray]:
    *_, halves, others = KINDS[kind]
    rng = np.random.default_rng(hidden)
    shapes = [(queries, 2 * hidden), (candidates, halves * hidden), *[(hidden,)] * others]
    return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_scores_and_gradients_agree_with_numpy(kind: str, shape: tuple[int, int, int]) -> None:
    kernel, twin, *_ = KINDS[kind]
    sides = drawn(kind, *shape)
    wide = [values.astype(np.float64) for values in sides]
    scores, gradients = kernel(*sides)
    assert np.allclose(scores, twin(*wide), atol=1e-5)
    upstream = np.random.default_rng(1).normal(size=scores.shape).astype(np.float32)
    for number, gradient in enumerate(gradients(upstream)):
        assert gradient.shape == sides[number].shape
        direction = np.random.default_rng(number).normal(size=gradient.shape)
        moved = [twin(*[v + way * direction if n == number else v for n, v in enumerate(wide)]) for way in (1e-7, -1e-7)]
        slope = np.sum((moved[0] - moved[1]) / 2e-7 * upstream)
        assert np.sum(gradient * direction) == pytest.approx(slope, rel=1e-3, abs=1e-2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("side", "feature"), [(0, 3), (0, 8), (1, 4)])
def test_what_would_be_hidden_is_an_error(kind: str, bad: float, side: int, feature: int) -> None:
    kernel, _, _, others = KINDS[kind]
    sides = drawn(kind, 2, 40, 5)
    sides[side][1, feature] = bad
    if np.isnan(bad) or (others == 1 and not (side == 0 and feature < 5 and bad > 0)):
        with pytest.raises(FloatingPointError):
            kernel(*sides)
    else:
        kernel(*sides)  # a minimum shows it, or it limits nothing


@pytest.mark.parametrize("kind", KINDS)
def test_one_thread_and_many_give_the_same_bits(kind: str) -> None:
    sides, results = drawn(kind, 20, 3000, 12), []
    upstream = np.random.default_rng(1).normal(size=(20, 3000)).astype(np.float32)
    for threads in (1, 2, 3):
        parallel.set_threads(threads)
        scores, gradients = KINDS[kind][0](*sides)
        results.append([scores, *gradients(upstream)])
    for other in results[1:]:
        assert all(np.array_equal(mine, theirs) for mine, theirs in zip(results[0], other, strict=True))


SPREADS = (0.1, 3.0, 30.0, 300.0, 1e6)


def log_odds(spread: float, count: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    x, y = (spread * np.random.default_rng(0).normal(size=(2, count))).astype(np.float32)
    y[::7] = x[::7]  # of two that are equal, either is the higher
    x[3:4], y[5:6], x[9:10], y[9:10] = 0, 0, 0, 0
    return x, y


@pytest.mark.parametrize("weight", [0.3, 0.5, 0.999])
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("count", [0, 1, TILE, 1000])
def test_values_and_slopes_of_log_odds_agree_with_numpy(count: int, spread: float, weight: float) -> None:
    x, y = log_odds(spread, count)
    odds, *slopes = mean_log_odds(x, y, weight, sloped=True)
    wide, step = (x.astype(np.float64), y.astype(np.float64)), 1e-4
    assert np.allclose(odds, reference.mean_log_odds(*wide, weight), rtol=1e-6, atol=2e-6)
    for moved, slope in enumerate(slopes):
        ahead, behind = (
            reference.mean_log_odds(*(v + way * (n == moved) for n, v in enumerate(wide)), weight) for way in (step, -step)
        )
        assert np.allclose(slope, (ahead - behind) / (2 * step), rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_log_odds_that_are_not_finite_are_no_numbers(bad: float) -> None:
    x, y = log_odds(1.0)
    x[4], y[700] = bad, bad
    odds, _, _ = mean_log_odds(x, y, 0.3, sloped=False)
    assert np.flatnonzero(np.isnan(odds)).tolist() == [4, 700]


def test_equal_log_odds_give_equal_bits_wherever_they_stand_and_by_any_number_of_threads() -> None:
    x, y = np.float32(1.234), np.float32(-0.567)
    results = []
    for threads in (1, 3):
        parallel.set_threads(threads)
        for count in (1, 127, 129, 30_001):
            found = mean_log_odds(np.full((1, count), x), np.full((1, count), y), 0.3, sloped=True)
            results += [each.ravel() for each in found]
    for kind in range(3):
        assert len(np.unique(np.concatenate(results[kind::3]))) == 1
