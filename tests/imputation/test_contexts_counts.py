"""Counts, and what a row itself adds to them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum.imputation.contexts import Counts

PAIRS = st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 5)), min_size=1, max_size=40)


@given(PAIRS)
def test_counts_are_those_of_a_loop(pairs: list[tuple[int, int]]) -> None:
    x, v = np.array(pairs).T
    counts = Counts(x[:, None], v, 5, 6)
    for a in range(5):
        assert counts.total(np.array([a])) == sum(one[0] == a and one[1] >= 0 for one in pairs)
        for b in range(6):
            assert counts.of(np.array([a]), np.array([b])) == pairs.count((a, b))
    assert counts.of(np.array([-1, 0]), np.array([0, -1])).tolist() == [0, 0]
    assert counts.total(np.array([-1])) == 0


@given(PAIRS, st.sampled_from([(0.0, 0.0), (0.5, 0.0), (0.0, 0.25), (0.7, 0.25)]), st.data())
def test_taking_a_row_off_is_counting_without_it(
    pairs: list[tuple[int, int]], how: tuple[float, float], data: st.DataObject
) -> None:
    known = [index for index, (a, b) in enumerate(pairs) if a >= 0 and b >= 0]
    if not known:
        return
    out = data.draw(st.sampled_from(known))
    share, spread = how
    x, v = np.array(pairs).T
    order = np.array([3, 1, 0, 2, 4])

    def counted(keep: np.ndarray) -> Counts:
        counts = Counts(x[keep][:, None], v[keep], 5, 6)
        if share:
            counts.smooth(order, share)
        if spread:
            counts.spread(np.arange(6)[::-1], spread)
        return counts

    every = np.arange(len(pairs))
    whole, without = counted(every), counted(every != out)
    code, values = np.full(6, x[out]), np.arange(6)
    taken = whole.of(code, values) - whole.own(np.full(6, v[out]), values)
    np.testing.assert_allclose(taken, without.of(code, values), atol=1e-9)
    np.testing.assert_allclose(whole.total(code) - 1, without.total(code), atol=1e-9)


def test_neighbours_share_and_values_pass_on() -> None:
    counts = Counts(np.array([[0]]), np.array([1]), 3, 3)
    counts.smooth(np.arange(3), 0.5)
    assert counts.of(np.arange(3), np.ones(3, np.int64)).tolist() == [1, 0.5, 0.25]
    counts = Counts(np.array([[0]]), np.array([0]), 1, 3)
    counts.spread(np.arange(3), 0.5)
    np.testing.assert_allclose(counts.of(np.zeros(3, np.int64), np.arange(3)), np.array([1, 0.5, 0.25]) / 1.75)
    assert counts.totals.tolist() == [1]


def test_the_most_frequent_come_first_and_ties_by_number() -> None:
    counts = Counts(np.array([[0], [0], [0], [0], [2]]), np.array([3, 1, 3, 0, 2]), 3, 4)
    values, often = counts.most(np.array([0, 1, 2, -1]), 3)
    assert values.tolist() == [[3, 0, 1], [-1, -1, -1], [2, -1, -1], [-1, -1, -1]]
    assert often[0].tolist() == [2, 1, 1]


def test_large_tables_are_counted_as_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, v = rng.integers(-1, 50, (500, 2)), rng.integers(-1, 40, 500)
    small = Counts(x, v, 50, 40)
    monkeypatch.setattr("relatum.imputation.contexts._DENSE", 10)
    large = Counts(x, v, 50, 40)
    a, b = np.divmod(np.arange(2000), 40)
    np.testing.assert_array_equal(small.of(a, b), large.of(a, b))
    np.testing.assert_array_equal(small.totals, large.totals)
    np.testing.assert_array_equal(small.most(np.arange(50), 5)[0], large.most(np.arange(50), 5)[0])
