"""The mixture believes the rules that foretell what facts have, and knows where it can say nothing."""

from __future__ import annotations

import numpy as np
import pytest

from relatum.evidence.doubt import Mixture


def counts_of(rng: np.random.Generator, facts: int, right: float) -> tuple[np.ndarray, np.ndarray]:
    """Draw a rule that names what facts have as often as `right` says, one that never does, and a frequency."""
    good = np.where(rng.random(facts) < right, 3, 0)
    own = np.stack([good, np.zeros(facts, int), rng.integers(1, 20, facts)])
    return own, np.stack([np.full(facts, 3), np.full(facts, 3), np.full(facts, 400)])


def test_a_rule_that_is_right_is_believed_and_one_that_is_not_is_not() -> None:
    own, total = counts_of(np.random.default_rng(0), 500, 0.9)
    mixture = Mixture.fitted(own, total, 40, 0)
    by_rule = mixture.rule_weights(total[:, 0])
    assert by_rule[0] == pytest.approx(0.88, abs=0.06)
    assert by_rule[1] < 0.01
    supported, unsupported = mixture.likelihood(np.array([[3, 0], [0, 0], [5, 5]]), total[:, :2])
    assert supported > 0.8
    assert unsupported < 1 / 40  # rather an accident


def test_fitting_makes_facts_likelier_and_shares_never_exceed_one() -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        own, total = counts_of(rng, 200, rng.random())
        plain = Mixture(40, 0, np.ones((5, 5)))
        fitted = Mixture.fitted(own, total, 40, 0)
        assert np.log(fitted.likelihood(own, total)).sum() >= np.log(plain.likelihood(own, total)).sum()
        assert (fitted.likelihood(own, total) <= 1).all()


def test_a_value_of_its_own_in_every_fact_is_as_likely_as_any() -> None:
    own, total = np.zeros((1, 100), np.int64), np.full((1, 100), 99)
    found = Mixture.fitted(own, total, 100, 100).likelihood(own, total)
    assert np.allclose(found, 1 / 100, rtol=0.05)


def test_a_rule_that_finds_nothing_says_nothing() -> None:
    own, total = counts_of(np.random.default_rng(1), 300, 0.9)
    mixture = Mixture.fitted(own, total, 40, 0)
    assert mixture.rule_weights(np.array([0, 3, 400]))[0] == 0
