"""The compiled log-odds of a mean of probabilities agree with numpy, slopes included, however large they are."""

from __future__ import annotations

import numpy as np
import pytest

from relatum.kernels import parallel
from relatum.kernels.mean_log_odds import mean_log_odds
from support import reference_kernels as reference

SIZES = (0.1, 3.0, 30.0, 300.0, 1e6)


def drawn(spread: float, count: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    x, y = (spread * np.random.default_rng(0).normal(size=(2, count))).astype(np.float32)
    y[::7] = x[::7]  # of two that are equal, either is the higher
    x[3], y[5], x[9], y[9] = 0, 0, 0, 0
    return x, y


@pytest.mark.parametrize("weight", [0.3, 0.5, 0.999])
@pytest.mark.parametrize("spread", SIZES)
def test_values_and_slopes_agree_with_numpy(spread: float, weight: float) -> None:
    x, y = drawn(spread)
    odds, of_x, of_y = mean_log_odds(x, y, weight, sloped=True)
    wide, step = (x.astype(np.float64), y.astype(np.float64)), 1e-4
    assert np.allclose(odds, reference.mean_log_odds(*wide, weight), rtol=1e-6, atol=2e-6)
    slopes = [
        (reference.mean_log_odds(*(v + step * (n == moved) for n, v in enumerate(wide)), weight)
        - reference.mean_log_odds(*(v - step * (n == moved) for n, v in enumerate(wide)), weight)) / (2 * step)
        for moved in range(2)
    ]  # fmt: skip
    assert np.allclose(of_x, slopes[0], rtol=1e-4, atol=2e-6)
    assert np.allclose(of_y, slopes[1], rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("spread", SIZES)
def test_more_of_either_is_never_less(spread: float) -> None:
    x = np.sort(drawn(spread)[0])
    for y in (-spread, 0.0, spread):
        odds = mean_log_odds(x, np.full_like(x, y), 0.3, sloped=False)[0].astype(np.float64)
        assert (np.diff(odds) >= -1e-6 * max(1.0, spread)).all()


def test_equal_log_odds_are_their_own_mean() -> None:
    x = np.linspace(-200, 200, 999, dtype=np.float32)
    assert np.allclose(mean_log_odds(x, x, 0.3, sloped=False)[0], x, atol=2e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_no_number(bad: float) -> None:
    x, y = drawn(1.0)
    x[4], y[700] = bad, bad
    odds, _, _ = mean_log_odds(x, y, 0.3, sloped=False)
    assert np.flatnonzero(np.isnan(odds)).tolist() == [4, 700]


def test_equal_numbers_give_equal_bits_wherever_they_stand_and_by_any_number_of_threads() -> None:
    x, y = np.float32(1.234), np.float32(-0.567)
    results = []
    for threads in (1, 3):
        parallel.set_threads(threads)
        for count in (1, 127, 129, 30_001):
            found = mean_log_odds(np.full((1, count), x), np.full((1, count), y), 0.3, sloped=True)
            results += [each.ravel() for each in found]
    parallel.set_threads(None)
    for kind in range(3):
        assert len(np.unique(np.concatenate(results[kind::3]))) == 1
