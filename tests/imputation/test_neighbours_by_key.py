"""Rows beside each other by key."""

from __future__ import annotations

import numpy as np

from relatum.imputation.contexts import ColumnValues, TableView
from relatum.imputation.neighbours import KeyOrder
from relatum.imputation.paths import PathReader
from support.row_stores import store_of

STORE = store_of(
    {"Track": {"Id": ["10", "2", "9", "30", "31"], "Album": ["c", "a", "b", None, "c"], "Name": ["x", "y", "z", "x", "y"]}},
    keys={"Track": [("Id",)]},
    whole=["Id"],
)


def order_of(column: str) -> tuple[KeyOrder, ColumnValues]:
    view = TableView(PathReader(STORE, 0), "Track")
    values = ColumnValues(view, column)
    return KeyOrder(view, column, values), values


def test_the_known_rows_before_and_after_by_number() -> None:
    order, values = order_of("Album")
    found = order.of(STORE["Track"].cells, np.arange(5))
    names = [[None if one < 0 else STORE.names[int(values.ids[one])][-1] for one in row] for row in found]
    assert names == [["b", "c"], [None, "b"], ["a", "c"], ["c", "c"], ["c", None]]


def test_rows_given_by_cells_find_the_same() -> None:
    order, _ = order_of("Album")
    np.testing.assert_array_equal(order.of(STORE["Track"].cells, None), order.of(STORE["Track"].cells, np.arange(5)))
    unknown = np.full((3, 1), -2, np.int32)
    assert order.of(unknown, None).tolist() == [[-1, -1]]


def test_keys_that_are_no_numbers_have_no_order() -> None:
    store = store_of({"T": {"Id": ["a", "b"], "V": ["1", "2"]}}, keys={"T": [("Id",)]})
    view = TableView(PathReader(store, 0), "T")
    order = KeyOrder(view, "V", ColumnValues(view, "V"))
    assert order.key is None
    assert (order.of(store["T"].cells, np.arange(2)) == -1).all()
