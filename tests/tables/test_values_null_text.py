"""Texts that stand for NULL."""

from __future__ import annotations

from pathlib import Path

import duckdb
import openpyxl
import pytest

from relatum.tables import ColumnRecord, Imported, read
from relatum.tables.engine import Workspace
from relatum.tables.values import null_hint, null_like
from support.small_tables import csv_of, sqlite_of

VALUES = ["NA" if n % 5 == 0 else " n/a " if n % 7 == 0 else str(n % 3) for n in range(60)]
NULLS = sum(not value.isdigit() for value in VALUES)


def source(kind: str, folder: Path) -> Path:
    path, rows = folder / f"t.{kind}", [(value, f"b{n % 4}") for n, value in enumerate(VALUES)]
    if kind == "csv":
        return csv_of(path, ("a", "b"), rows)
    if kind == "db":
        return sqlite_of(path, "CREATE TABLE t (a NUMERIC, b TEXT)", t=rows)
    if kind == "xlsx":
        book = openpyxl.Workbook()
        for row in [("a", "b"), *rows]:
            book.active.append(row)
        book.save(path)
        return path
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (a VARCHAR, b VARCHAR)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        connection.execute(f"COPY t TO '{path}' (FORMAT parquet)")
    return path


def column(imported: Imported, name: str) -> ColumnRecord:
    return next(record for record in imported.columns if record.column == name)


@pytest.mark.parametrize("kind", ["csv", "db", "parquet", "xlsx"])
def test_texts_for_null_are_null_in_every_source(tmp_path: Path, kind: str) -> None:
    imported = read(source(kind, tmp_path), null_text=["NA", "n/a"])
    assert column(imported, "a").nulls == NULLS
    assert not any("NA" in name or "n/a" in name for name in imported.split.entities)
    # What is left are numbers, unless the source says that they are text.
    assert imported.split.column_types["t"][0].value_type == ("text" if kind == "parquet" else "whole")
    assert "--null-text" not in column(imported, "a").why


def test_the_record_says_what_could_be_null_and_case_counts(tmp_path: Path) -> None:
    imported = read(source("csv", tmp_path), null_text=["na", "N/A"])
    assert column(imported, "a").nulls == 0
    assert "12 values are 'NA', 7 'n/a': --null-text NA,n/a" in column(imported, "a").why
    assert "--null-text" not in column(imported, "b").why


def test_only_numbers_beside_such_texts_are_reported() -> None:
    with Workspace() as workspace:
        workspace.run("""CREATE TABLE t AS SELECT
            CASE WHEN i % 9 = 0 THEN 'NA' ELSE CAST(i / 7 AS VARCHAR) END AS c0,
            CASE WHEN i % 9 = 0 THEN 'NA' ELSE 'word' END AS c1,
            CASE WHEN i % 9 = 0 THEN 'NA' WHEN i = 2999 THEN 'word' ELSE '1' END AS c2,
            CASE WHEN i = 2998 THEN '?' ELSE '1' END AS c3, i AS c4, 'NA' AS c5, '1' AS c6, NULL::VARCHAR AS c7,
            CASE WHEN i % 9 = 0 THEN '' ELSE '1' END AS c8
            FROM range(3000) t(i)""")
        found = null_like(workspace, "t", [f"c{number}" for number in range(9)])
    assert found == {"c0": {"NA": 334}, "c3": {"?": 1}}
    assert [null_hint(counts) for counts in found.values()] == [
        "334 values are 'NA': --null-text NA",
        "1 value is '?': --null-text '?'",
    ]
