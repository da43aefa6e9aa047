"""What sources tell of their tables: keys, schemas, views; and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import duckdb
import pytest

from relatum.tables import read
from relatum.tables.table import Column, Table
from relatum.tables.targets import write
from support.mistakes import mistake
from support.small_tables import sqlite_of, staged, tables_of

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
        "sqlite": lambda: sqlite_of(tmp_path / "k.db", KEYS + PARTIAL),
        "duckdb": lambda: duckdb_file(tmp_path / "k.duckdb", KEYS),
        "postgres": lambda: postgres_database(
            request.getfixturevalue("database"), KEYS + PARTIAL + "CREATE UNIQUE INDEX carries ON none (b) INCLUDE (a);"
        ),
    }
    tables = tables_of(makers[kind]())
    people = tables["people"]
    assert people.primary_key == ("id",)
    assert [set(key) for key in people.unique_keys] == [{"Last", 'first "x, y'}, {"born", "Last"}, {"mail"}]
    assert tables["none"].unique_keys == ((("b",),) if kind == "postgres" else ())


VIEWS = """
    CREATE TABLE sales (item INTEGER, buyer TEXT, price DOUBLE PRECISION, day DATE);
    INSERT INTO sales VALUES (1, 'x', 0.5, '2024-01-01'), (2, 'y', 1.5, '2024-01-02'), (2, 'x', 2.5, '2024-01-01');
    CREATE VIEW dear AS SELECT item, buyer, price, day, 1 < 2 AS sure FROM sales WHERE price > 1;
    CREATE TABLE parts (a INTEGER);
    CREATE VIEW broken AS SELECT a FROM parts;"""
DEAR = [(2, "x", 2.5, date(2024, 1, 1)), (2, "y", 1.5, date(2024, 1, 2))]


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_views_are_tables_if_they_are_wanted_and_one_that_cannot_run_is_not_read(kind: str, tmp_path: Path) -> None:
    maker = sqlite_of if kind == "sqlite" else duckdb_file
    path = maker(tmp_path / "v.file", VIEWS + "DROP TABLE parts;")
    assert set(tables_of(path)) == {"sales"}
    tables = tables_of(path, views=True)
    assert {name: table.is_readable for name, table in tables.items()} == {"sales": True, "dear": True, "broken": False}
    assert [row[:4] for row in staged(path, "dear", views=True)] == DEAR
    with mistake("database-refused"):
        staged(path, "broken", views=True)


MORE_VIEWS = """
    CREATE MATERIALIZED VIEW kept AS SELECT item, buyer, price, day FROM sales;
    CREATE MATERIALIZED VIEW empty AS SELECT item FROM sales WITH NO DATA;
    CREATE EXTENSION file_fdw;
    CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
    CREATE FOREIGN TABLE elsewhere (a INTEGER) SERVER files OPTIONS (filename '/dev/null', format 'csv');
    CREATE EXTENSION pg_buffercache;"""


def test_views_materialized_views_and_tables_of_other_servers_in_postgres(database: str) -> None:
    postgres_database(database, VIEWS + MORE_VIEWS)
    assert set(tables_of(database)) == {"sales", "parts"}
    tables = tables_of(database, views=True)
    readable = {"sales", "parts", "dear", "broken", "kept", "elsewhere"}
    assert {name: table.is_readable for name, table in tables.items()} == {**dict.fromkeys(readable, True), "empty": False}
    assert [row[:4] for row in staged(database, "dear", views=True)] == DEAR
    assert len(staged(database, "kept", views=True)) == 3


def test_a_view_of_duckdb_reaches_no_other_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,2\n")
    script = f"CREATE TABLE t (a INTEGER); CREATE VIEW spy AS FROM read_csv('{secret}');"
    path = duckdb_file(tmp_path / "spy.duckdb", script)
    assert not tables_of(path, views=True)["spy"].is_readable
    with mistake("database-refused"):
        staged(path, "spy", views=True)


def test_a_view_of_sqlite_runs_no_function_that_can_do_harm(tmp_path: Path) -> None:
    script = "CREATE TABLE t (a); CREATE VIEW evil AS SELECT load_extension('evil') AS a, 1 AS b, 2 AS c, 3 AS d;"
    with mistake("database-refused"):
        staged(sqlite_of(tmp_path / "e.db", script), "evil", views=True)


def test_tables_of_other_schemas_are_called_by_schema_and_table_in_options(database: str, tmp_path: Path) -> None:
    script = """
        CREATE SCHEMA hr;
        CREATE TABLE hr.people (id INTEGER PRIMARY KEY, team TEXT, mail TEXT);
        CREATE TABLE people (id INTEGER PRIMARY KEY, team TEXT);
        CREATE TABLE visits (who INTEGER, room TEXT);
        INSERT INTO hr.people VALUES (1, 'a', 'x'), (2, 'a', 'y'), (3, 'b', 'z'), (4, 'b', 'w');
        INSERT INTO people VALUES (1, 'c'), (2, 'c');
        INSERT INTO visits VALUES (1, 'p'), (2, 'p'), (3, 'q'), (4, 'q'), (1, 'q');"""
    for given in (postgres_database(database, script), duckdb_file(tmp_path / "s.duckdb", script)):
        assert set(tables_of(given)) == {"hr.people", "people", "visits"}
        imported = read(
            given,
            tables=["hr.people", "visits"],
            columns={"hr.people": ["id", "mail"]},
            relations={"hr.people": "staff"},
            links={"visits.who": "hr.people"},
        )
        assert {relation.name for relation in imported.split.schema} == {"staff", "visits"}
        assert "hr.people:4" in imported.split.entities
        assert read(given, tables=["hr.people"], keep=["hr.people.id", "hr.people.mail"]).split.schema
        for what, nearest in (("hr.people.mial", ("mail",)), ("hr.people.x.mail", ("mail",)), ("people.teem", ("team",))):
            with mistake("unknown-name", nearest=nearest):
                read(given, links={"visits.who": what})
        guests = read(given, tables=["visits"], links={"visits.who": "hr.guest"})
        assert "hr.guest:4" in guests.split.entities, "a new name may hold a dot where no table is called so"


def test_a_duckdb_file_whose_name_holds_a_backslash_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    other = duckdb_file(tmp_path / "a" / "b.duckdb", "CREATE TABLE other (a INTEGER, b INTEGER)")
    path = tmp_path / "a\\b.duckdb"
    path.write_bytes(other.read_bytes())
    for action in (lambda: tables_of(path), lambda: write(Table("t", (Column("a", "whole", [1]),), "t"), path)):
        with mistake("backslash-in-path"):
            action()
    path.unlink()
    with mistake("backslash-in-path"):
        write(Table("t", (Column("a", "whole", [1]),), "t"), path)
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["a", "b.duckdb"]
