"""Fits end where a convex cost is lowest: no slope is left, but one that a lower bound holds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from relatum.arrays import Float64
from relatum.fitting import log_odds, logistic, minimize, never_falling, newton, sigmoid

SEEDS = st.integers(0, 1 << 30)


def test_probabilities_and_logits_are_each_others_inverse() -> None:
    shares = np.linspace(1e-6, 1 - 1e-6, 101)
    np.testing.assert_allclose(sigmoid(log_odds(shares)), shares, rtol=1e-12)
    with np.errstate(all="raise"):
        assert sigmoid(np.array([-1e308, 0, 1e308])).tolist() == [pytest.approx(0, abs=1e-300), 0.5, 1.0]


@given(SEEDS, st.sampled_from([1e-3, 1.0, 4.0]), st.booleans())
def test_logistic_regression_ends_without_a_slope(seed: int, strength: float, soft: bool) -> None:
    rng = np.random.default_rng(seed)
    size, count = int(rng.integers(1, 60)), int(rng.integers(1, 4))
    features, weight, prior = rng.normal(0, 3, (size, count)), rng.uniform(0.1, 5, size), rng.normal(0, 1, count)
    right = rng.uniform(0, 1, size) if soft else rng.random(size) < 0.5  # what is apart may be, too
    found = logistic(features, right, weight, prior, strength)
    slopes = features.T @ (weight * (sigmoid(features @ found) - right)) + strength * (found - prior)
    np.testing.assert_allclose(slopes, 0, atol=1e-4)


@given(SEEDS)
def test_no_weight_is_below_its_bound_and_only_bounds_hold_slopes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 6))
    root, centre, least = rng.normal(0, 1, (count, count)), rng.normal(0, 2, count), rng.normal(0, 1, count)
    curved = root @ root.T + 0.1 * np.eye(count)

    def cost(at: Float64) -> tuple[float, Callable[[], tuple[Float64, Float64]]]:
        away = at - centre
        return float(away @ curved @ away / 2 + (away**4).sum()), lambda: (
            curved @ away + 4 * away**3,
            curved + np.diag(12 * away**2),
        )

    found = newton(cost, rng.normal(0, 5, count), steps=200, close=1e-14, least=least)
    slopes = cost(found)[1]()[0]
    assert (found >= least).all()
    np.testing.assert_allclose(slopes[found > least], 0, atol=1e-3)
    assert (slopes[found == least] > -1e-3).all()


def test_a_step_that_overshoots_is_damped() -> None:
    def cost(at: Float64) -> tuple[float, Callable[[], tuple[Float64, Float64]]]:
        return float(np.sqrt(1 + at @ at)), lambda: (at / np.sqrt(1 + at @ at), np.diag((1 + at**2) ** -1.5))

    found = newton(cost, np.array([3.0]), steps=60, close=1e-14)  # plain steps go from 3 to -27
    assert abs(found[0]) < 1e-6


def test_parameters_move_to_the_lowest_cost() -> None:
    rng = np.random.default_rng(0)
    root, goal = rng.normal(0, 1, (5, 5)), rng.normal(0, 1, 5)
    curved, wanted = torch.from_numpy(root @ root.T + np.eye(5)), torch.from_numpy(goal)
    first, rest = (torch.zeros(size, dtype=torch.float64, requires_grad=True) for size in (2, 3))

    def cost() -> torch.Tensor:
        away = torch.cat([first, rest]) - wanted
        return away @ curved @ away

    minimize(cost, [first, rest], 100)
    np.testing.assert_allclose(torch.cat([first, rest]).detach().numpy(), goal, atol=1e-5)


@given(SEEDS)
def test_a_curve_that_never_falls_is_the_nearest_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 12))
    values, weights = rng.integers(0, 6, size).astype(np.float64), rng.uniform(0.1, 3, size)

    def mean(start: int, stop: int) -> float:
        return float(np.average(values[start : stop + 1], weights=weights[start : stop + 1]))

    ends = range(size)
    slowly = [max(min(mean(start, stop) for stop in ends if stop >= at) for start in ends if start <= at) for at in ends]
    np.testing.assert_allclose(never_falling(values, weights), slowly)
