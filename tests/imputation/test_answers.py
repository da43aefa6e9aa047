"""Answers and what speaks for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from relatum.imputation.answers import Imputed, merged
from relatum.imputation.models import ColumnModels, fit_columns
from support.row_stores import store_of
from support.shop_rows import hidden_rows, shop


def test_probabilities_fall_and_sum_to_1() -> None:
    store, done = shop(), list[int]()
    models = fit_columns(store, advance=done.append)
    assert sum(done) == len(models.models) == 6
    assert len(models.answer("Order", "Country", np.zeros(0, np.int64))) == 0
    for table, column in models.models:
        found = models.answer(table, column, np.arange(len(store[table])))
        np.testing.assert_allclose(found.probabilities.sum(1) + found.others, 1)
        assert (np.diff(found.probabilities, axis=1) <= 1e-12).all()
        assert ((found.ids >= 0) == (found.probabilities > 0)).all()


def test_the_city_is_the_reason_for_the_country() -> None:
    store = shop()
    city, country = (store["Order"].seen()[store["Order"].schema.index(name)] for name in ("City", "Country"))
    rows = hidden_rows(store, "Country")
    rows = rows[city[rows] >= 0]
    found = fit_columns(store, columns=[("Order", "Country")]).answer("Order", "Country", rows, reasons=2)
    assert len(found.supports) == len(rows)
    for row, supports in zip(rows, found.supports, strict=True):
        assert 1 <= len(supports) <= 2
        assert all(one.nats > 0 for one in supports)
        for one in (one for one in supports if one.text == "City"):
            assert one.values == (int(city[row]),)
            assert one.share > 0.9
            assert one.rows == np.count_nonzero((city == city[row]) & (country >= 0))
    assert any(one.text == "City" for supports in found.supports for one in supports)


def test_rows_beside_by_key_are_a_reason() -> None:
    albums = [str(one // 6) for one in range(240)]
    store = store_of(
        {"Track": {"Id": [str(one) for one in range(240)], "Album": albums}},
        keys={"Track": [("Id",)]},
        whole=["Id"],
        hidden={("Track", "Album"): dict.fromkeys(range(2, 240, 6), 2)},
    )
    rows = np.arange(2, 240, 6)
    found = fit_columns(store).answer("Track", "Album", rows, reasons=2)
    assert (found.best == store["Track"].column("Album")[rows]).all()
    assert {one.kind for supports in found.supports for one in supports} == {"before", "after"}


def test_what_stands_at_the_end_of_a_path_is_copied() -> None:
    lands = [f"land {one}" for one in range(60)]
    store = store_of(
        {"Customer": {"Id": [str(one) for one in range(60)], "Land": lands},
         "Bill": {"Customer": [str(one % 60) for one in range(180)], "Land": [lands[one % 60] for one in range(180)]}},
        keys={"Customer": [("Id",)]},
        references={"Bill": [("Customer", "Customer", "Id"), ("Land", "Customer", "Land")]},
        hidden={("Bill", "Land"): dict.fromkeys(range(0, 180, 9), 2)},
    )  # fmt: skip
    rows = np.arange(0, 180, 9)
    models = fit_columns(store, columns=[("Bill", "Land")])
    assert models.models["Bill", "Land"].copies
    assert (models.answer("Bill", "Land", rows).best == store["Bill"].column("Land")[rows]).all()


def test_blocks_of_different_width_are_joined() -> None:
    one = Imputed(np.array([[3]]), np.array([[0.9]]), np.array([0.1]))
    two = Imputed(np.array([[1, 2]]), np.array([[0.6, 0.3]]), np.array([0.1]))
    both = merged([one, two])
    assert both.ids.tolist() == [[3, -1], [1, 2]]
    assert both.best.tolist() == [3, 1]
    assert len(both) == 2


def test_a_column_in_which_nothing_is_seen_has_no_answer() -> None:
    store = shop()
    models = fit_columns(store, columns=[("Order", "Country")])
    table = store["Order"]
    parts = table.parts.copy()
    parts[table.schema.index("Country")] = 2
    hidden = replace(store, tables={**store.tables, "Order": replace(table, parts=parts)})
    found = ColumnModels(hidden, models.models).answer("Order", "Country", np.arange(3), reasons=1)
    assert found.best.tolist() == [-1, -1, -1]
    assert found.others.tolist() == [1.0, 1.0, 1.0]
    assert found.supports == ((), (), ())
