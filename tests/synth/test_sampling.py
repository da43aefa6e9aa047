"""Whole numbers in proportion, and drawing from groups."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from relatum.synth.sampling import apportion, draw_from_groups

weights = st.lists(st.floats(0, 100) | st.just(0.0), min_size=1, max_size=8).filter(lambda found: sum(found) > 1e-3)


@given(st.integers(0, 1_000), weights)
def test_the_sum_is_the_total_and_no_number_is_one_away_from_its_share(total: int, given_weights: list[float]) -> None:
    counts = apportion(total, given_weights)
    exact = np.array(given_weights) * total / sum(given_weights)
    assert counts.sum() == total
    assert np.all(np.abs(counts - exact) < 1 + 1e-6)


@given(st.integers(0, 100), weights, st.integers(1, 5))
def test_the_least_is_kept_and_the_total_too_where_it_can_be(total: int, given_weights: list[float], least: int) -> None:
    counts = apportion(total, given_weights, least)
    positive = np.array(given_weights) > 0
    assert np.all(counts[positive] >= least)
    assert counts.sum() == max(total, least * positive.sum())


@given(
    st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), min_size=1, max_size=30),
    st.lists(st.integers(0, 6), min_size=4, max_size=4),
    st.integers(0, 99),
)
def test_groups_give_what_is_wanted_or_all_that_is_allowed(
    items: list[tuple[int, bool, bool]], wanted: list[int], seed: int
) -> None:
    groups, allowed, first = (np.array(column) for column in zip(*items, strict=True))
    drawn = draw_from_groups(groups, np.array(wanted), np.random.default_rng(seed), allowed, first)
    assert not np.any(drawn & ~allowed)
    for group in range(4):
        mine = groups == group
        assert drawn[mine].sum() == min(wanted[group], allowed[mine].sum())
        preferred = mine & allowed & first
        assert drawn[preferred].sum() == min(wanted[group], preferred.sum())
