"""How sure columns are of rows that come after all that are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from relatum.data.row_store import EMPTY, Bins, RowStore
from relatum.imputation.column_model import Later
from relatum.imputation.later_rows import come_later, time_column
from relatum.imputation.models import ColumnModels, fit_columns, weigh_embedding
from support.row_stores import store_of

CREWS, SHIFTS = 12, 5


def roster(days: int, seed: int = 0) -> RowStore:
    """Return who worked when: most of a day's shifts are of one crew, and which that is tomorrow nothing says."""
    rng = np.random.default_rng(seed)
    chiefs = np.repeat(rng.integers(0, CREWS, days), SHIFTS)
    crews = np.where(rng.random(len(chiefs)) < 0.8, chiefs, rng.integers(0, CREWS, len(chiefs)))
    columns = {
        "day": [str(1 + n // SHIFTS) for n in range(len(crews))],
        "gate": [str(n % 5) for n in range(len(crews))],
        "crew": [f"c{one}" for one in crews],
    }
    return store_of({"T": columns}, whole=["day", "gate"])


def weighed(store: RowStore) -> ColumnModels:
    return weigh_embedding(fit_columns(store, columns=[("T", "crew")]), None)


def test_rows_to_come_are_as_sure_as_the_latest_rows_were() -> None:
    whole = roster(300)
    table = whole["T"]
    known = np.arange(len(table)) < 200 * SHIFTS
    cells = table.cells.copy()
    cells[2, ~known] = EMPTY
    models = ColumnModels(RowStore(whole.names, {"T": replace(table, cells=cells)}))
    cut = RowStore(whole.names, {"T": replace(table, cells=table.cells[:, known], parts=table.parts[:, known])})
    models.models = weighed(cut).models
    model = models.models["T", "crew"]
    assert model.later is not None
    assert model.later.column == "day"
    rows = np.flatnonzero(~known)
    later = come_later(models.store, model, rows)
    assert later.all()
    plain, found = (models.answer("T", "crew", rows, later=one) for one in (None, later))
    np.testing.assert_array_equal(plain.best, found.best)
    right = float((found.best == table.cells[2, rows]).mean())
    assert right < 0.2
    assert abs(found.probabilities[:, 0].mean() - right) < 0.05
    np.testing.assert_allclose(found.probabilities.sum(1) + found.others, 1)
    inside = models.answer("T", "crew", np.flatnonzero(known))
    assert abs(inside.probabilities[:, 0].mean() - (inside.best == table.cells[2, known]).mean()) < 0.05
    assert inside.probabilities[:, 0].mean() > 0.6  # single cells are as sure as before
    assert plain.probabilities[:, 0].mean() > right + 0.1


def test_a_gap_among_known_cells_is_not_later() -> None:
    store = roster(120)
    model = weighed(store).models["T", "crew"]
    cells = store["T"].cells.copy()
    gaps = np.array([5, 100, len(store["T"]) - 1])
    cells[2, gaps] = EMPTY
    holed = RowStore(store.names, {"T": replace(store["T"], cells=cells)})
    assert come_later(holed, model, gaps).tolist() == [False] * 3
    new = np.array([True, False, True])  # a row that was added and comes with the last of those known
    assert come_later(holed, model, gaps, new).tolist() == [False, False, True]
    assert come_later(holed, replace(model, later=None), gaps, new).tolist() == [False] * 3
    assert come_later(holed, replace(model, later=Later("gone", (1.0, 0.0))), gaps, new).tolist() == [False] * 3


def test_the_column_of_times_is_a_date_or_rises_with_the_rows_or_is_the_key() -> None:
    numbers = [str(n) for n in range(100)]
    mixed = [str(n * 37 % 100) for n in range(100)]
    text = [f"a{n % 7}" for n in range(100)]
    assert time_column(roster(30), "T") == "day"
    assert time_column(store_of({"T": {"a": mixed, "b": text}}, whole=["a"]), "T") is None
    assert time_column(store_of({"T": {"a": mixed, "b": text}}, whole=["a"], keys={"T": [("a",)]}), "T") == "a"
    assert time_column(store_of({"T": {"a": text, "b": text}}, keys={"T": [("a",)]}), "T") is None
    days = [f"2024-01-{1 + n % 28:02}" for n in range(100)]
    assert time_column(store_of({"T": {"a": numbers, "day": days}}, whole=["a"], keys={"T": [("a",)]}), "T") == "day"
    dated = store_of({"T": {"n": numbers, "d": mixed}}, whole=["n", "d"])
    schema = dated["T"].schema
    bins = Bins(("49",), ("0", "50"), ("49", "99"), ("25", "75"))
    columns = (schema.columns[0], replace(schema.columns[1], value_type="date", bins=bins))
    dated = RowStore(dated.names, {"T": replace(dated["T"], schema=replace(schema, columns=columns))})
    assert time_column(dated, "T") == "d"
    assert time_column(replace(dated, options={"time": "T.n"}), "T") == "n"
