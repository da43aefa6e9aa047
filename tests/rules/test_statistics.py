"""What counts say: shares that fall short, weights of evidence, unseen tuples, and the observed share itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

from relatum.rules.statistics import MOST_OBSERVED, deficit, evidence, observed_share, reach
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


@pytest.mark.parametrize("observed", [0.4, 0.6, 0.8, 0.95])
def test_the_observed_share_is_where_bodies_gather_highest(observed: float) -> None:
    rng = np.random.default_rng(1)
    sizes = rng.integers(20, 300, 60)
    inside = rng.binomial(sizes[:30], observed)
    partly = rng.binomial(sizes[30:], observed * 0.6)  # they gather too, but lower
    counts = list(zip([*inside.tolist(), *partly.tolist()], sizes.tolist(), strict=True))
    assert observed_share(counts) == pytest.approx(observed, abs=0.02)


def test_where_nothing_gathers_nothing_is_taken_to_be_missing() -> None:
    assert observed_share([]) == MOST_OBSERVED
    assert observed_share([(3, 40), (11, 70), (30, 50)]) == MOST_OBSERVED


@pytest.mark.parametrize("observed", [0.4, 0.6, 0.8])
def test_a_few_that_gather_are_enough_unless_one_is_clearly_above(observed: float) -> None:
    sizes = [60, 80, 100]
    counts = [(round(observed * n), n) for n in sizes] + [(n // 10, n) for n in sizes]
    assert observed_share(counts) == pytest.approx(observed, abs=0.02)
    assert observed_share([*counts, (60, 60)]) == MOST_OBSERVED


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
