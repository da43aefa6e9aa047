"""Empty cells are filled in place or in a copy, logged, and emptied again, as a plain loop over rows does it."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from relatum.tables.changes import Applied, Change, Undone, apply_changes, copy_filled, list_batches, undo_changes
from relatum.tables.table import Value
from support.mistakes import mistake
from support.shop_to_fill import TABLES, Filled, open_filled


def track(key: int, column: str, value: Value, probability: float = 0.75) -> Change:
    return Change("track", {"id": key}, column, value, probability, "because")


SOME = [
    track(1, "genre", 7),
    track(1, "price", 0.99),
    track(2, "name", 'Two; it\'s "2" %s'),
    track(2, "seconds", 0.1 + 0.2),
    track(2, "genre", 8),
    track(9, "genre", 7),
]


def test_the_log_has_a_row_for_each_change(shop_to_fill: Filled) -> None:
    apply_changes(shop_to_fill.to, SOME, source="run 1")
    rows = shop_to_fill.ask(
        "SELECT batch, number, source, table_name, column_name, row_key, old_value, new_value, probability, reason, "
        "undone_at FROM relatum_changes ORDER BY number"
    )
    assert [row[:2] for row in rows] == [(1, number) for number in range(4)]
    written = {"genre": "7", "price": "0.99", "name": 'Two; it\'s "2" %s', "seconds": rows[3][7]}
    assert {row[4]: row[7] for row in rows} == written
    assert float(rows[3][7]) == 0.1 + 0.2
    assert [json.loads(row[5]) for row in rows] == [{"id": 1}, {"id": 1}, {"id": 2}, {"id": 2}]
    assert {(*row[2:4], row[6], *row[8:]) for row in rows} == {("run 1", "track", None, 0.75, "because", None)}
    ((moment,),) = shop_to_fill.ask("SELECT DISTINCT changed_at FROM relatum_changes")
    assert abs((datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()) < 60
    (batch,) = list_batches(shop_to_fill.to)
    assert (batch.batch, batch.source, batch.tables, batch.cells, batch.undone) == (1, "run 1", ("track",), 4, 0)
    undo_changes(shop_to_fill.to)
    (batch,) = list_batches(shop_to_fill.to)
    assert (batch.cells, batch.undone) == (4, 4)
    assert batch.undone_at is not None
    assert batch.undone_at >= batch.changed_at == moment


def test_what_was_changed_since_is_left(shop_to_fill: Filled) -> None:
    apply_changes(shop_to_fill.to, [*SOME, track(3, "seconds", 1.0)])
    shop_to_fill.run("UPDATE track SET genre = 3 WHERE id = 1", "DELETE FROM track WHERE id = 3")
    assert undo_changes(shop_to_fill.to) == Undone(1, restored=3, changed=1, missing=1)
    rows = shop_to_fill.ask("SELECT id, name, genre, seconds FROM track ORDER BY id")
    assert rows == [(1, "One", 3, 0.1), (2, None, 7, None)]
    ((left,),) = shop_to_fill.ask("SELECT count(*) FROM relatum_changes WHERE undone_at IS NULL")
    assert left == 2
    with mistake("already-undone"):
        undo_changes(shop_to_fill.to)


def test_what_was_taken_out_of_the_log_is_left(shop_to_fill: Filled) -> None:
    apply_changes(shop_to_fill.to, SOME)
    shop_to_fill.run("DELETE FROM relatum_changes WHERE column_name IN ('genre', 'name')")
    assert undo_changes(shop_to_fill.to) == Undone(1, restored=2, changed=0, missing=0)
    assert shop_to_fill.ask("SELECT count(*), count(undone_at) FROM relatum_changes") == [(2, 2)]
    assert shop_to_fill.ask("SELECT genre, price FROM track WHERE id = 1") == [(7, None)]


def test_batches_are_undone_one_by_one_and_once(shop_to_fill: Filled) -> None:
    before = shop_to_fill.shop
    with mistake("no-change-log"):
        undo_changes(shop_to_fill.to)
    assert apply_changes(shop_to_fill.to, SOME[:2]).batch == 1
    between = shop_to_fill.shop
    assert apply_changes(shop_to_fill.to, SOME[2:]).batch == 2
    with mistake("no-such-batch"):
        undo_changes(shop_to_fill.to, batch=3)
    assert undo_changes(shop_to_fill.to).batch == 2
    assert shop_to_fill.shop == between
    with mistake("already-undone"):
        undo_changes(shop_to_fill.to)
    assert undo_changes(shop_to_fill.to, batch=1).restored == 2
    assert shop_to_fill.shop == before
    assert apply_changes(shop_to_fill.to, SOME).batch == 3
    assert [each.undone for each in list_batches(shop_to_fill.to)] == [2, 2, 0]


def test_names_are_names_whatever_they_hold(shop_to_fill: Filled) -> None:
    names = ['x"; DROP TABLE track; --', "select", "%s ? :a $1", "日本", "relatum_given_0", "relatum_given_0_several"]
    for name in names:
        sql = '"' + name.replace('"', '""') + '"'
        shop_to_fill.run(f"CREATE TABLE {sql} ({sql} TEXT PRIMARY KEY, g INTEGER)")
        shop_to_fill.run(f"INSERT INTO {sql} VALUES ('it''s', NULL)")  # noqa: S608
    given = [Change(name, {name: "it's"}, "g", 5, 1.0) for name in names]
    log = 'lo"g %s'
    assert apply_changes(shop_to_fill.to, given, log=log).applied == len(names)
    for name in names:
        sql = '"' + name.replace('"', '""') + '"'
        assert shop_to_fill.ask(f"SELECT * FROM {sql}") == [("it's", 5)]  # noqa: S608
    assert undo_changes(shop_to_fill.to, log=log).restored == len(names)


def test_values_are_stored_in_the_types_of_columns(shop_to_fill: Filled) -> None:
    given = [track(1, "genre", 7.0), track(1, "price", "2.5"), track(3, "seconds", 4), track(2, "name", 12)]
    assert apply_changes(shop_to_fill.to, given).applied == 4
    found = shop_to_fill.content("track")["track"]
    types = {row[0]: row[3::2] for row in found}
    if shop_to_fill.engine == "sqlite":
        assert types[1][1:] == ("integer", "real", "real")
        assert types[2][0] == "text"
        assert types[3][3] == "real"
    assert shop_to_fill.ask("SELECT name FROM track WHERE id = 2") == [("12",)]
    assert shop_to_fill.ask("SELECT genre FROM track WHERE id = 1 AND genre = 7 AND price = 2.5") == [(7,)]
    assert undo_changes(shop_to_fill.to).restored == 4


def test_types_of_postgresql(postgres_to_fill: Filled) -> None:
    filled = postgres_to_fill
    filled.run(
        "CREATE TYPE mood AS ENUM ('sad', 'glad')",
        "CREATE DOMAIN positive AS INTEGER CHECK (VALUE > 0)",
        "CREATE TABLE parent (k UUID, n NUMERIC(6, 1), t TIMESTAMPTZ, m mood, b BOOLEAN, c CHAR(5), p positive, r REAL)",
        "CREATE TABLE child () INHERITS (parent)",
        "INSERT INTO parent (k) VALUES ('5e1b0a1c-0000-4000-8000-000000000001')",
        "INSERT INTO child (k) VALUES ('5e1b0a1c-0000-4000-8000-000000000001')",
        "CREATE SCHEMA lab",
        "CREATE TABLE lab.found (k INTEGER, v TEXT) PARTITION BY RANGE (k)",
        "CREATE TABLE lab.found_1 PARTITION OF lab.found FOR VALUES FROM (0) TO (10)",
        "INSERT INTO lab.found VALUES (1, NULL)",
    )
    before = filled.content("parent", "lab.found")
    key: dict[str, Value] = {"k": "5e1b0a1c-0000-4000-8000-000000000001"}
    values: dict[str, Value] = {
        "n": 2.25,
        "t": "2024-03-01 10:00:00+02",
        "m": "glad",
        "b": "true",
        "c": "ab",
        "p": 3,
        "r": 0.1,
    }
    given = [Change("parent", key, column, value, 0.5) for column, value in values.items()]
    given.append(Change("lab.found", {"k": 1}, "v", "x", 0.5))
    assert apply_changes(filled.to, given).applied == 8
    assert filled.ask("SELECT count(*), count(n) FROM parent") == [(2, 1)]  # the row of the table that inherits is not meant
    ((n, moment),) = filled.ask("SELECT n::text, t AT TIME ZONE 'UTC' FROM ONLY parent")
    assert (n, moment.hour) == ("2.3", 8)
    filled.run("ALTER DATABASE trial SET timezone = 'Asia/Tokyo'", "ALTER DATABASE trial SET datestyle = 'German'")
    assert undo_changes(filled.to).restored == 8
    assert filled.content("parent", "lab.found") == before


def test_a_trigger_that_changes_what_is_written_is_no_obstacle_to_undo(postgres_to_fill: Filled) -> None:
    filled = postgres_to_fill
    filled.run(
        "CREATE TABLE word (k INTEGER PRIMARY KEY, v TEXT)",
        "INSERT INTO word VALUES (1, NULL)",
        "CREATE FUNCTION lower_v() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.v = lower(NEW.v); RETURN NEW; END'",
        "CREATE TRIGGER lower_v BEFORE UPDATE ON word FOR EACH ROW EXECUTE FUNCTION lower_v()",
    )
    apply_changes(filled.to, [Change("word", {"k": 1}, "v", "ABC", 0.5)])
    assert filled.ask("SELECT v, new_value FROM word, relatum_changes") == [("abc", "abc")]
    assert undo_changes(filled.to).restored == 1


def test_many_changes_are_quick(shop_to_fill: Filled, count: Callable[[int, int], int]) -> None:
    rows = count(2_000, 50_000)
    counted = f"SELECT 1 AS k UNION ALL SELECT k + 1 FROM r WHERE k < {rows}"  # noqa: S608
    shop_to_fill.run(
        "CREATE TABLE big (k INTEGER, g INTEGER, v TEXT, w INTEGER)",
        f"INSERT INTO big WITH RECURSIVE r AS ({counted}) SELECT k, NULLIF(k % 3, 0), NULL, NULL FROM r",  # noqa: S608
    )
    before = shop_to_fill.content("big")
    given = []
    for k in range(1, rows + 1):
        row: dict[str, Value] = {"k": k, "g": k % 3 or None, "v": None, "w": None}
        given += [Change("big", row, "v", f"v{k}", 0.5), Change("big", row, "w", k, 0.5)]
    started = time.perf_counter()
    assert apply_changes(shop_to_fill.to, given).applied == 2 * rows
    assert undo_changes(shop_to_fill.to).restored == 2 * rows
    assert time.perf_counter() - started < max(30, rows / 500)  # nested loops would take far longer
    assert shop_to_fill.content("big") == before


COLUMNS = ("a", "b", "c")
Row = tuple[Value, ...]


def expected(rows: list[Row], changes: list[Change]) -> tuple[list[Row], Applied]:
    """Return the rows after changes, and the counts, by looking at every row for every change."""
    keys = [tuple(change.row[column] for column in COLUMNS) for change in changes]
    outcome: dict[int, str] = {}
    while True:
        after = [list(row) for row in rows]
        written: dict[int, list[int]] = {}
        for number, (key, change) in enumerate(zip(keys, changes, strict=True)):
            found = [index for index, row in enumerate(rows) if row == key]
            position = COLUMNS.index(change.column)
            same = [other for other in range(len(changes)) if (keys[other], changes[other].column) == (key, change.column)]
            if outcome.get(number) == "clash":
                continue
            if len(same) > 1 or len(found) > 1:
                outcome[number] = "ambiguous"
            elif not found:
                outcome[number] = "missing"
            elif rows[found[0]][position] is not None:
                outcome[number] = "filled"
            else:
                outcome[number] = "applied"
                after[found[0]][position] = change.value
                written.setdefault(found[0], []).append(number)
        clashing = [number for index, numbers in written.items() if after.count(after[index]) > 1 for number in numbers]
        if not clashing:
            break
        outcome.update(dict.fromkeys(clashing, "clash"))
    counts = Counter(outcome.values())
    ambiguous = counts["ambiguous"] + counts["clash"]
    applied = Applied(1 if counts["applied"] else None, counts["applied"], counts["filled"], counts["missing"], ambiguous)
    return [tuple(row) for row in after], applied


def test_random_changes_do_what_a_plain_loop_does(shop_to_fill: Filled, count: Callable[[int, int], int]) -> None:
    rng, seen = random.Random(3), Counter[str]()
    values: tuple[tuple[Value, ...], ...] = (("x", "y", None), (1, 2, None), (0.1, 2.5, None))
    for _ in range(count(12 if shop_to_fill.engine == "sqlite" else 5, 200)):
        rows: list[Row] = [tuple(map(rng.choice, values)) for _ in range(rng.randint(1, 12))]
        listed = ", ".join(f"({', '.join('NULL' if each is None else repr(each) for each in row)})" for row in rows)
        shop_to_fill.run(
            "DROP TABLE IF EXISTS t",
            "DROP TABLE IF EXISTS relatum_changes",
            "CREATE TABLE t (a TEXT, b INTEGER, c DOUBLE PRECISION)",
            f"INSERT INTO t VALUES {listed}",  # noqa: S608
        )
        before = shop_to_fill.content("t")
        changes = []
        for row in sorted({*rng.sample(rows, rng.randint(1, len(rows))), tuple(map(rng.choice, values))}, key=repr):
            for position in rng.sample(range(3), rng.randint(1, 3)):
                changes.append(
                    Change(
                        "t", dict(zip(COLUMNS, row, strict=True)), COLUMNS[position], rng.choice(values[position][:2]), 0.5
                    )
                )
        changes += rng.sample(changes, rng.random() < 0.2)
        after, applied = expected(rows, changes)
        assert apply_changes(shop_to_fill.to, changes) == applied
        assert Counter(shop_to_fill.ask("SELECT a, b, c FROM t")) == Counter(after)
        seen.update(applied=applied.applied, filled=applied.filled, missing=applied.missing, ambiguous=applied.ambiguous)
        if applied.applied:
            assert undo_changes(shop_to_fill.to).restored == applied.applied
        assert shop_to_fill.content("t") == before
    assert min(seen.values()) > 0


CHANGES = [Change("track", {"id": 1}, "genre", 7, 0.5), Change("track", {"id": 2}, "genre", 8, 0.5)]


@pytest.fixture(params=["sqlite", "duckdb"])
def shop_file(request: pytest.FixtureRequest, tmp_path: Path) -> Filled:
    filled = open_filled(request.param, tmp_path, request)
    filled.run(*TABLES.split(";"))
    return filled


def copied(filled: Filled, path: Path) -> Filled:
    """Return the database in a file of the same engine."""
    import duckdb

    return Filled(filled.engine, str(path), lambda: (sqlite3 if filled.engine == "sqlite" else duckdb).connect(str(path)))


def test_a_copy_is_filled_and_can_be_undone(shop_file: Filled, tmp_path: Path) -> None:
    before, content = shop_file.shop, Path(shop_file.to).read_bytes()
    target = tmp_path / "filled.data"  # whatever it is called
    assert copy_filled(shop_file.to, target, CHANGES) == Applied(1, applied=1, filled=1, missing=0, ambiguous=0)
    assert Path(shop_file.to).read_bytes() == content
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([Path(shop_file.to).name, "filled.data"])
    copy = copied(shop_file, target)
    assert copy.ask("SELECT genre FROM track ORDER BY id") == [(7,), (7,), (None,)]
    assert [each.source for each in list_batches(target)] == [shop_file.to]
    undo_changes(target)
    assert copy.shop == before


def test_nothing_is_overwritten_and_nothing_is_left(shop_file: Filled, tmp_path: Path) -> None:
    target = tmp_path / "filled.data"
    with mistake("cells-not-changeable"):
        copy_filled(shop_file.to, target, [*CHANGES, Change("nothing", {"id": 1}, "genre", 7, 0.5)])
    assert [each.name for each in tmp_path.iterdir()] == [Path(shop_file.to).name]
    target.write_text("mine")
    with mistake("already-exists"):
        copy_filled(shop_file.to, target, CHANGES)
    assert target.read_text() == "mine"
    with mistake("not-a-database"):
        copy_filled(target, tmp_path / "new", CHANGES)


LEFT = """
import os, sys
import duckdb, sqlite3
path = sys.argv[1]
connection = sqlite3.connect(path) if path.endswith(".db") else duckdb.connect(path)
if path.endswith(".db"):
    connection.execute("PRAGMA journal_mode = WAL")
