"""Models of all columns of a store."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from relatum.data.vocabulary import Ids
from relatum.errors import UnknownNameError
from relatum.imputation.models import ColumnModels, columns_to_fill, fit_columns, weigh_embedding
from support.mistakes import mistake
from support.row_stores import id_of, store_of
from support.shop_rows import hidden_rows, shop


def test_columns_that_name_rows_or_are_parts_of_dates_are_not_filled() -> None:
    store = store_of(
        {"T": {"Id": ["1"], "Date": ["x"], "Date.year": ["2000"]}}, keys={"T": [("Id",)]}, parts_of={"Date.year": "Date"}
    )
    assert columns_to_fill(store, "T") == ["Date"]


def test_new_rows_are_answered_by_their_cells() -> None:
    store = shop()
    models = fit_columns(store, columns=[("Order", "Country")])
    cells = np.full((6, 2), -1, np.int32)
    cells[0] = -2  # a key that no row has
    cells[2] = id_of(store, "Order.City:Rome"), -2
    found = models.answer("Order", "Country", cells=cells)
    assert store.names[int(found.best[0])] == "Order.Country:Italy"
    assert found.probabilities[0, 0] > 0.95 > found.probabilities[1, 0]


def test_hidden_rows_are_answered_alike_by_number_and_by_cells() -> None:
    store = shop()
    models = fit_columns(store, columns=[("Order", "Payment")])
    rows = hidden_rows(store, "Payment")
    by_number = models.answer("Order", "Payment", rows)
    by_cells = models.answer("Order", "Payment", cells=store["Order"].seen()[:, rows])
    np.testing.assert_allclose(by_number.probabilities, by_cells.probabilities)


def test_later_parts_count_only_where_wanted() -> None:
    store = store_of(
        {"T": {"A": ["x"] * 40, "V": ["a"] * 20 + ["b"] * 20}}, hidden={("T", "V"): dict.fromkeys(range(20, 40), 2)}
    )
    models = fit_columns(store)
    cells = np.full((2, 1), -1, np.int32)
    assert (models.answer("T", "V", cells=cells, most_part=0).ids[0] >= 0).sum() == 1
    assert (models.answer("T", "V", cells=cells, most_part=2).ids[0] >= 0).sum() == 2


def test_no_answer_contradicts_a_key() -> None:
    rng = np.random.default_rng(2)
    pairs = sorted({(int(a), int(b)) for a, b in rng.integers(0, [30, 12], (250, 2))})
    columns = {"List": [str(a) for a, _ in pairs], "Track": [str(b) for _, b in pairs]}
    hidden = {("T", "Track"): dict.fromkeys(range(0, len(pairs), 7), 2)}
    store = store_of({"T": columns}, keys={"T": [("List", "Track")]}, hidden=hidden)
    found = fit_columns(store).answer("T", "Track", np.arange(len(pairs)))
    seen = store["T"].seen()
    for row in range(len(pairs)):
        taken = {int(track) for k, (one, track) in enumerate(seen.T) if k != row and one == seen[0, row]}
        assert not taken & {int(one) for one in found.ids[row] if one >= 0}


def embedding(store_truth: np.ndarray, noise: float) -> object:
    """Return scores that know the truth, or know nothing."""
    rng = np.random.default_rng(0)

    def scores(table: str, column: str, cells: Ids, candidates: np.ndarray) -> np.ndarray:
        keys = cells[0]
        right = candidates == store_truth[keys][:, None]
        return 3.0 * right * (1 - noise) + rng.normal(size=candidates.shape)

    return scores


def test_an_embedding_weighs_by_what_it_knows_of_validation_cells() -> None:
    store = shop(2000, 40, valid=True)
    table = store["Order"]
    truth = np.zeros(len(store.names), np.int64)
    truth[table.column("Id")] = table.column("Coin")
    good, bad = embedding(truth, 0.0), embedding(truth, 1.0)
    rows = hidden_rows(store, "Coin")
    right = {}
    for name, scores in (("good", good), ("bad", bad), ("none", None)):
        models = weigh_embedding(fit_columns(store, columns=[("Order", "Coin")]), scores)  # type: ignore[arg-type]
        found = models.answer("Order", "Coin", rows, scores=scores)  # type: ignore[arg-type]
        right[name] = (found.best == table.column("Coin")[rows]).mean()
        np.testing.assert_allclose(found.probabilities.sum(1) + found.others, 1)
        assert (models.models["Order", "Coin"].embedding > 0.5) == (name == "good")
    assert right["good"] > right["none"] + 0.2
    assert right["bad"] > right["none"] - 0.1


def test_an_embedding_that_adds_nothing_leaves_all_but_the_curve_as_it_is() -> None:
    store = shop(2000, 40, valid=True)
    alone = fit_columns(store, columns=[("Order", "Country"), ("Order", "Coin")])
    noise = embedding(np.zeros(len(store.names), np.int64), 1.0)
    weighed = weigh_embedding(alone, noise)  # type: ignore[arg-type]
    for key, model in weighed.models.items():
        assert replace(model, curve=alone.models[key].curve).to_json() == alone.models[key].to_json()


def test_questions_that_cannot_be_are_refused() -> None:
    store = shop()
    models = fit_columns(store, columns=[("Order", "Country")])
    with pytest.raises(UnknownNameError):
        models.answer("Order", "Cuntry", np.arange(2))
    with mistake("contradictory-options"):
        models.answer("Order", "Country")
    with mistake("no-such-position"):
        models.answer("Order", "Country", np.array([400]))
    with mistake("fact-arity"):
        models.answer("Order", "Country", cells=np.zeros((2, 2), np.int32))
    with mistake("damaged-file"):
        models.answer("Order", "Country", cells=np.full((6, 1), 10_000, np.int32))
    for plain in ({}, {"columns": 1}, {"columns": [{}]}):
        with mistake("damaged-file"):
            ColumnModels.from_json(plain, store=store)
