"""What counts say: shares that fall short, weights of evidence, and unseen tuples."""

from __future__ import annotations

import math

import numpy as np
import pytest

from relatum.rules.statistics import deficit, evidence, reach
from relatum.rules.views import TupleKeys, found_in


def binomial(k: int, n: int, share: float) -> float:
    return math.comb(n, k) * share**k * (1 - share) ** (n - k)


def test_deficit_is_the_loss_of_likelihood_and_only_too_few_have_one() -> None:
    assert deficit(60, 100, 0.8) == pytest.approx(math.log(binomial(60, 100, 0.6) / binomial(60, 100, 0.8)))
    assert deficit(0, 10, 0.8) == pytest.approx(-10 * math.log(0.2))
    assert deficit(80, 100, 0.8) == deficit(100, 100, 0.8) == deficit(0, 0, 0.8) == 0


def test_evidence_is_a_bayes_factor_against_a_uniform_smaller_share() -> None:
    # A share that is uniform from 0 to 1 makes every count from 0 to n as likely, 1 / (n + 1); up to 0.8, those up to 0.8 n.
    assert evidence(13, 20, 0.8) == pytest.approx(math.log(binomial(13, 20, 0.8) * 21 * 0.8))
    assert evidence(20, 20, 0.8) == evidence(16, 20, 0.8)
    assert evidence(160, 200, 0.8) > evidence(16, 20, 0.8) > evidence(13, 20, 0.8)


@pytest.mark.parametrize("observed", [0.55, 0.7, 0.8, 0.95])
def test_reach_is_the_share_of_tuples_that_keep_a_reason(observed: float) -> None:
    rng = np.random.default_rng(0)
    reasons = rng.geometric(0.5, 100_000)
    seen = rng.binomial(reasons, observed)
    assert reach(seen, observed) == pytest.approx(np.mean(seen > 0), abs=0.01)


def test_reach_of_single_reasons_is_the_observed_share() -> None:
    assert reach(np.ones(50, np.int64), 0.8) == pytest.approx(0.8)
    assert reach(np.ones(50, np.int64), 0.4) == pytest.approx(0.4)
    assert reach(np.zeros(50, np.int64), 0.8) == 0.8


def test_keys_tell_tuples_apart_and_do_not_depend_on_the_process() -> None:
    keys = TupleKeys(50, 3)
    columns = np.array(np.meshgrid(*[np.arange(50)] * 3)).reshape(3, -1).astype(np.int32)
    found = keys.of(columns)
    assert len(np.unique(found)) == 50**3
    assert np.array_equal(found, TupleKeys(50, 3).of(columns))


def test_keys_are_found_among_sorted_ones() -> None:
    known = np.array([2, 5, 9], np.uint64)
    inside, places = found_in(np.array([9, 1, 5, 10], np.uint64), known)
    assert inside.tolist() == [True, False, True, False]
    assert places[[0, 2]].tolist() == [2, 1]
    assert not found_in(known, np.empty(0, np.uint64))[0].any()
