"""Laws of tables: each is found on all rows that follow it, on no others, and to the last digit."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pytest

import relatum
from relatum.data.stored_values import StoredTable
from relatum.imputation.laws import Laws

LAWS = {
    "same": ("x", "same"),
    "moved": ("x", "moved"),
    "double": ("x", "double"),
    "total": ("x", "y", "total"),
    "worth": ("y", "price", "worth"),
    "text": ("x", "text"),
    "later": ("day", "later"),
}


def table(folder: Path, *changes: str, rows: int = 200) -> StoredTable:
    """Return the values of a table with a column for each law, after some changes."""
    rng = random.Random(2)
    values = []
    for number in range(rows):
        x, y, price = rng.randrange(1, 999), rng.randrange(1, 50), rng.randrange(1, 9999)
        day = datetime(2005, 1, 1) + timedelta(seconds=rng.randrange(10**7))
        free, text = rng.random(), "none" if number % 10 == 0 else str(x)
        values.append((number, x, x, x / 10 + 0.3, 2 * x, y, x + y, price / 100, y * price / 100, free, text, day, day))
    with duckdb.connect(str(folder / "laws.db")) as database:
        database.execute(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, x INTEGER, same BIGINT, tenth DOUBLE, double INTEGER, y INTEGER,"
            " total INTEGER, price DECIMAL(8,2), worth DOUBLE, free DOUBLE, text VARCHAR, day TIMESTAMP, later TIMESTAMP_MS)"
        )
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        database.execute("UPDATE t SET later = later + INTERVAL 3 DAY")
        database.execute("ALTER TABLE t ADD COLUMN moved DOUBLE")
        database.execute("UPDATE t SET moved = CAST(CAST(x AS DECIMAL(9,2)) + 0.37 AS DOUBLE)")
        for change in changes:
            database.execute(change)
    rows_of = relatum.read(str(folder / "laws.db"), keep_ids=True).split.rows
    assert rows_of is not None
    return rows_of.values["t"]


def test_each_law_is_found_on_all_rows_and_nothing_follows_from_what_is_free(tmp_path: Path) -> None:
    values = table(tmp_path)
    laws = Laws(values)
    for columns in LAWS.values():
        for column in columns:
            follow = laws.follow(column)
            assert follow.all() if column != "text" else follow.sum() == 180, column
    assert not laws.follow("free").any()


@pytest.mark.parametrize("law", list(LAWS))
def test_a_cell_that_breaks_a_law_does_not_follow_it_though_it_differ_in_the_last_digit(tmp_path: Path, law: str) -> None:
    tick = {"later": "INTERVAL 1 MILLISECOND", "text": "1"}.get(law, "1")
    held = "CAST(text AS INTEGER)" if law == "text" else law
    step = "0.01" if law in ("worth", "moved") else tick
    laws = Laws(table(tmp_path, f"UPDATE t SET {law} = {held} + {step} WHERE id = 77"))  # noqa: S608
    others = [one for one in range(0, 200, 10) if law == "text"]
    assert np.flatnonzero(~laws.follow(law)).tolist() == sorted([77, *others])


def test_twenty_other_rows_are_what_makes_a_law(tmp_path: Path) -> None:
    assert not Laws(table(tmp_path, rows=20)).follow("same").any()
    (tmp_path / "laws.db").unlink()
    assert Laws(table(tmp_path, rows=21)).follow("same").all()
