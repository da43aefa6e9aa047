"""Empty cells are filled with values of their column, as probable as `complete` says; a database is emptied again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import relatum
from relatum import Run
from relatum.data.row_store import EMPTY
from relatum.runs.filling import rows_of
from relatum.runs.fills import Fill, Fills
from support.mistakes import mistake
from support.shop_with_gaps import COUNTRIES, NEW_CUSTOMERS, add_customers, content_of, new_customers_alone, rows, statements
from support.small_tables import csv_of


@pytest.fixture(scope="module")
def run(gappy_run: Path) -> Run:
    return Run.load(gappy_run)


@pytest.fixture
def today(today: Path) -> Path:
    add_customers(today)
    return today


def by_key(fills: list[Fill], column: str) -> dict[object, Fill]:
    return {next(iter(one.row.values())): one for one in fills if one.column == column}


def test_every_empty_cell_of_a_column_that_can_be_filled_is_filled_once(run: Run) -> None:
    found = run.fill()
    gaps = [
        (table.schema.name, column.name, int((cells == EMPTY).sum()))
        for table in rows_of(run).tables.values()
        for column, cells in zip(table.schema.columns, table.cells, strict=True)
        if (table.schema.name, column.name) in run.columns.models  # type: ignore[union-attr]
    ]
    assert len(gaps) > 15
    assert len(found) == sum(count for _, _, count in gaps)
    for table, column, count in gaps:
        ours = [one for one in found if (one.table, one.column) == (table, column)]
        assert len({tuple(one.row.items()) for one in ours}) == len(ours) == count
    assert all(0 < one.probability <= 1 for one in found)
    assert all(one.reason for one in found)


def test_what_another_column_determines_is_filled_right_and_says_why(run: Run) -> None:
    truth = {row[0]: COUNTRIES[str(row[2])] for row in rows()["customers"] if row[3] is None}
    found = by_key(run.fill(columns=["customers.country"]), "country")
    assert found.keys() == truth.keys()
    assert sum(found[one].value == truth[one] for one in truth) > 0.95 * len(truth)
    assert all(one.reason.startswith("city is ") and one.is_key for one in found.values())
    assert min(one.probability for one in found.values()) > 0.9


def test_numbers_come_back_as_numbers_with_the_interval_of_their_group(run: Run) -> None:
    prices = {float(row[3]) for row in rows()["items"] if row[3] is not None}
    found = run.fill(columns=["price"])
    assert found
    for one in found:
        assert isinstance(one.value, float | int)
        assert one.interval is not None
        assert float(one.interval[0]) <= one.value <= float(one.interval[1])
        assert one.value in prices
    assert all(isinstance(one.value, int) and one.interval is None for one in run.fill(columns=["amount"]))


def test_a_row_without_a_key_is_known_by_its_number(run: Run) -> None:
    found = run.fill(tables=["ratings"], columns=["stars"])
    assert not any(one.is_key for one in found)
    numbers = [one.row["row"] for one in found]
    assert numbers == [n for n, row in enumerate(rows()["ratings"]) if row[2] is None]
    assert found[0].to_dict()["row"] == f"row={numbers[0]}"


def test_probabilities_agree_with_complete_and_sum_to_one_with_all_others(run: Run) -> None:
    for column in ("country", "segment"):
        for key, one in list(by_key(run.fill(tables=["customers"]), column).items())[:6]:
            answers = run.complete(f"customers.{column}", str(key), None, k=100)
            assert answers[0].entity == f"customers.{column}:{one.value}"
            assert answers[0].probability == pytest.approx(one.probability)
            assert sum(answer.probability or 0.0 for answer in answers) <= 1 + 1e-9
    models = run.columns
    assert models is not None
    for table, column in models.models:
        imputed = models.answer(table, column, np.arange(20), most_part=2, scores=run.cell_scores)
        assert imputed.probabilities.sum(1) + imputed.others == pytest.approx(1.0)


def test_tables_columns_and_a_least_probability_narrow_it_down(run: Run) -> None:
    every = run.fill()
    assert list(run.fill(tables=["items"])) == [one for one in every if one.table == "items"]
    assert list(run.fill(columns=["segment", "items.price"])) == [
        one for one in every if (one.table, one.column) in (("customers", "segment"), ("items", "price"))
    ]
    assert list(run.fill(min_probability=0.9)) == [one for one in every if one.probability >= 0.9]
    with mistake("unknown-name"):
        run.fill(tables=["item"])
    with mistake("unknown-name"):
        run.fill(columns=["contry"])
    with mistake("unknown-name"):
        run.fill(columns=["id"])  # the key is what a row is known by


def test_rows_that_are_there_now_are_filled_as_they_are(run: Run, today: Path) -> None:
    before, now = run.fill(tables=["customers"]), run.fill(today, tables=["customers"])
    assert by_key(now, "country").keys() - by_key(before, "country").keys() == {one[0] for one in NEW_CUSTOMERS}
    for key, _, city, _, _ in NEW_CUSTOMERS:
        assert by_key(now, "country")[key].value == COUNTRIES[str(city)]
    assert 202 in by_key(now, "segment")
    assert 201 not in by_key(now, "segment")
    statements(today, "UPDATE customers SET country = 'Spain' WHERE id = 3", "UPDATE customers SET city = NULL WHERE id = 4")
    found = run.fill(today, tables=["customers"])
    assert 3 not in by_key(found, "country")
    assert by_key(found, "city").keys() == {4}


def test_new_rows_alone_are_filled_and_known_by_their_numbers_where_there_is_no_key(run: Run, tmp_path: Path) -> None:
    """A database that has nothing but two new rows says nothing about cities; the rows of the import do."""
    only = new_customers_alone(tmp_path / "only.db")
    found = run.fill(only)
    assert {one.table for one in found} == {"customers"}
    assert [(one.row["id"], one.value) for one in found if one.column == "country"] == [(201, "France"), (202, "Norway")]
    assert min(one.probability for one in found if one.column == "country") > 0.9
    csv_of(tmp_path / "ratings.csv", ("customer_id", "item_id", "stars"), [(1, 2, 3), (3, 4, None), (5, 6, None)])
    found = run.fill(tmp_path / "ratings.csv")
    assert [one.row for one in found] == [{"row": 1}, {"row": 2}]
    with mistake("other-tables"):
        run.fill(tmp_path / "ratings.csv", tables=["ratings", "customers"])


def test_a_run_without_tables_has_no_cells(example_run: Path) -> None:
    with mistake("no-cells"):
        Run.load(example_run).fill()


def test_a_database_is_filled_where_it_is_sure_and_emptied_again(tables: Run, today: Path) -> None:
    before = content_of(today)
    found = tables.fill(today)
    applied = found.apply(today)
    assert applied.batch == 1
    assert applied.applied > 0
    assert applied.filled == applied.missing == applied.ambiguous == 0
    assert applied.applied + applied.without_key + applied.groups + applied.unsure == len(found)
    assert applied.unsure == sum(one.probability < 0.9 for one in found) > 0
    assert all(row[3] == COUNTRIES[str(row[2])] for row in content_of(today)["customers"])
    undone = relatum.undo_fill(today)
    assert (undone.batch, undone.restored, undone.changed, undone.missing) == (1, applied.applied, 0, 0)
    assert content_of(today) == before
    with mistake("already-undone"):
        relatum.undo_fill(today)


def test_a_part_is_applied_and_every_time_is_listed_with_its_run(tables: Run, today: Path) -> None:
    before = content_of(today)
    found = tables.fill(columns=["country"])
    first = found[:2].apply(today, min_probability=0)
    second = found.apply(today, min_probability=0)
    assert (first.applied, second.applied, second.filled) == (2, len(found) - 2, 2)
    listed = relatum.list_fills(today)
    assert [(one.batch, one.source, one.tables, one.cells) for one in listed] == [
        (1, str(tables.folder), ("customers",), 2),
        (2, str(tables.folder), ("customers",), len(found) - 2),
    ]
    assert relatum.undo_fill(today, 1).restored == 2
    assert [one.undone for one in relatum.list_fills(today)] == [2, 0]
    assert relatum.list_fills(today).to_dicts()[0]["tables"] == "customers"
    assert relatum.undo_fill(today).batch == 2
    assert content_of(today) == before


def test_nothing_is_written_where_there_is_nothing_or_a_mistake(tables: Run, today: Path) -> None:
    before = today.read_bytes()
    assert Fills([]).apply(today).batch is None
    assert len(relatum.list_fills(today)) == 0
    with mistake("setting-out-of-range"):
        tables.fill(columns=["country"]).apply(today, min_probability=2)
    with mistake("no-change-log"):
        relatum.undo_fill(today)
    assert today.read_bytes() == before
