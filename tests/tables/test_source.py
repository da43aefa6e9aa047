"""What sources tell of the keys of their tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from relatum.tables.engine import Workspace
from relatum.tables.open import open_sources
from relatum.tables.source import SourceTable, other_keys

KEYS = """
    CREATE TABLE people (id INTEGER PRIMARY KEY, mail TEXT UNIQUE, "first ""x, y" TEXT, "Last" TEXT NOT NULL, born TEXT,
        UNIQUE ("Last", "first ""x, y"));
    CREATE UNIQUE INDEX by_last ON people ("first ""x, y", "Last");
    CREATE UNIQUE INDEX by_birth ON people (born, "Last");
    CREATE UNIQUE INDEX by_id ON people (id);
    CREATE UNIQUE INDEX by_low ON people (lower(mail));
    CREATE INDEX plain ON people (born);
    CREATE TABLE none (a INTEGER, b INTEGER);"""
PARTIAL = "CREATE UNIQUE INDEX part ON none (a) WHERE b > 0;"


def tables_of(given: object, **options: bool) -> dict[str, SourceTable]:
    with Workspace() as workspace, open_sources(given, workspace, "relation", **options) as found:
        return {name: table for name, (_, table) in found.items()}


def sqlite_file(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path


def duckdb_file(path: Path, script: str) -> Path:
    with duckdb.connect(path) as connection:
        connection.execute(script)
    return path


def postgres_database(url: str, script: str) -> str:
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute(script.encode())
    return url


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "postgres"])
def test_unique_keys_are_those_on_columns_and_on_all_rows(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    makers: dict[str, Callable[[], Path | str]] = {
        "sqlite": lambda: sqlite_file(tmp_path / "k.db", KEYS + PARTIAL),
        "duckdb": lambda: duckdb_file(tmp_path / "k.duckdb", KEYS),
        "postgres": lambda: postgres_database(
            request.getfixturevalue("database"),
            KEYS + PARTIAL + "CREATE UNIQUE INDEX carries ON none (b) INCLUDE (a);",
        ),
    }
    tables = tables_of(makers[kind]())
    people = tables["people"]
    assert people.primary_key == ("id",)
    assert [set(key) for key in people.unique_keys] == [{"Last", 'first "x, y'}, {"born", "Last"}, {"mail"}]
    assert tables["none"].unique_keys == ((("b",),) if kind == "postgres" else ())


def test_a_key_is_there_once_and_the_primary_one_is_not() -> None:
    found = [["b", "a"], ("a", "b"), ("id",), ("c",), ("z", "y")]
    assert other_keys(found, ("id",)) == (("a", "b"), ("c",), ("z", "y"))
    assert other_keys(found, ("y", "z")) == (("a", "b"), ("c",), ("id",))
    assert other_keys([], ()) == ()
