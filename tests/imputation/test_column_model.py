"""A column's contexts bound to rows."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from relatum.artefacts import read
from relatum.data.row_store import EMPTY, Bins, RowStore
from relatum.errors import RelatumError
from relatum.imputation.column_model import BoundColumn, ColumnModel, Later
from relatum.imputation.contexts import Context, TableView
from relatum.imputation.fitting import fit_column
from relatum.imputation.paths import Path, PathReader
from support.row_stores import store_of
from support.shop_rows import shop

CONTEXTS = (
    Context((Path("Customer"),), (1,), 0.3),
    Context((Path("City"),), (1,), 1.0),
    Context((Path("Home", (0,)),), (1,), 3.0),
    Context((Path("Customer"), Path("City")), (1, 1), 1.0, parent=0),
)


def test_a_cell_taken_out_of_the_counts_is_as_good_as_empty() -> None:
    store = shop(120, 15)
    table = store["Order"]
    bound = BoundColumn(TableView(PathReader(store, 0), "Order"), "Payment", CONTEXTS)
    index = table.schema.index("Payment")
    for row in np.flatnonzero(bound.values.v >= 0)[:25]:
        cells = table.cells.copy()
        cells[index, row] = EMPTY
        emptied = RowStore(store.names, {**store.tables, "Order": replace(table, cells=cells)})
        other = BoundColumn(TableView(PathReader(emptied, 0), "Order"), "Payment", CONTEXTS)
        rows = np.array([row])
        taken = bound.score(bound.view.cells[:, rows], rows, bound.values.v[rows])
        empty = other.score(other.view.cells[:, rows], rows, np.array([-1]))
        np.testing.assert_allclose(taken.features, empty.features, atol=1e-9)


def test_a_model_is_plain_data() -> None:
    model = replace(fit_column(TableView(PathReader(shop(), 0), "Order"), "Payment"), later=Later("Id", (0.5, -1.0)))
    again = ColumnModel.from_json(json.loads(json.dumps(model.to_json())), store=shop())
    assert again.to_json() == model.to_json()
    assert again.later == model.later
    assert again.contexts == model.contexts


CONTEXT: dict[str, object] = {
    "paths": [{"column": "Coin", "references": [], "back": None}],
    "groups": [1],
    "strength": 1.0,
    "share": 0.0,
    "spread": 0.0,
    "parent": None,
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"weights": [1.0]},
        {"weights": None},
        {"curve": [1.0]},
        {"sharpness": float("nan")},
        {"sharpness": 1e308},
        {"sharpness": -5.0},
        {"embedding": 1e308},
        {"column": "nowhere"},
        {"table": "nowhere"},
        {"contexts": [CONTEXT | {"groups": [99999999999]}]},
        {"contexts": [CONTEXT | {"groups": [0]}]},
        {"contexts": [CONTEXT | {"groups": [1, 1]}]},
        {"contexts": [CONTEXT | {"strength": float("nan")}]},
        {"contexts": [CONTEXT | {"strength": 0.0}]},
        {"contexts": [CONTEXT | {"share": 1.0}]},
        {"contexts": [CONTEXT | {"parent": 0}]},
        {"contexts": [{}]},
        {"contexts": [{"paths": []}]},
        {"copies": [3]},
        {"copies": [{"column": "x", "back": [1]}]},
        {"later": {"column": "day"}},
        {"later": {"column": "day", "curve": [1.0, float("nan")]}},
        {"later": "day"},
    ],
)
def test_anything_else_is_refused(wrong: dict[str, object]) -> None:
    assert read(Context, CONTEXT).groups == (1,)
    plain = fit_column(TableView(PathReader(shop(), 0), "Order"), "Payment").to_json()
    with pytest.raises(RelatumError):
        ColumnModel.from_json({**plain, **wrong}, store=shop())


def test_what_another_row_of_a_key_has_is_closed_but_not_where_the_key_is_in_groups() -> None:
    columns = {"shop": [str(n % 3) for n in range(30)], "day": [str(n // 15) for n in range(30)]}
    store = store_of({"T": columns}, keys={"T": [("shop", "day")]}, whole=["day"])
    table = store["T"]
    bins = Bins(("0",), ("0", "1"), ("0", "1"), ("0", "1"))
    grouped = replace(table.schema, columns=(table.schema.columns[0], replace(table.schema.columns[1], bins=bins)))
    for schema, is_open in ((table.schema, False), (grouped, True)):
        bound = BoundColumn(
            TableView(PathReader(RowStore(store.names, {"T": replace(table, schema=schema)}), 0), "T"), "shop"
        )
        cells = table.cells[:, :1].copy()
        cells[0] = EMPTY
        assert bound.score(cells, None, np.array([-1])).candidates.open[:, :-1].all() == is_open
