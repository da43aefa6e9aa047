"""Whole numbers in proportion, drawing from groups, and the two steps of Algorithm 4 on small hypergraphs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum.data.hypergraph import Hypergraph
from relatum.synth.sampling import apportion, draw_from_groups, hold_out, sub_sample

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


def star(facts: int) -> Hypergraph:
    """Return facts that share one entity, each with another of its own."""
    return Hypergraph.of([("likes", "hub", f"leaf{number:04}") for number in range(facts)])


@pytest.mark.parametrize("seed", range(5))
def test_wanted_entities_go_on_to_occur(seed: int) -> None:
    wanted = ["leaf0007", "leaf0123", "leaf0456"]
    kept = sub_sample(star(500), 5, {}, wanted, np.random.default_rng(seed))
    assert len(kept) == 5
    assert set(wanted) <= set(kept.entities)
    assert len(kept.entities) == 6  # and those that vanished have no name any more
    assert set(kept) <= set(star(500))


def test_every_relation_keeps_its_proportion() -> None:
    facts = [
        (name, f"a{number}", f"b{number}") for name, size in (("r", 600), ("s", 300), ("t", 4)) for number in range(size)
    ]
    kept = sub_sample(Hypergraph.of(facts), 302, {}, [], np.random.default_rng(0))
    assert [len(kept.table(name)) for name in "rst"] == pytest.approx([200, 100, 3], abs=2)
    assert len(kept.table("t")) == 3
    assert len(kept) == 302


def test_a_fact_that_alone_holds_an_entity_is_never_held_out() -> None:
    split = hold_out(star(50), [0], 0.2, 0.2, np.random.default_rng(0))
    assert len(split.train) == 50


@pytest.mark.parametrize("seed", range(10))
def test_each_stratum_reaches_test_however_small_it_is(seed: int) -> None:
    rng = np.random.default_rng(seed)
    facts = {("big", f"e{a}", f"e{b}") for a, b in rng.integers(20, size=(300, 2))}
    facts |= {("tiny", f"e{a}", f"e{b}") for a, b in [(0, 1), (1, 2), (2, 3), (3, 4)]}
    split = hold_out(Hypergraph.of(sorted(facts)), [0, 1], 0.1, 0.1, rng)
    assert len(split.test.table("tiny")) == len(split.valid.table("tiny")) == 1
    assert len(split.test.table("big")) == round(0.1 * (len(facts) - 4))
    assert set(split.train) | set(split.valid) | set(split.test) == facts
    assert np.all(split.train.degrees() > 0)
