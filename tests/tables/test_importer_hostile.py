"""Tables that are odd, empty, wide or many: one sentence or a whole import, in time that grows with what there is."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from relatum.datasets.load import load
from relatum.errors import RelatumError
from relatum.tables import Imported, read
from support.mistakes import mistake
from support.small_tables import all_facts, csv_of, relations, rows_of, sqlite_of, store_of


def wide(path: Path, columns: int, rows: int = 200) -> Path:
    """Return a CSV file with columns of every kind, many of them."""
    rng = np.random.default_rng(columns)

    def cell(row: int, column: int) -> object:
        drawn = int(rng.integers(0, 1000))
        makers = (f"c{drawn % 5}", drawn / 7, f"2024-{1 + drawn % 12:02}-{1 + drawn % 28:02}", drawn % 9, drawn, None)
        return row if column == 0 else makers[column % 6]

    return csv_of(path, [f"k{n}" for n in range(columns)], ([cell(row, n) for n in range(columns)] for row in range(rows)))


def test_many_tables_and_two_hundred_columns_come_whole(tmp_path: Path, count: Callable[[int, int], int]) -> None:
    tables = count(12, 100)
    script = "".join(
        f"CREATE TABLE t{n} (id INTEGER PRIMARY KEY, c TEXT, up INTEGER REFERENCES t{max(n - 1, 0)} (id));"
        for n in range(tables)
    )
    rows = {f"t{n}": [(k, f"c{k % 3}", k * 7 % 20) for k in range(20)] for n in range(tables)}
    imported = read(sqlite_of(tmp_path / "many.db", script, **rows))
    assert len(imported.split.schema) == 2 * tables
    assert len(all_facts(imported)) == 40 * tables
    assert {record.shape for record in imported.tables} == {"entity"}
    heads = [f"c{n}" for n in range(200)]
    cells = [[f"v{(row * (column + 3) + column) % 7}" for column in range(200)] for row in range(60)]
    imported = read(csv_of(tmp_path / "t.csv", ["id", *heads], ([n, *row] for n, row in enumerate(cells))))
    assert len(all_facts(imported)) == sum(len({row[n] for row in cells}) > 1 for n in range(200)) * 60


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,a,b\n1,x,y\n", "(t: fewer than two columns have values that make a fact)"),
        ("id,a\n", "(t: no rows)"),
        ("a,b\n" + ",\n" * 5, "(t: fewer than two columns"),
        ("id,b\n1,2\n2,2\n3,2\n", "(t: its rows are entities that no other column describes)"),
        ("a,b\nx,\n,y\nz,\n,w\nx,\n,y\n", "(t: no row has a value in every column)"),
    ],
)
def test_a_table_that_gives_nothing_says_why(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(RelatumError) as caught:
        read(tmp_path / "t.csv")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_row_and_columns_without_values_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,a,b\n1,x,y\n")
    assert all_facts(read(tmp_path / "t.csv", keep=["a", "b"])) == {("t", "t.a:x", "t.b:y")}
    (tmp_path / "t.csv").write_text("id,b,c\n1,,1\n2,,2\n3,,1\n4,,1\n")
    for options in ({}, {"keep": ["b"]}, {"bins": {"b": 3}}):
        imported = read(tmp_path / "t.csv", **options)
        assert relations(imported) == ["t.c(id, c)"]
    assert relations(read(tmp_path / "t.csv", keep=["b"], null="value")) == ["t.b(id, b)", "t.c(id, c)"]


def test_a_row_whose_key_is_null_is_kept_and_gives_no_fact(tmp_path: Path) -> None:
    script = "CREATE TABLE t (k TEXT PRIMARY KEY, c TEXT);"
    rows = [(None, "a"), (None, "b"), ("x", "a"), ("y", "b"), ("z", "a")]
    imported = read(sqlite_of(tmp_path / "s.db", script, t=rows))
    assert all_facts(imported) == {("t.c", f"t:{key}", f"t.c:{c}") for key, c in rows if key}
    assert (imported.tables[0].rows, imported.tables[0].gaps) == (5, 2)
    assert [row["k"] for row in rows_of(imported.split, "t")] == [None, None, "t:x", "t:y", "t:z"]


def test_a_foreign_key_of_several_columns_is_followed_column_by_column(tmp_path: Path) -> None:
    script = """CREATE TABLE p (a INTEGER, b INTEGER, s TEXT, PRIMARY KEY (a, b));
        CREATE TABLE c (id INTEGER PRIMARY KEY, x INTEGER, y INTEGER, FOREIGN KEY (x, y) REFERENCES p (a, b));"""
    owners = [(n // 4, n % 4, f"s{n % 3}") for n in range(16)]
    rows = [(n, n * 3 % 4, n % 4) for n in range(30)]
    imported = read(sqlite_of(tmp_path / "s.db", script, p=owners, c=rows))
    assert ("c", "p.a:3", "p.b:1") in all_facts(imported)
    (reference,) = store_of(imported.split)["c"].schema.references
    assert (reference.columns, reference.table, reference.targets) == (("x", "y"), "p", ("a", "b"))
    assert store_of(imported.split)["p"].schema.keys == (("a", "b"),)


def odd(tmp_path: Path) -> Path:
    towns = ("日本", "ж", "é'\"", "☃")
    rows = [
        (n, f"ünï {n}", f"{n * 1.7:.2f}", towns[n % 4] if n % 5 else None, f"2024-0{1 + n % 9}-1{n % 10}") for n in range(60)
    ]
    return csv_of(tmp_path / "täble ☃.csv", ("id", "näme", "прайс", "町", "day.x"), rows)


@pytest.mark.parametrize(
    "options", [{}, {"null": "value", "shapes": {"täble ☃": "fact"}}, {"plain": True, "keep_ids": True}]
)
def test_names_in_any_script_come_through_and_are_read_again(tmp_path: Path, options: dict[str, object]) -> None:
    imported = read(odd(tmp_path), **options)
    prefix = "" if "plain" in options else "täble ☃.町:"
    assert sum(row["町"] == f"{prefix}日本" for row in rows_of(imported.split, "täble ☃")) == 12
    gaps = [row["町"] for row in rows_of(imported.split, "täble ☃")][::5]
    assert set(gaps) == ({"täble ☃.町:NULL"} if "null" in options else {None})
    assert store_of(imported.split)["täble ☃"].labels == tuple(f"ünï {n}" for n in range(60))
    assert_written(imported, tmp_path / "out")


def assert_written(imported: Imported, out: Path) -> None:
    imported.save(out)
    loaded = load(out)
    assert loaded.parts == imported.split.parts
    for name, table in store_of(imported.split).tables.items():
        assert store_of(loaded)[name].schema == table.schema
        assert np.array_equal(store_of(loaded)[name].cells, table.cells)


def test_a_table_of_very_many_columns_is_refused_unless_some_are_chosen(tmp_path: Path) -> None:
    path = wide(tmp_path / "wide.csv", 20_000, 3)
    began = time.perf_counter()
    with mistake("over-limit"):
        read(path)
    assert time.perf_counter() - began < 10
    imported = read(path, columns={"wide": ["k0", "k3"]})
    assert imported.split.schema["wide"].arity == 2


def test_a_fact_of_very_many_roles_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "facts.jsonl"
    path.write_text(json.dumps({"relation": "r", **{f"k{number}": "v" for number in range(100_000)}}) + "\n")
    with mistake("over-limit"):
        read(path)
