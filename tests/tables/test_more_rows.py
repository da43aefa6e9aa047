"""Rows that are read again have the columns and groups of the import, and are joined to its rows once each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import relatum
from relatum.data.hypergraph import Split
from relatum.data.row_store import EMPTY, RowStore
from relatum.tables.more_rows import facts_of_rows, joined_rows, new_rows, read_more_rows
from support.mistakes import mistake
from support.shop_with_gaps import NEW_CUSTOMERS, add_customers, statements
from support.small_tables import csv_of, rows_of, sqlite_of, store_of


@pytest.fixture(scope="module")
def split(gappy_shop: Path) -> Split:
    return relatum.read(gappy_shop).split


@pytest.fixture(scope="module")
def store(split: Split) -> RowStore:
    return store_of(split)


def named(store: RowStore, table: str, column: str) -> list[str | None]:
    return [store.names[one] if one >= 0 else None for one in store[table].column(column).tolist()]


def test_the_same_rows_are_the_same_cells(store: RowStore, today: Path) -> None:
    again = read_more_rows(today, store)
    assert again.names == store.names
    assert list(again.tables) == list(store.tables)
    for name, table in store.tables.items():
        assert again[name].schema == table.schema
        assert again[name].labels == table.labels
        np.testing.assert_array_equal(again[name].cells, table.cells)
    assert again.options == store.options
    assert again.sources == (str(today),)


def test_new_values_get_names_and_numbers_beyond_the_last_group_fall_into_it(store: RowStore, today: Path) -> None:
    statements(
        today,
        "INSERT INTO items VALUES (900, 'mug', 'kitchen', 5000.5, NULL), (901, 'pin', 'tools', -3, NULL)",
        "INSERT INTO sales VALUES (900, 3, 900, 'phone', '2031-12-24', 77)",
    )
    again = read_more_rows(today, store, ["items", "sales"])
    assert list(again.tables) == ["items", "sales"]
    assert set(again.names) - set(store.names) == {
        "items:900",
        "items:901",
        "items.category:kitchen",
        "sales:900",
        "sales.channel:phone",
        "sales.amount:77",
        "year:2031",
    }
    bins = store["items"].schema.column("price").bins
    days = store["sales"].schema.column("day").bins
    assert bins is not None
    assert days is not None
    assert named(again, "items", "price")[-2:] == [f"items.price:{bins.names[-1]}", f"items.price:{bins.names[0]}"]
    assert named(again, "sales", "day")[-1] == f"sales.day:{days.names[-1]}"
    assert named(again, "sales", "day.weekday")[-1] == "weekday:Wednesday"
    assert again["items"].labels is not None
    assert again["items"].labels[-2:] == ("mug", "pin")


def test_a_column_that_is_not_there_any_more_is_empty_and_one_more_is_not_read(store: RowStore, tmp_path: Path) -> None:
    csv_of(tmp_path / "customers.csv", ("id", "segment", "city", "shoe"), [(1, "home", "Rome", 42), (2, "", "Oslo", 43)])
    again = read_more_rows(tmp_path / "customers.csv", store)
    assert list(again.tables) == ["customers"]
    assert named(again, "customers", "country") == [None, None]
    assert named(again, "customers", "city") == ["customers.city:Rome", "customers.city:Oslo"]
    assert named(again, "customers", "segment") == ["customers.segment:home", None]
    assert again["customers"].labels is None


def test_numbers_or_dates_that_turned_to_text_are_refused(store: RowStore, tmp_path: Path) -> None:
    csv_of(tmp_path / "items.csv", ("id", "category", "price"), [(1, "books", "cheap"), (2, "tools", "dear")])
    with mistake("other-tables"):
        read_more_rows(tmp_path / "items.csv", store)
    csv_of(tmp_path / "items.csv", ("id", "category", "price"), [(1, "books", None), (2, "tools", None)])
    assert named(read_more_rows(tmp_path / "items.csv", store), "items", "price") == [None, None]


def test_tables_that_are_not_there_are_refused(store: RowStore, tmp_path: Path) -> None:
    csv_of(tmp_path / "people.csv", ("id", "city"), [(1, "Rome"), (2, "Oslo")])
    with mistake("other-tables"):
        read_more_rows(tmp_path / "people.csv", store)
    csv_of(tmp_path / "items.csv", ("id", "category", "price"), [(1, "books", 3.5), (2, "tools", 4.5)])
    with mistake("other-tables"):
        read_more_rows(tmp_path / "items.csv", store, ["items", "sales"])
    with mistake("unknown-name"):
        read_more_rows(tmp_path / "items.csv", store, ["item"])


def test_the_facts_of_rows_are_those_of_the_import(split: Split, store: RowStore, today: Path) -> None:
    found = facts_of_rows(read_more_rows(today, store), split.schema)
    assert set(found.train) == set().union(*(set(graph) for graph in split.parts.values()))
    assert len(found.valid) == len(found.test) == 0
    add_customers(today)
    more = facts_of_rows(read_more_rows(today, store), split.schema)
    assert set(more.train) - set(found.train) == {
        ("customers.city", "customers:201", "customers.city:Paris"),
        ("customers.city", "customers:202", "customers.city:Oslo"),
        ("customers.segment", "customers:201", "customers.segment:home"),
    }
    assert [str(one) for one in more.schema] == [str(one) for one in split.schema]


def test_joined_rows_hold_what_is_there_now_and_behind_it_what_was_not_read(
    split: Split, store: RowStore, tmp_path: Path
) -> None:
    changed = (4, "Anna", "Rome", "Italy", "firm")
    only = sqlite_of(
        tmp_path / "only.db",
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT, country TEXT, segment TEXT)",
        customers=[*NEW_CUSTOMERS, changed],
    )
    joined = joined_rows(store, read_more_rows(only, store), split)
    keys = named(joined, "customers", "id")
    assert keys[:3] == ["customers:4", "customers:201", "customers:202"]
    assert sorted(map(str, keys)) == sorted({*map(str, named(store, "customers", "id")), "customers:201", "customers:202"})
    assert joined["customers"].labels is not None
    labels = dict(zip(keys, joined["customers"].labels, strict=True))
    assert (labels["customers:4"], labels["customers:202"], labels["customers:10"]) == ("Anna", "Yan", "customer 10")
    assert dict(zip(keys, named(joined, "customers", "city"), strict=True))["customers:4"] == "customers.city:Rome"
    assert len(joined["sales"]) == len(store["sales"])


def test_rows_of_a_table_without_a_key_are_joined_as_often_as_they_are_there(
    split: Split, store: RowStore, tmp_path: Path, today: Path
) -> None:
    again = joined_rows(store, read_more_rows(today, store), split)
    for name, table in store.tables.items():
        assert len(again[name]) == len(table)
    first = rows_of(split, "ratings")[0]
    row = [str(first[name]).partition(":")[2] for name in ("customer_id", "item_id", "stars")]
    csv_of(tmp_path / "ratings.csv", ("customer_id", "item_id", "stars"), [row, row, row, (1, 1, None)])
    joined = joined_rows(store, read_more_rows(tmp_path / "ratings.csv", store), split)
    assert len(joined["ratings"]) == len(store["ratings"]) - 1 + 4


def test_a_cell_that_is_held_out_stays_so_whether_it_is_in_a_fact_or_not(split: Split, store: RowStore, today: Path) -> None:
    joined = joined_rows(store, read_more_rows(today, store), split)
    for name, table in store.tables.items():
        np.testing.assert_array_equal(joined[name].parts, table.parts)
    free = [
        (name, number)
        for name, table in store.tables.items()
        for number, one in enumerate(table.schema.columns)
        if one.relation is None and (table.parts[number] > 0).any()
    ]
    assert free
    assert (joined["customers"].parts == 2).any()
    assert (joined["customers"].cells == EMPTY).any()


def test_a_held_out_cell_in_no_fact_stays_so_in_rows_that_moved_and_no_new_one_becomes_so(
    split: Split, store: RowStore, today: Path
) -> None:
    (number,) = (index for index, one in enumerate(store["ratings"].schema.columns) if one.name == "stars")
    held = store["ratings"].parts[number] > 0
    assert held.any()
    statements(
        today,
        "CREATE TABLE other AS SELECT * FROM ratings ORDER BY item_id, customer_id",
        "DELETE FROM ratings",
        "INSERT INTO ratings VALUES (1, 1, 3), (2, 2, 4)",
        "INSERT INTO ratings SELECT * FROM other",
    )
    joined = joined_rows(store, read_more_rows(today, store), split)["ratings"]

    def counted(cells: np.ndarray, parts: np.ndarray) -> dict[tuple[int, ...], list[int]]:
        found: dict[tuple[int, ...], list[int]] = {}
        for row, part in zip(cells.T.tolist(), parts[number].tolist(), strict=True):
            found.setdefault(tuple(row), []).append(part)
        return {row: sorted(each) for row, each in found.items()}

    before, now = (counted(one.cells, one.parts) for one in (store["ratings"], joined))
    assert sum(map(sum, now.values())) == sum(map(sum, before.values())) > 0
    assert all(now[row] == each for row, each in before.items() if len(now[row]) == len(each))


def test_rows_that_the_import_did_not_have_are_new_by_key_or_by_all_cells(tmp_path: Path) -> None:
    def found(heads: tuple[str, ...], before: list[tuple[object, ...]], now: list[tuple[object, ...]]) -> list[bool]:
        store = relatum.read(csv_of(tmp_path / "t.csv", heads, before)).split.rows
        assert store is not None
        read = read_more_rows(csv_of(tmp_path / "t.csv", heads, now), store)
        return new_rows(read["t"], store.with_names(read.names)["t"]).tolist()

    keyed = [(n, f"a{n % 3}", f"b{n % 4}") for n in range(12)]
    changed = [(5, None, "b1"), (40, "a1", "b9"), (0, "a0", "b0")]
    assert found(("id", "a", "b"), keyed, changed) == [False, True, False]
    loose = [(f"a{n % 3}", f"b{n % 4}") for n in range(24)]  # each comes twice
    assert found(("a", "b"), loose, [("a0", "b0")] * 3 + [("a0", "b9")]) == [False, False, True, True]


def test_values_stay_in_step_with_rows_and_are_text_where_types_differ(tmp_path: Path) -> None:
    script = "CREATE TABLE t (id INTEGER PRIMARY KEY, a{}, b TEXT, gone TEXT);"
    rows = [(n, n + 0.5, f"b{n % 3}", f"g{n % 2}") for n in range(40)]
    before = relatum.read(sqlite_of(tmp_path / "t.db", script.format(" REAL"), t=rows)).split
    today = tmp_path / "today"
    today.mkdir()
    changed = [(n, n, f"c{n % 3}") for n in range(30, 50)]
    sqlite_of(today / "t.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b TEXT);", t=changed)
    updated = read_more_rows(today / "t.db", store_of(before))
    joined = joined_rows(store_of(before), updated, before)
    found = [tuple(row.values()) for row in joined.values["t"]]
    assert found == [(n, str(a), b, None) for n, a, b in changed] + [(n, str(a), b, gone) for n, a, b, gone in rows[:30]]
    assert joined.values["t"]["a"].type == "VARCHAR"
    for row, name in zip(found, named(joined, "t", "b"), strict=True):
        assert name == f"t.b:{row[2]}"
