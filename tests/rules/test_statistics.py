"""What counts say: shares that fall short, weights of evidence, unseen tuples, and the observed share with its interval."""

from __future__ import annotations

import math

import numpy as np
import pytest

from relatum import Hypergraph
from relatum.rules import estimate_observed_share
from relatum.rules.statistics import MOST_OBSERVED, HeadCounts, ObservedShare, deficit, evidence, observed_share, reach
from relatum.rules.views import TupleKeys, found_in
from relatum.synth.dataset import synthesize
from relatum.synth.settings import find_preset


def binomial(k: int, n: int, share: float) -> float:
    return math.comb(n, k) * share**k * (1 - share) ** (n - k)


def test_deficit_is_a_loss_of_likelihood_and_evidence_a_bayes_factor() -> None:
    assert deficit(60, 100, 0.8) == pytest.approx(math.log(binomial(60, 100, 0.6) / binomial(60, 100, 0.8)))
    assert deficit(0, 10, 0.8) == pytest.approx(-10 * math.log(0.2))
    assert deficit(80, 100, 0.8) == deficit(100, 100, 0.8) == deficit(0, 0, 0.8) == 0
    assert evidence(13, 20, 0.8) == pytest.approx(math.log(binomial(13, 20, 0.8) * 21 * 0.8))
    assert evidence(20, 20, 0.8) == evidence(16, 20, 0.8)
    assert evidence(160, 200, 0.8) > evidence(16, 20, 0.8) > evidence(13, 20, 0.8)


@pytest.mark.parametrize("observed", [0.55, 0.7, 0.8, 0.95])
def test_reach_is_the_share_of_tuples_that_keep_a_reason(observed: float) -> None:
    rng = np.random.default_rng(0)
    reasons = rng.geometric(0.5, 100_000)
    seen = rng.binomial(reasons, observed)
    assert reach(seen, observed) == pytest.approx(np.mean(seen > 0), abs=0.01)
    assert reach(np.ones(50, np.int64), observed) == pytest.approx(observed)
    assert reach(np.zeros(50, np.int64), observed) == observed


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


def heads_of(share: float, seed: int, inside: int = 30, partly: int = 30) -> list[HeadCounts]:
    """Return heads with two bodies each, of all of which `inside` lie within them, and any part of `partly` does."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(20, 300, inside + partly)
    parts = rng.permutation(np.concatenate([np.ones(inside), rng.random(partly)]))
    counts = list(zip(rng.binomial(sizes, share * parts).tolist(), sizes.tolist(), strict=True))
    return [(200, counts[start : start + 2]) for start in range(0, len(counts), 2)]


@pytest.mark.parametrize("share", [0.4, 0.6, 0.8, 0.95])
def test_it_is_where_bodies_gather_highest(share: float) -> None:
    found = observed_share(heads_of(share, 1))
    assert found == observed_share(heads_of(share, 1))
    assert found.value == pytest.approx(share, abs=0.02)
    assert found.low <= share <= found.high
    assert found.rules_used == pytest.approx(30, abs=10)


def test_what_gathers_lower_is_not_taken_for_it_and_the_interval_is_right() -> None:
    family: list[HeadCounts] = [(n, [(round(0.48 * n), n)]) for n in range(40, 100)]
    found = observed_share([*heads_of(0.8, 2), *family])
    assert found.value == pytest.approx(0.8, abs=0.02)
    covered = [(one.low <= 0.7 <= one.high) for one in (observed_share(heads_of(0.7, seed)) for seed in range(40))]
    assert np.mean(covered) >= 0.8


def test_more_rules_make_the_interval_narrower_and_complete_facts_are_known_to_be() -> None:
    few, many = (observed_share(heads_of(0.8, 3, inside=inside)) for inside in (8, 200))
    assert many.high - many.low < few.high - few.low
    found = observed_share([(50, [(50, 50)])] * 10)
    assert found.assumed > MOST_OBSERVED
    assert (found.high, found.rules_used) == (1, 10)
    assert found.low > 0.95


def test_where_nothing_gathers_or_nothing_is_counted_it_is_not_known() -> None:
    found = [observed_share(heads_of(0.9, seed, inside=0)) for seed in range(20)]
    unknown = [one for one in found if one.value is None]
    assert len(unknown) >= 15  # chance makes peaks too
    assert {(one.rules_used, one.assumed) for one in unknown} == {(0, MOST_OBSERVED)}
    assert all(0.3 < one.low <= 0.9 <= one.high for one in found)  # it is at least where the counts end
    assert observed_share([]) == ObservedShare(None, 0.0, 1.0, 0)
    assert observed_share([(90, [(3, 40), (11, 70)]), (60, [(30, 50)]), (10, [])]).value is None


@pytest.mark.parametrize("share", [0.4, 0.6, 0.8])
def test_a_few_that_gather_are_enough_and_one_above_widens_the_interval(share: float) -> None:
    heads: list[HeadCounts] = [(n, [(round(share * n), n), (n // 10, n)]) for n in range(60, 120, 10)]
    few, one_above = observed_share(heads), observed_share([*heads, (60, [(60, 60)])])
    assert few.value == pytest.approx(share, abs=0.02)
    assert one_above.value is None or one_above.high - one_above.low > few.high - few.low


def test_many_tuples_or_counts_are_no_problem() -> None:
    large: list[HeadCounts] = [(10**6, [(800_000 + 3_000 * (number % 3), 10**6)]) for number in range(20)]
    assert observed_share(large).value == pytest.approx(0.803, abs=0.005)
    assert observed_share(heads_of(0.8, 4, inside=2_000, partly=1_000)).value == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(("seed", "share"), [(3, 0.5), (93, 0.8), (7, 0.6)])
def test_the_share_of_a_synthetic_dataset_is_estimated(seed: int, share: float) -> None:
    truth = synthesize(find_preset("small"), seed).truth
    rng = np.random.default_rng(seed)
    found = estimate_observed_share(Hypergraph.of([fact for fact in truth if rng.random() < share]))
    assert found.value == pytest.approx(share, abs=0.04)
    assert found.to_dict() == {"value": found.value, "low": found.low, "high": found.high, "rules_used": found.rules_used}
