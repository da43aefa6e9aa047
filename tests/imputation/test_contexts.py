"""Contexts as numbers that can be counted, and what a row itself adds to counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum.data.row_store import TableReference
from relatum.imputation.contexts import ColumnValues, Context, Counted, Counts, TableView
from relatum.imputation.paths import Path, PathReader
from support.row_stores import store_of
from support.shop_rows import shop

PAIR = Context((Path("City"), Path("Payment")), (1, 1), parent=0)


def test_contexts_of_two_paths_count_together() -> None:
    view = TableView(PathReader(shop(), 0), "Order")
    values = ColumnValues(view, "Coin")
    pair = Counted(view, PAIR, values)
    city, way, coin = (view.cells[view.schema.index(name)].tolist() for name in ("City", "Payment", "Coin"))
    expected = Counter((a, b, c) for a, b, c in zip(city, way, coin, strict=True) if min(a, b, c) >= 0)
    rows = np.arange(len(city))
    x = pair.of(view.cells, rows)[:, 0]
    np.testing.assert_array_equal(pair.of(view.cells, None)[:, 0], x)
    for row in range(0, len(city), 7):
        for number, one in enumerate(values.ids.tolist()):
            found = pair.counts.of(x[row : row + 1], np.array([number]))
            assert found == expected[city[row], way[row], one]


def test_what_is_let_go_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, small = (TableView(PathReader(shop(), 0), "Order") for _ in range(2))
    monkeypatch.setattr("relatum.imputation.contexts._ROOM", 1)
    for name in ("City", "Country", "City"):
        np.testing.assert_array_equal(small.codes(Path(name))[1], whole.codes(Path(name))[1])
    assert len(small._paths) == 1


def test_neighbouring_numbers_count_as_one() -> None:
    store = store_of({"T": {"N": [str(one) for one in range(12)], "V": ["a"] * 12}}, whole=["N"])
    view = TableView(PathReader(store, 0), "T")
    grouped = view.grouped(Path("N"), 4, view.codes(Path("N"))[1][:, 0])
    assert grouped.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert view.ranks(Path("V")) is None


def test_a_year_that_refers_together_with_a_team_has_an_order_and_a_number_that_refers_alone_has_none() -> None:
    columns = {"year": [str(1990 + n % 6) for n in range(24)], "team": [str(n % 4) for n in range(24)]}
    store = store_of({"T": columns, "U": columns}, whole=["year", "team"])
    refer = (TableReference(("year", "team"), "U", ("year", "team")), TableReference(("team",), "U", ("team",)))
    table = store["T"]
    store = replace(store, tables={**store.tables, "T": replace(table, schema=replace(table.schema, references=refer))})
    view = TableView(PathReader(store, 0), "T")
    ranks = view.ranks(Path("year"))
    assert ranks is not None
    assert ranks.tolist() == [0, 1, 2, 3, 4, 5]
    assert view.ranks(Path("team")) is None


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
