"""Rows with similar vectors speak for a value, each by how close it is, and rows beside by key; a row never for itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from relatum.data.row_store import RowStore, Vectors
from relatum.imputation.baselines import accuracy
from relatum.imputation.column_model import BoundColumn
from relatum.imputation.contexts import ColumnValues, TableView
from relatum.imputation.models import ColumnModels, fit_columns
from relatum.imputation.neighbours import KeyOrder, Neighbours
from relatum.imputation.paths import PathReader
from support.row_stores import store_of

ROWS, CLASSES = 300, 6


@pytest.fixture(scope="module")
def stores() -> tuple[RowStore, RowStore]:
    """Return schools with vectors that hint at their states, without these vectors and with them."""
    rng = np.random.default_rng(4)
    states = rng.integers(0, CLASSES, ROWS)
    columns = {
        "id": [f"k{n:03}" for n in range(ROWS)],
        "state": [f"s{state}" if n % 9 else None for n, state in enumerate(states)],
        "size": [f"z{n}" for n in rng.integers(0, 4, ROWS)],
    }
    plain = store_of({"schools": columns}, keys={"schools": [("id",)]})
    hints = rng.normal(size=(CLASSES, 16))[states] + 0.6 * rng.normal(size=(ROWS, 16))
    vectors = Vectors.of(plain["schools"].column("id"), hints.astype(np.float32))
    return plain, replace(plain, vectors={"schools": vectors})


def held_out(store: RowStore) -> tuple[RowStore, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    table = store["schools"]
    parts = table.parts.copy()
    rows = np.flatnonzero((np.arange(ROWS) % 5 == 0) & (table.column("state") >= 0))
    parts[table.schema.index("state"), rows] = 2
    return replace(store, tables={"schools": replace(table, parts=parts)}), rows


def test_similar_rows_are_counted_as_a_loop_counts_them(stores: tuple[RowStore, RowStore]) -> None:
    view = TableView(PathReader(stores[1], 0), "schools")
    bound = BoundColumn(view, "state")
    vectors = stores[1].vectors["schools"]
    neighbours = Neighbours(view, bound.values, vectors)
    found, weights = neighbours.of(view.cells[:, :20])
    numbers = vectors.numbers(view.cells[view.schema.index("id")])
    for row in range(20):
        others = [n for n in range(ROWS) if n != row and bound.values.v[n] >= 0]
        close = {n: round(float(vectors.values[numbers[row]] @ vectors.values[numbers[n]]), 4) for n in others}
        best = sorted(others, key=lambda n: (-close[n], n))[: found.shape[1]]
        assert weights[row].tolist() == pytest.approx([max(close[n], 0.0) ** 4 for n in best], abs=1e-3)
        told_apart = [
            at for at in range(len(best)) if list(close.values()).count(close[best[at]]) == 1 and close[best[at]] > 0.01
        ]
        assert [int(found[row, at]) for at in told_apart] == [int(bound.values.v[best[at]]) for at in told_apart]
    unknown = view.cells[:, :1].copy()
    unknown[view.schema.index("id")] = -1
    assert neighbours.of(unknown)[1].sum() == 0


def test_vectors_help_where_names_tell_and_do_no_harm_where_not(stores: tuple[RowStore, RowStore]) -> None:
    shares = []
    for store in stores:
        hidden, rows = held_out(store)
        models = fit_columns(hidden, columns=[("schools", "state"), ("schools", "size")])
        truth = hidden["schools"].column("state")[rows].astype(np.int64)
        shares.append(accuracy(models.answer("schools", "state", rows).best, truth))
        again = ColumnModels.from_json(models.to_json(), store=hidden)
        assert again.answer("schools", "state", rows).probabilities.tolist() == (
            models.answer("schools", "state", rows).probabilities.tolist()
        )
    assert shares[0] < 0.4 < 0.8 < shares[1]
    assert models.models["schools", "state"].vectors is not None


def test_rows_that_are_not_in_the_store_are_answered_by_their_keys(stores: tuple[RowStore, RowStore]) -> None:
    hidden, rows = held_out(stores[1])
    models = fit_columns(hidden, columns=[("schools", "state")])
    table = hidden["schools"]
    cells = table.cells[:, rows].copy()
    by_cells = models.answer("schools", "state", cells=cells, reasons=1)
    assert by_cells.best.tolist() == models.answer("schools", "state", rows).best.tolist()
    assert {support.kind for one in by_cells.supports for support in one} == {"similar"}
    bare = ColumnModels(replace(hidden, vectors={}), models.models)  # the vectors are lost: the prior alone speaks
    assert len(set(bare.answer("schools", "state", rows).best.tolist())) == 1


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
