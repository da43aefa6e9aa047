"""Values come back as they were: what a table held, an import named, and an export writes; and texts that stand for NULL."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import openpyxl
import pytest

from relatum.data.column_types import ColumnType
from relatum.tables import ColumnRecord, Imported, read
from relatum.tables.engine import Workspace
from relatum.tables.table import Value
from relatum.tables.values import column_of, form_of, infer_types, null_hint, null_like
from support.small_tables import csv_of, sqlite_of

SIGNS = "abc XYZ0123456789.,:;'\"\\%$?\t\n\r-+eE_äß日本␤"


def some_values(declared: str, chance: random.Random) -> list[Value]:
    """Return a few hundred values of a declared type, odd ones among them."""
    if declared == "INTEGER":
        return [chance.randrange(-(10 ** (n % 18)), 10 ** (n % 18) + 1) for n in range(300)]
    if declared == "REAL":
        return [0.0, 1e300, 5e-324, 1e16, *(chance.uniform(-1, 1) * 10.0 ** chance.randrange(-30, 30) for _ in range(300))]
    texts = ["".join(chance.choices(SIGNS, k=chance.randrange(1, 9))) for _ in range(300)]
    return ["007", "1e3", "NULL", "nan", "t.a:x", *(text for text in texts if text.strip())]


def columns_back(declared: str, values: Sequence[Value], **options: object) -> tuple[str, Sequence[Value]]:
    """Return the form and the values that a column of a table has after an import and an export."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "mine.db"
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"CREATE TABLE t (a {declared}, b TEXT)")
            connection.executemany("INSERT INTO t VALUES (?, ?)", [(value, "b") for value in values])
        imported = read(path, columns={"t": ["a", "b"]}, valid=0.0, test=0.0, **options)
    column_type = imported.split.column_types["t"][0]
    names = sorted({fact[1] for fact in imported.split.train})
    column = column_of("a", names, column_type)
    return column.form, column.values


@pytest.mark.parametrize("declared", ["INTEGER", "REAL", "TEXT"])
def test_every_value_comes_back(declared: str, count: Callable[[int, int], int]) -> None:
    for seed in range(count(1, 30)):
        values = some_values(declared, random.Random(seed))
        form, back = columns_back(declared, values)
        assert set(back) == set(values)
        assert form == {"INTEGER": "whole", "REAL": "number", "TEXT": "text"}[declared]


def test_forms_are_told_by_the_columns_and_not_by_what_values_look_like() -> None:
    assert columns_back("INTEGER", [1, 2, 3]) == ("whole", [1, 2, 3])
    assert columns_back("TEXT", ["1", "2"]) == ("text", ["1", "2"])
    assert columns_back("REAL", [0.5, 2.0]) == ("number", [0.5, 2.0])
    assert columns_back("INTEGER", ["x", 2]) == ("text", ["2", "x"])
    assert columns_back("INTEGER", [1, None, 3], null="value") == ("whole", [1, 3, None])
    assert columns_back("TEXT", ["a\tb", "c"]) == ("text", ["a\tb", "c"])
    assert columns_back("INTEGER", [1, 2, 3], plain=True) == ("whole", [1, 2, 3])


def test_what_is_no_number_after_all_is_text() -> None:
    whole = ColumnType("items", "whole")
    assert column_of("a", ["items:1", "items:22"], whole).values == [1, 22]
    assert column_of("a", ["items:1", "items:x"], whole).values == ["1", "x"]
    assert column_of("a", ["items:1", "customers:1"], whole).values == ["1", "customers:1"]
    assert column_of("a", ["items:1" + "0" * 30 + "7"], whole).values == ["1" + "0" * 30 + "7"]
    assert column_of("a", ["items:1e+16", "items:2"], whole).values == [1e16, 2.0]  # whole, but written as floats are
    number = ColumnType("items", "number")
    assert column_of("a", ["items:1", "items:1.5e-7"], number).values == [1.0, 1.5e-7]
    assert column_of("a", ["items:1.00000000000000000001"], number).form == "text"  # no float64 is this number
    assert column_of("a", ["items:1e999"], number).form == "text"
    assert column_of("a", ["items:nan"], number).form == "text"
    assert column_of("a", [], whole).form == "whole"
    assert column_of("a", ["items:1", "a␉b"], None).values == ["items:1", "a␉b"]
    assert column_of("a", ["items:NULL"], ColumnType("items", "text")).values == ["NULL"]


@pytest.mark.parametrize("value_type", ["whole", "number", "text"])
@pytest.mark.parametrize("values", [[], ["1", "NULL"], ["1", "2.5"], ["1", "x"], ["2.5"], ["1e+16", "3"]])
def test_parts_of_a_column_can_be_held_to_the_form_of_all_of_it(value_type: str, values: list[str]) -> None:
    column_type = ColumnType("items", value_type, nullable=True)
    entities = [f"items:{value}" for value in values]
    whole = column_of("a", entities, column_type)
    assert form_of(iter(entities), column_type) == whole.form
    parts = [column_of("a", [one], column_type, [whole.form]) for one in entities]
    assert [value for part in parts for value in part.values] == whole.values
    assert [type(value) for part in parts for value in part.values] == [type(value) for value in whole.values]
    assert form_of(entities, None) == "text"


FITTING = {
    "BIGINT": ["7", "-0", " 12 ", "99999999999999999"],
    "DOUBLE": ["0.5", "-0.0", "1e+300", "nan", "0.12345678901234567", "1234567890.1234567"],
    "DATE": ["2024-02-03", "0001-01-01"],
    "TIMESTAMP": ["2024-02-03 04:05:06", "2024-02-03T04:05"],
    "VARCHAR": [
        "007",
        "x",
        "1" + "0" * 18,
        "0.123456789012345678",
        "2024-02-30",
        "44-03-15 BC",
        "inf",
        "12345678.12345678e",
    ],
}


def test_a_column_has_the_narrowest_type_that_all_its_values_fit_wherever_they_stand() -> None:
    kinds = [(kind, text) for kind, texts in FITTING.items() for text in texts]
    pairs = [(one, other) for one in kinds for other in kinds]
    columns = [[one[1]] * 2100 + [None, "", other[1]] for one, other in pairs]  # the last ones are in no sample
    with Workspace() as workspace:
        workspace.fill("texts", len(columns), [columns], 0, "texts")
        infer_types(workspace, "texts", "typed", [True] * len(columns), "texts")
        found = [kind for _, kind in workspace.describe("typed")]
    both = [{one[0], other[0]} for one, other in pairs]
    assert found == ["DOUBLE" if two == {"BIGINT", "DOUBLE"} else min(two) if len(two) == 1 else "VARCHAR" for two in both]


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
