"""Values of SQLite as text, and in the workspace."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from relatum.tables.engine import Workspace
from relatum.tables.sqlite import SqliteSource, connect_to_read, copy_sqlite, texts_of

INTEGERS = st.integers(-(2**63), 2**63 - 1)
VALUES = st.one_of(st.none(), st.text(), INTEGERS, st.floats(), st.binary())
COLUMNS = [
    st.lists(kind) for kind in (VALUES, st.text(), st.none() | st.text(), INTEGERS, st.floats(), st.none() | INTEGERS)
]


def text_of(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return value.hex() if isinstance(value, bytes) else repr(value)


@given(st.one_of(COLUMNS))
def test_a_column_is_the_text_of_each_of_its_values(values: list[object]) -> None:
    found = texts_of(values)
    if isinstance(found, np.ndarray):
        found = [None if number is None else str(number) for number in found.tolist()]
    assert list(found) == [text_of(value) for value in values]


ODD = {
    "INTEGER": [0, -1, None, 2**63 - 1, -(2**63), 10**18],
    "REAL": [0.1, -0.0, None, float("inf"), 1e300, 5e-324, 1e16, 5.0],
    "TEXT": ["", " ", None, "a\tb\n\r", 'say "hi"', "\\", "\0", "日本 😀", "7"],
    "DATE": ["2024-02-03", None, "-0044-03-15", 20240203],
    "NUMERIC": [1, 0.5, None, "x", b"\xff\0", "7", 2**62],
}


def test_odd_values_are_in_the_workspace_as_their_texts_row_by_row(tmp_path: Path) -> None:
    size = 1 << 17  # batches of integers alone, of integers with gaps, and of all sorts
    rows = [[values[row % len(values)] for values in ODD.values()] + [row, None if row % 3 else row] for row in range(size)]
    rows[-1][-2:] = ["x", 0.5]
    with closing(sqlite3.connect(tmp_path / "odd.db")) as connection, connection:
        connection.execute(f"CREATE TABLE odd ({', '.join(f'c{n} {kind}' for n, kind in enumerate([*ODD, '', '']))})")
        connection.executemany("INSERT INTO odd VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        expected = [tuple(map(text_of, row)) for row in connection.execute("SELECT * FROM odd")]
    with Workspace() as workspace, closing(SqliteSource(workspace, tmp_path / "odd.db")) as source:
        (table,) = source.tables()
        source.stage(table, table.columns, "seen")
        assert workspace.rows("FROM seen_text") == expected


def test_a_change_that_a_killed_process_left_half_done_is_rolled_back_by_who_reads(tmp_path: Path) -> None:
    path, left, copy = tmp_path / "whole.db", tmp_path / "left.db", tmp_path / "copy.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE numbers (n)")
        counted = "WITH RECURSIVE r (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM r WHERE n < 4999) SELECT n FROM r"
        connection.execute(f"INSERT INTO numbers {counted}")
        connection.execute("PRAGMA cache_size = 1")  # what is changed goes to the file before it is committed
        connection.execute("BEGIN")
        connection.execute("UPDATE numbers SET n = -1")
        for suffix in ("", "-journal"):  # what a kill at this moment would leave
            shutil.copy(f"{path}{suffix}", f"{left}{suffix}")
        connection.rollback()
    assert left.read_bytes() != path.read_bytes()
    with closing(connect_to_read(left)) as connection:
        assert connection.execute("SELECT min(n), count(*) FROM numbers").fetchone() == (0, 5000)
    copy_sqlite(left, copy)
    assert not left.with_name("left.db-journal").exists()
