"""Tables of databases: all rows or none, whatever happens half way; nothing that is there is lost unless asked for."""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from relatum import DataError
from relatum.tables.table import Column, Table, Value
from relatum.tables.targets import write
from support.mistakes import mistake
from support.shop_to_fill import ENGINES, Filled, open_filled
from support.small_tables import Acting

LISTINGS = {
    "sqlite": "SELECT name FROM sqlite_schema WHERE type = 'table'",
    "duckdb": "SELECT table_name FROM duckdb_tables()",
    "postgres": "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'",
    "mysql": "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()",
}


class Place(Filled):
    """A database with a table `kept`."""

    def state(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return the rows of all tables."""
        names = [str(row[0]) for row in self.ask(LISTINGS[self.engine])]
        return {name: self.ask(f'SELECT * FROM "{name.replace(chr(34), chr(34) * 2)}"') for name in names}  # noqa: S608


@pytest.fixture(params=ENGINES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    filled = open_filled(request.param, tmp_path, request)
    place = Place(filled.engine, filled.to, filled.connect)
    place.run("CREATE TABLE kept (item BIGINT, score DOUBLE PRECISION)", "INSERT INTO kept VALUES (1, 0.5), (2, 0.25)")
    return place


def table(name: str = "new", items: Sequence[Value] = (3, 4), relation: str = "sold") -> Table:
    scores = [0.5] * len(items)
    return Table(name, (Column("item", "whole", items), Column("score", "number", scores)), relation)


def test_a_new_table_is_made_and_is_there_once(place: Place) -> None:
    write(table(), place.to)
    assert place.ask("SELECT * FROM new") == [(3, 0.5), (4, 0.5)]
    before = place.state()
    with mistake("table-exists"):
        write(table(), place.to)
    assert place.state() == before


def test_rows_are_appended_or_replaced_where_columns_fit(place: Place) -> None:
    write(table("kept"), place.to, append=True)
    assert place.ask("SELECT item FROM kept ORDER BY item") == [(1,), (2,), (3,), (4,)]
    write(table("kept", [9, None]), place.to, replace=True)
    assert place.ask("SELECT item FROM kept ORDER BY score, item") in ([(9,), (None,)], [(None,), (9,)])
    write(table("fresh"), place.to, append=True)
    write(table("empty", []), place.to, replace=True)
    assert len(place.state()["fresh"]) == 2
    assert place.state()["empty"] == []


def test_a_table_with_other_columns_is_left_alone(place: Place) -> None:
    place.run("CREATE TABLE sales (item BIGINT, buyer TEXT)")
    place.run("CREATE TABLE wider (item BIGINT, score DOUBLE PRECISION, seen TEXT DEFAULT 'now')")
    place.run("INSERT INTO wider (item) VALUES (7)")
    before = place.state()
    for options in ({"append": True}, {"replace": True}):
        with mistake("table-differs"):
            write([table("fresh"), table("sales", relation="other")], place.to, **options)
    with mistake("table-differs"):
        write(table("wider"), place.to, replace=True)
    assert place.state() == before
    write(table("wider"), place.to, append=True)  # others' columns have their defaults
    assert sorted(place.ask("SELECT item, seen FROM wider")) == [(3, "now"), (4, "now"), (7, "now")]


def test_a_view_is_no_table(place: Place) -> None:
    place.run("CREATE VIEW seen AS SELECT * FROM kept")
    for options in ({}, {"append": True}, {"replace": True}):
        with mistake("view-not-table"):
            write(table("seen"), place.to, **options)


def test_a_failure_half_way_leaves_the_database_as_it_was(place: Place) -> None:
    place.run("CREATE TABLE strict (item BIGINT CHECK (item < 900), score DOUBLE PRECISION)")
    place.run("INSERT INTO strict VALUES (5, 0.5)")
    before = place.state()
    content = Path(place.to).read_bytes() if place.to.endswith(".db") else b""
    for options in ({"append": True}, {"replace": True}):
        given = [table("made"), table("kept", relation="a"), table("strict", range(1000), "b")]
        with mistake("database-refused"):
            write(given, place.to, **options)
        assert place.state() == before
    if content:
        assert Path(place.to).read_bytes() == content


def test_ctrl_c_half_way_leaves_the_database_as_it_was(place: Place) -> None:
    before = place.state()
    for options in ({"append": True}, {"replace": True}):
        with pytest.raises(KeyboardInterrupt):
            write(
                [table("made"), table("kept", Acting(range(1000), lambda: signal.raise_signal(signal.SIGINT), 700), "a")],
                place.to,
                **options,
            )
        assert place.state() == before
    write(table("made"), place.to)  # nobody holds a lock


HOSTILE = ['x"; DROP TABLE kept; --', "x'); DROP TABLE kept; --", "select", "na me", "%s %(a)s ? :a $1"]
HOSTILE += ["日本語", 'a""b', "{0}", "-- comment", "back\\slash"]


def test_names_are_names_whatever_they_hold(place: Place) -> None:
    given = [
        Table(name, (Column(name, "text", [name, "b"]), Column("score", "number", [1.0, None])), name) for name in HOSTILE
    ]
    write(given, place.to)
    write(given, place.to, append=True)
    write(given, place.to, replace=True)
    found = place.state()
    assert found == {"kept": [(1, 0.5), (2, 0.25)], **{name: [(name, 1.0), ("b", None)] for name in HOSTILE}}


def test_names_that_cannot_be_are_refused(place: Place) -> None:
    before = place.state()
    for name in ("", "   ", "a\0b", "a\nb"):
        with mistake("unusable-name"):
            write(table(name), place.to)
    with mistake("two-columns-one-name"):
        Table("t", (Column("score", "text", ["a"]), Column("Score", "text", ["a"])), "t")
    with mistake("unequal-columns"):
        Table("t", (Column("score", "text", ["a"]), Column("item", "text", [])), "t")
    with mistake("tables-collide"):
        write([table("same", relation="a b"), table("same", relation="a_b")], place.to, append=True)
    assert place.state() == before


def test_values_that_a_database_cannot_hold_leave_it_as_it_was(place: Place) -> None:
    before = place.state()
    for items in ([1, 2**70], [1, "one"] if not place.to.endswith(".db") else [1, 2**64]):
        with pytest.raises(DataError):
            write([table("made"), table("kept", items, "a")], place.to, append=True)
    assert place.state() == before


def test_schemas_of_postgresql_and_its_long_names(database: str) -> None:
    import psycopg

    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA lab")
        write(table("lab.found"), database)
        assert connection.execute("SELECT count(*) FROM lab.found").fetchone() == (2,)
        with mistake("table-exists"):
            write(table("lab.found"), database)
        wrong = {
            "nowhere.x": "database-refused",
            ".x": "bad-option-form",
            "x" * 64: "name-too-long",
            "pg_class": "table-exists",
        }
        given = [(table(name), code) for name, code in wrong.items()]
        given.append((Table("t", (Column("é" * 40, "text", ["a"]),), "t"), "name-too-long"))
        given.append((Table("t", (Column("item", "text", ["a", "b\0"]),), "t"), "database-refused"))
        for one, code in given:
            with mistake(code):
                write(one, database)
        listing = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"
        assert connection.execute(listing).fetchone() == (0,)
        connection.execute("CREATE TABLE typed (item UUID, score NUMERIC)")
        key = "5e1b0a1c-0000-4000-8000-000000000001"
        typed = Table("typed", (Column("item", "text", [key]), Column("score", "number", [0.5])), "t")
        write(typed, database, append=True)  # the server reads a value as the type of its column
        assert str(connection.execute("SELECT item FROM typed").fetchone()[0]) == key  # type: ignore[index]


def test_what_somebody_else_is_writing_to_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from relatum.tables import sqlite

    monkeypatch.setattr(sqlite, "_PATIENCE", 0.1)
    path = tmp_path / "busy.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TABLE a (b)")
        other.execute("BEGIN IMMEDIATE")
        with mistake("database-refused"):
            write(table(), path)
