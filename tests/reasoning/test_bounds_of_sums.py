"""Lines above sigma: no choice of candidates is above the bound, and the bound is close."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from relatum.reasoning.bounds import reach_of, sigma_of


@pytest.mark.parametrize("sigma", ["sigmoid", "exp"])
@pytest.mark.parametrize("spread", [0.1, 1.0, 5.0])
def test_nothing_is_above_the_bound(sigma: str, spread: float) -> None:
    for seed in range(40):
        chance = np.random.default_rng(seed)
        windows, count = int(chance.integers(1, 12)), int(chance.integers(1, 4))
        given = chance.normal(size=(3, windows)) * spread
        sets = [chance.normal(size=(int(chance.integers(1, 5)), windows)) * spread for _ in range(count)]
        found = reach_of(sigma, given, sets)
        everything = np.full((3, *(len(one) for one in sets)), -np.inf)
        for places in itertools.product(*(range(len(one)) for one in sets)):
            inside = given + sum(one[place] for one, place in zip(sets, places, strict=True))
            everything[:, *places] = sigma_of(sigma, inside).sum(1)
        slack = 1e-9 * np.abs(everything).max()
        flat = everything.reshape(3, -1)
        assert (found.high >= flat.max(1) - slack).all()
        assert (found.children >= everything.reshape(3, len(sets[0]), -1).max(2) - slack).all()
        for row in range(3):
            assert found.low[row] == pytest.approx(everything[row, *found.choice[row]])


def test_the_bound_is_far_closer_than_that_of_each_window_alone() -> None:
    chance = np.random.default_rng(0)
    given, sets = chance.normal(size=(20, 50)), [chance.normal(size=(30, 50)) * 0.5 for _ in range(3)]
    found = reach_of("sigmoid", given, sets)
    alone = sigma_of("sigmoid", given + sum(one.max(0) for one in sets)).sum(1)
    assert (found.high - found.low < 0.25 * (alone - found.low)).all()


def test_what_is_too_large_for_a_number_is_not_let_go() -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        found = reach_of("exp", np.zeros((1, 2)), [np.array([[800.0, 0.0], [-800.0, 1.0]]), np.array([[1.0, 1.0]])])
    assert found.high[0] == np.inf
    assert (found.children == np.inf).all()
