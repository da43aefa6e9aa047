"""What is chosen for a column."""

from __future__ import annotations

import numpy as np
import pytest

from relatum.data.row_store import RowStore
from relatum.imputation.baselines import baseline_answers
from relatum.imputation.column_model import FIRST
from relatum.imputation.contexts import TableView
from relatum.imputation.fitting import fit_column
from relatum.imputation.models import fit_columns
from relatum.imputation.paths import PathReader
from support.row_stores import store_of
from support.shop_rows import hidden_rows, shop


def view_of(store: RowStore, table: str = "Order") -> TableView:
    return TableView(PathReader(store, 0), table)


def test_a_dependency_answers_with_near_certainty() -> None:
    store = shop()
    rows = hidden_rows(store, "Country")
    rows = rows[store["Order"].seen()[store["Order"].schema.index("City"), rows] >= 0]
    found = fit_columns(store, columns=[("Order", "Country")]).answer("Order", "Country", rows)
    assert (found.best == store["Order"].column("Country")[rows]).all()
    assert found.probabilities[:, 0].min() > 0.95


def test_a_reference_answers_where_the_row_itself_cannot() -> None:
    store = shop()
    table = store["Order"]
    rows = hidden_rows(store, "City")
    rows = rows[
        (table.seen()[table.schema.index("Country"), rows] < 0) & (table.seen()[table.schema.index("Customer"), rows] >= 0)
    ]
    assert len(rows)
    found = fit_columns(store, columns=[("Order", "City")]).answer("Order", "City", rows)
    assert (found.best == table.column("City")[rows]).all()


@pytest.mark.parametrize("seed", range(3))
def test_noise_among_many_columns_gets_the_most_frequent_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = {f"A{index}": [str(one) for one in rng.integers(0, 2 + index % 7, 250)] for index in range(25)}
    columns["V"] = rng.choice(["a", "b", "c", "d"], 250, p=[0.4, 0.3, 0.2, 0.1]).tolist()
    store = store_of({"T": columns}, hidden={("T", "V"): dict.fromkeys(range(0, 250, 10), 2)})
    rows = np.arange(0, 250, 10)
    found = fit_columns(store, columns=[("T", "V")]).answer("T", "V", rows)
    np.testing.assert_array_equal(found.best, baseline_answers(store, "T", "V", rows)["most frequent"])
    assert found.probabilities[:, 0].max() < 0.55


def test_values_that_are_never_repeated_beside_the_same_are_not_proposed_again() -> None:
    rng = np.random.default_rng(3)
    first = rng.integers(1950, 1990, 200)
    player = np.repeat(np.arange(200), 4)
    year = (first[:, None] + np.arange(4)).reshape(-1)
    hidden = rng.choice(800, 80, replace=False)
    columns = {"Player": [str(one) for one in player], "Year": [str(one) for one in year]}
    store = store_of({"T": columns}, whole=["Year"], hidden={("T", "Year"): dict.fromkeys(hidden.tolist(), 2)})
    found = fit_columns(store, columns=[("T", "Year")]).answer("T", "Year", hidden)
    seen = store["T"].seen()[1]
    again = [best in seen[player == one] for best, one in zip(found.best, player[hidden], strict=True)]
    assert np.mean(again) < 0.05
    assert (found.best == store["T"].column("Year")[hidden]).mean() > 0.4


def test_probabilities_hold_where_many_values_come_once() -> None:
    rng = np.random.default_rng(4)
    album = rng.integers(0, 150, 1500)
    common = np.array([f"band {one}" for one in album])
    value = np.where(rng.random(1500) < 0.5, common, [f"guest {one}" for one in range(1500)])
    counts = {one: int(many) for one, many in zip(*np.unique(value, return_counts=True), strict=True)}
    # what is held out of the data has values that others have, but what is empty need not
    empty = rng.choice(1500, 300, replace=False)
    free = rng.permutation([row for row in range(1500) if counts[value[row]] > 1 and row not in empty])
    texts = [None if row in empty else value[row] for row in range(1500)]
    hidden = {("T", "V"): dict.fromkeys(free[:120].tolist(), 1) | dict.fromkeys(free[120:240].tolist(), 2)}
    store = store_of({"T": {"Album": [str(one) for one in album], "V": texts}}, hidden=hidden)
    found = fit_columns(store, columns=[("T", "V")]).answer("T", "V", empty, most_part=2)
    names = [store.names[one] for one in found.best.tolist()]
    right = np.array([name == f"T.V:{value[row]}" for name, row in zip(names, empty, strict=True)])
    assert abs(found.probabilities[:, 0].mean() - right.mean()) < 0.07


def test_two_columns_that_tell_more_together_are_taken_together() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 4, 600), rng.integers(0, 4, 600)
    alone = np.where(rng.random(600) < 0.5, a % 2, b % 2)
    texts = {"A": a, "B": b, "V": np.where(rng.random(600) < 0.4, alone, (a // 2 + b // 2) % 2)}
    store = store_of({"T": {name: [str(one) for one in values] for name, values in texts.items()}})
    model = fit_column(view_of(store, "T"), "V")
    pairs = [i for i, one in enumerate(model.contexts) if {path.column for path in one.paths} >= {"A", "B"}]
    assert pairs
    assert model.weights[FIRST + pairs[0]] > 0.3


def test_the_same_seed_gives_the_same_bits() -> None:
    first, again = (fit_column(view_of(shop()), "Payment", 3).to_json() for _ in range(2))
    assert first == again


@pytest.mark.parametrize("values", [["a", "a", "a"], [None, None, None], ["a", None, "b"]])
def test_columns_with_next_to_nothing_in_them_are_fitted(values: list[str | None]) -> None:
    store = store_of({"T": {"A": ["x", "y", "x"], "V": values}})
    found = fit_columns(store).answer("T", "V", np.arange(3))
    np.testing.assert_allclose(found.probabilities.sum(1) + found.others, 1)
