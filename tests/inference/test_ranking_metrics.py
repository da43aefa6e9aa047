"""Ranks by three rules for ties, and the metrics that follow from them."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum.inference.ranking import HITS, Metrics, Ranks


def made(better: list[int], equal: list[int]) -> Ranks:
    """Return ranks of as many facts of arity 1."""
    number = np.arange(len(better))
    ones, zeros = np.ones_like(number), np.zeros_like(number)
    return Ranks(np.array(better, np.int64), np.array(equal, np.int64), number, zeros, ones, zeros, number % 2 == 1)


counts = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=20)


@pytest.mark.parametrize(("better", "equal"), [(0, 0), (0, 3), (2, 1), (3, 2)])
def test_the_rules_are_the_best_the_worst_and_the_mean_place_over_all_orders_of_ties(better: int, equal: int) -> None:
    orders = itertools.permutations(["true", *["tied"] * equal])
    places = [1 + better + order.index("true") for order in orders]
    ranks = made([better], [equal])
    assert ranks.optimistic[0] == min(places)
    assert ranks.pessimistic[0] == max(places)
    assert ranks.realistic[0] == pytest.approx(np.mean(places))


def test_metrics_of_hand_made_ranks() -> None:
    metrics = made([0, 1, 4, 20], [0, 3, 0, 0]).metrics  # realistic ranks 1, 3.5, 5, 21
    assert metrics.questions == 4
    assert metrics.mrr == pytest.approx((1 + 1 / 3.5 + 1 / 5 + 1 / 21) / 4)
    assert metrics.hits == {1: 0.25, 3: 0.25, 10: 0.75}
    assert metrics.mean_rank == pytest.approx(30.5 / 4)
    assert metrics.mrr_optimistic == pytest.approx((1 + 1 / 2 + 1 / 5 + 1 / 21) / 4)
    assert metrics.mrr_pessimistic == pytest.approx((1 + 1 / 5 + 1 / 5 + 1 / 21) / 4)
    assert metrics.ties == 1


def test_a_rank_equal_to_k_is_a_hit() -> None:
    assert Metrics.of(made([0, 2, 9], [0, 0, 0])).hits == {1: pytest.approx(1 / 3), 3: pytest.approx(2 / 3), 10: 1.0}


def test_json_has_the_names_that_programs_read() -> None:
    found = json.loads(json.dumps(Metrics.of(made([0, 1], [0, 1])).to_json()))
    assert found == {
        "mrr": pytest.approx((1 + 1 / 2.5) / 2),
        "hits@1": 0.5,
        "hits@3": 1.0,
        "hits@10": 1.0,
        "mean_rank": 1.75,
        "questions": 2,
        "ties": 1,
        "mrr_optimistic": 0.75,
        "mrr_pessimistic": pytest.approx((1 + 1 / 3) / 2),
    }


def test_metrics_of_no_questions_are_zero() -> None:
    empty = made([], [])
    assert len(empty) == 0
    found = Metrics.of(empty).to_json()
    assert found.keys() == Metrics.of(made([0], [0])).to_json().keys()
    assert not any(found.values())
    some = Metrics.of(made([0], [0])).to_json()
    assert {name: type(value) for name, value in found.items()} == {name: type(value) for name, value in some.items()}
    assert set(Metrics.of(empty).hits) == set(HITS)


@given(counts, st.data())
def test_chosen_questions_and_the_rest_join_to_the_whole(drawn: list[tuple[int, int]], data: st.DataObject) -> None:
    ranks = made(*map(list, zip(*drawn, strict=True)))
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=len(ranks), max_size=len(ranks))))
    kept, rest = ranks.where(chosen), ranks.where(~chosen)
    assert (len(kept), len(rest)) == (chosen.sum(), (~chosen).sum())
    joined = Ranks.join([kept, rest])
    order = np.concatenate([np.flatnonzero(chosen), np.flatnonzero(~chosen)])
    for name in ("better", "equal", "fact", "relation", "arity", "position", "unseen"):
        assert np.array_equal(getattr(joined, name), getattr(ranks, name)[order]), name
