"""Rows beside by key."""

from __future__ import annotations

import numpy as np

from relatum.imputation.contexts import ColumnValues, TableView
from relatum.imputation.key_order import KeyOrder
from relatum.imputation.paths import PathReader
from support.row_stores import store_of

STORE = store_of(
    {"Track": {"Id": ["10", "2", "9", "30", "31"], "Album": ["c", "a", "b", None, "c"], "Name": ["x", "y", "z", "x", "y"]}},
    keys={"Track": [("Id",)]},
    whole=["Id"],
)


def test_the_known_rows_before_and_after_are_found_by_number_and_by_cells() -> None:
    view = TableView(PathReader(STORE, 0), "Track")
    values = ColumnValues(view, "Album")
    order, cells = KeyOrder(view, "Album", values), STORE["Track"].cells
    found = order.of(cells, np.arange(5))
    names = [[None if one < 0 else STORE.names[int(values.ids[one])][-1] for one in row] for row in found]
    assert names == [["b", "c"], [None, "b"], ["a", "c"], ["c", "c"], ["c", None]]
    np.testing.assert_array_equal(order.of(cells, None), found)
    assert order.of(np.full((3, 1), -2, np.int32), None).tolist() == [[-1, -1]]


def test_keys_that_are_no_numbers_have_no_order() -> None:
    store = store_of({"T": {"Id": ["a", "b"], "V": ["1", "2"]}}, keys={"T": [("Id",)]})
    view = TableView(PathReader(store, 0), "T")
    order = KeyOrder(view, "V", ColumnValues(view, "V"))
    assert order.key is None
    assert (order.of(store["T"].cells, np.arange(2)) == -1).all()
