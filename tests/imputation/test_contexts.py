"""Contexts as numbers that can be counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from relatum.data.row_store import TableReference
from relatum.imputation.contexts import ColumnValues, Context, Counted, TableView
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
    for row in range(0, len(city), 7):
        for number, one in enumerate(values.ids.tolist()):
            found = pair.counts.of(x[row : row + 1], np.array([number]))
            assert found == expected[city[row], way[row], one]


def test_rows_by_cells_have_the_same_numbers() -> None:
    view = TableView(PathReader(shop(), 0), "Order")
    pair = Counted(view, PAIR, ColumnValues(view, "Coin"))
    rows = np.arange(100)
    np.testing.assert_array_equal(pair.of(view.cells[:, rows], rows), pair.of(view.cells[:, rows], None))


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
