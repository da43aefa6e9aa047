"""Vectors from files: found by the heading of their keys, checked, counted, and kept with the dataset."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

from relatum.datasets.load import load
from relatum.errors import RelatumError
from relatum.tables import Imported, read
from support.mistakes import mistake
from support.small_tables import csv_of, store_of

ROWS = 40


@pytest.fixture
def items(tmp_path: Path) -> Path:
    return csv_of(tmp_path / "items.csv", ("id", "name", "colour"), [(n, f"item {n}", "rgb"[n % 3]) for n in range(ROWS)])


def imported(items: Path, *vectors: str) -> Imported:
    return read(items, vectors=vectors)


def parquet(path: Path, sql: str) -> Path:
    duckdb.sql(sql).write_parquet(str(path))
    return path


LISTS = 'SELECT i AS "items.id", [i + 1.0, 2.0, -i] AS vector FROM range(3, 45) t(i)'


def test_lists_and_columns_of_numbers_give_the_same(items: Path, tmp_path: Path) -> None:
    lists = parquet(tmp_path / "lists.parquet", LISTS)
    numbers = csv_of(tmp_path / "numbers.csv", ("a", "id", "b", "c"), [(n + 1.0, n, 2.0, -n) for n in range(3, 45)])
    first, second = imported(items, str(lists)), imported(items, f"items={numbers}")
    assert str(first.vectors[0]) == f"vectors of 3 numbers for 37 rows of items; 5 names in {lists} are in no row"
    found, same = store_of(first.split).vectors["items"], store_of(second.split).vectors["items"]
    assert found.ids.tolist() == same.ids.tolist()
    assert found.values.tolist() == same.values.tolist()
    expected = np.array([8.0, 2.0, -7.0])
    number = found.numbers(store_of(first.split).names.ids(["items:7"]))[0]
    assert found.values[number].tolist() == pytest.approx((expected / np.linalg.norm(expected)).tolist(), abs=1e-6)
    assert first.to_json()["vectors"] == [{"source": str(lists), "table": "items", "rows": 37, "length": 3, "unknown": 5}]


def test_vectors_are_kept_with_the_dataset(items: Path, tmp_path: Path) -> None:
    found = imported(items, str(parquet(tmp_path / "lists.parquet", LISTS)))
    found.save(tmp_path / "data")
    rows = load(tmp_path / "data").rows
    assert rows is not None
    kept, given = rows.vectors["items"], store_of(found.split).vectors["items"]
    assert (kept.ids.tolist(), kept.values.tolist()) == (given.ids.tolist(), given.values.tolist())


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT i AS id, [1.0] AS v FROM range(5) t(i)",
        'SELECT i AS "items.id", [1.0] AS v, 2 AS w FROM range(5) t(i)',
        "SELECT i AS \"items.id\", 'x' AS v FROM range(5) t(i)",
        'SELECT i AS "items.id" FROM range(5) t(i)',
        'SELECT i AS "items.id", range(i + 1)::DOUBLE[] AS v FROM range(5) t(i)',
        'SELECT i % 3 AS "items.id", 1.0 AS v FROM range(5) t(i)',
        'SELECT i AS "items.id", CASE WHEN i = 2 THEN NULL ELSE 1.0 END AS v FROM range(5) t(i)',
        "SELECT i AS \"items.id\", [1.0, 'inf'::DOUBLE] AS v FROM range(5) t(i)",
        'SELECT i + 900 AS "items.id", 1.0 AS v FROM range(5) t(i)',
    ],
)
def test_what_cannot_be_used_is_refused(items: Path, tmp_path: Path, sql: str) -> None:
    with mistake("bad-vectors"):
        imported(items, str(parquet(tmp_path / "v.parquet", sql)))


def test_unknown_tables_missing_files_and_two_files_of_one_table_are_refused(items: Path, tmp_path: Path) -> None:
    lists = str(parquet(tmp_path / "lists.parquet", LISTS))
    for given in ([f"itms={lists}"], [str(tmp_path / "none.parquet")], [lists, f"items={lists}"]):
        with pytest.raises(RelatumError):
            imported(items, *given)