connection.execute("INSERT INTO track VALUES (4, 'late', NULL, NULL, NULL)")
connection.commit()
os._exit(0)
"""


def test_what_is_only_in_the_log_of_a_database_is_copied(shop_file: Filled, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", LEFT, shop_file.to], check=True)
    log = Path(f"{shop_file.to}{'-wal' if shop_file.engine == 'sqlite' else '.wal'}")
    assert log.stat().st_size > 0
    target = tmp_path / "filled.data"
    given = [*CHANGES, Change("track", {"id": 4}, "genre", 5, 0.5)]
    assert copy_filled(shop_file.to, target, given).applied == 2
    assert copied(shop_file, target).ask("SELECT genre FROM track WHERE id = 4") == [(5,)]
    assert shop_file.ask("SELECT name, genre FROM track WHERE id = 4") == [("late", None)]


def test_a_database_that_somebody_writes_to_is_copied_as_it_was_or_not_at_all(
    shop_file: Filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from relatum.tables import sqlite

    monkeypatch.setattr(sqlite, "_PATIENCE", 0.1)
    target = tmp_path / "filled.data"
    with closing(shop_file.connect()) as other:
        other.execute("BEGIN EXCLUSIVE" if shop_file.engine == "sqlite" else "BEGIN")
        other.execute("UPDATE track SET genre = 1")
        with mistake("database-refused"):
            copy_filled(shop_file.to, target, CHANGES)
        assert not target.exists()
        other.execute("ROLLBACK")
    assert copy_filled(shop_file.to, target, CHANGES).applied == 1
