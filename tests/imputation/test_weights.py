"""Weights by maximum likelihood."""

from __future__ import annotations

import numpy as np
import pytest

from relatum.imputation.weights import best_of, calibrated, fit_curve, fit_weights, gain_of, probabilities


def sampled(rows: int, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, which candidates are open, and answers drawn by true weights."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(rows, 5, len(truth)))
    is_open = np.ones((rows, 5), np.bool_)
    is_open[::3, 4] = False
    features[~is_open] = 0
    shares = probabilities(features @ truth, is_open)
    right = np.array([rng.choice(5, p=one) for one in shares])
    return features, is_open, right


def cost(at: np.ndarray, case: tuple[np.ndarray, ...], pull: np.ndarray, centre: np.ndarray | float = 0.0) -> float:
    features, is_open, right = case
    shares = probabilities(features @ at, is_open)[np.arange(len(right)), right]
    return float(-np.log(shares).sum() + 0.5 * (pull * (at - centre) ** 2).sum())


@pytest.mark.parametrize("seed", range(10))
def test_no_step_away_makes_the_answers_likelier(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features, is_open, right = sampled(int(rng.choice([1, 30, 600])), np.array([1.0, -0.5, 0.3]))
    centre, pull = rng.normal(size=3), rng.uniform(0.1, 5, 3)
    least, times = np.array([-np.inf, 0.0, -0.5]), rng.integers(0, 3, len(right))
    found = fit_weights(features, is_open, right, centre, pull, least, times=times.astype(np.float64))
    rows = np.repeat(np.arange(len(right)), times)  # a cell that stands for several counts as often
    given = (features[rows], is_open[rows], right[rows]), pull, centre
    assert (found >= least).all()
    shares = probabilities(features @ found, is_open)
    assert (shares[~is_open] == 0).all()
    np.testing.assert_allclose(shares.sum(1), 1)
    for step in (*0.02 * np.eye(3), *-0.02 * np.eye(3)):
        assert cost(np.maximum(found + step, least), *given) >= cost(found, *given) - 1e-6


def test_the_gain_of_a_feature_is_about_what_it_adds() -> None:
    features, is_open, right = sampled(3000, np.array([1.0, 0.15]))
    pull, least = np.full(2, 1e-3), np.zeros(2)
    alone = fit_weights(features[..., :1], is_open, right, np.zeros(1), pull[:1], least[:1])
    shares = probabilities(features[..., :1] @ alone, is_open)
    both = fit_weights(features, is_open, right, np.zeros(2), pull, least)
    added = cost(np.append(alone, 0), (features, is_open, right), pull) - cost(both, (features, is_open, right), pull)
    assert abs(gain_of(features[..., 1], shares, right, 1e-3) - added) < 0.2 * added
    assert gain_of(-features[..., 1], shares, right, 1e-3) == 0, "what speaks against answers is no gain"


def test_a_curve_says_how_often_the_best_are_right() -> None:
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(6, 0.5), 4000)
    said, _ = best_of(shares, np.zeros(4000, np.int64))
    right = np.where(rng.random(4000) < said**2, shares[:, :-1].argmax(1), 5)
    said, hit = best_of(shares, right)
    curve = fit_curve(said, hit)
    found, _ = best_of(calibrated(shares, curve), right)
    assert abs(said.mean() - hit.mean()) > 0.1
    assert abs(found.mean() - hit.mean()) < 0.03


def test_calibrated_shares_sum_to_1_and_the_best_stay_best() -> None:
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.full(8, 0.3), 500)
    shares[:100] = [0.26, 0.25, 0.25, 0.2, 0.01, 0.01, 0.01, 0.01]
    for curve in ((0.5, -2.0), (1.5, 1.0), (1.0, -4.0)):
        found = calibrated(shares, curve)
        np.testing.assert_allclose(found.sum(1), 1)
        np.testing.assert_array_equal(found[:, :-1].argmax(1), shares[:, :-1].argmax(1))
        assert (found >= 0).all()
    logit = 0.8 * np.log(0.26 / 0.74) - 0.5
    np.testing.assert_allclose(calibrated(shares, (0.8, -0.5))[:100, 0], 1 / (1 + np.exp(-logit)))


def test_what_equal_candidates_lose_goes_to_all_other_values() -> None:
    shares = np.full((2, 6), 0.15)
    shares[:, -1] = 0.25, 0.0
    shares[1] /= shares[1].sum()
    found = calibrated(shares, (1.0, -2.0))
    wanted = 1 / (1 + np.exp(-(np.log(0.15 / 0.85) - 2)))
    np.testing.assert_allclose(found[0], [wanted] * 5 + [1 - 5 * wanted])
    np.testing.assert_allclose(found[1], shares[1], atol=1e-3)  # there are no others
