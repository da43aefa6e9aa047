"""What a database does not let happen is one sentence, and it stays as it was."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from relatum.imputation.models import columns_to_fill
from relatum.tables import mysql_target, postgres, read, sqlite
from relatum.tables.change_log import ChangeLog
from relatum.tables.changes import Change, apply_changes, list_batches, undo_changes
from relatum.tables.table import Value
from support.full_disk import LIMITED
from support.mistakes import mistake
from support.shop_to_fill import Filled

GENRE = Change("track", {"id": 1}, "genre", 7, 0.5)


def refused(filled: Filled, *changes: Change, code: str, word: str = "", log: str = "relatum_changes") -> None:
    """Check that changes after one that would do are refused in one line, and leave the database as it was."""
    before = filled.shop
    with mistake(code) as refusal:
        apply_changes(filled.to, [GENRE, *changes], log=log)
    assert word in refusal.value.reason.casefold()
    assert "\n" not in str(refusal.value)
    assert "s3cret" not in str(refusal.value)
    assert filled.shop == before
    assert list_batches(filled.to) == []


def test_what_is_not_there_is_refused(shop_to_fill: Filled) -> None:
    shop_to_fill.run("CREATE VIEW seen AS SELECT * FROM track")
    for table, key, column, code, word in (
        ("nothing", {"id": 1}, "genre", "cells-not-changeable", "nothing"),
        ("seen", {"id": 1}, "genre", "view-not-table", "seen"),
        ("track", {"id": 2}, "nothing", "database-refused", "nothing"),
        ("sale", {"nothing": 1}, "units", "database-refused", "nothing"),
        ("track", {"name": "x", "id": 2}, "seconds", "not-a-value", ""),
    ):
        refused(shop_to_fill, Change(table, key, column, 7, 0.5), code=code, word=word)
    for log in ("sale", "track"):
        refused(shop_to_fill, code="not-a-change-log", word=log, log=log)


def test_a_table_that_is_gone_since_is_named(shop_to_fill: Filled) -> None:
    apply_changes(shop_to_fill.to, [GENRE, Change("sale", {"buyer": "cem"}, "units", 1, 0.5)])
    shop_to_fill.run("DROP TABLE sale")
    with mistake("cells-not-changeable"):
        undo_changes(shop_to_fill.to)
    assert shop_to_fill.ask("SELECT genre FROM track WHERE id = 1") == [(7,)]


def test_a_damaged_log_is_refused(shop_to_fill: Filled) -> None:
    apply_changes(shop_to_fill.to, [GENRE])
    for text in ("{", "{}", "[1]", '{"id": [1]}', "[" * 100_000):
        shop_to_fill.run(f"UPDATE relatum_changes SET row_key = '{text}'")  # noqa: S608
        with mistake("damaged-file"):
            undo_changes(shop_to_fill.to)
    shop_to_fill.run("UPDATE relatum_changes SET row_key = '{\"id\": 1}', value_type = 'integer', new_value = 'many'")
    with mistake("damaged-file" if shop_to_fill.engine == "sqlite" else "database-refused"):
        undo_changes(shop_to_fill.to)
    shop_to_fill.run("UPDATE relatum_changes SET new_value = '7', table_name = NULL")
    with mistake("damaged-file"):
        undo_changes(shop_to_fill.to)
    shop_to_fill.run("UPDATE relatum_changes SET table_name = 'track'")
    assert undo_changes(shop_to_fill.to).restored == 1


def test_files_that_are_no_databases_are_refused(tmp_path: Path) -> None:
    table = tmp_path / "shop.csv"
    table.write_text("id,genre\n1,\n")
    with mistake("not-a-database"):
        apply_changes(table, [GENRE])
    with mistake("no-such-file"):
        apply_changes(tmp_path / "new.db", [GENRE])
    with mistake("cells-not-changeable"):
        apply_changes("oracle://me:secret@here/shop", [GENRE])
    with mistake("not-a-file"):
        undo_changes(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["shop.csv"]


def test_changes_that_cannot_be_are_refused() -> None:
    nan, inf = float("nan"), float("inf")
    wrong: list[tuple[Any, Any, float]] = [(1, value, 0.5) for value in (None, nan, inf)]
    for key, value, probability in [*wrong, *((1, 1, each) for each in (-0.1, 1.5, nan)), ([1], 1, 0.5)]:
        with mistake("not-a-value"):
            Change("t", {"id": key}, "c", value, probability)


def test_a_check_is_kept(shop_to_fill: Filled) -> None:
    shop_to_fill.run(
        "CREATE TABLE checked (k INTEGER PRIMARY KEY, v INTEGER CHECK (v < 900))",
        "INSERT INTO checked VALUES (1, NULL), (2, NULL)",
    )
    given = [Change("checked", {"k": key}, "v", value, 0.5) for key, value in ((1, 5), (2, 900))]
    refused(shop_to_fill, *given, code="database-refused", word="v")
    assert shop_to_fill.ask("SELECT count(v) FROM checked") == [(0,)]


def test_a_generated_column_is_not_written(shop_to_fill: Filled) -> None:
    stored = "VIRTUAL" if shop_to_fill.engine == "duckdb" else "STORED"
    shop_to_fill.run(
        f"CREATE TABLE sums (k INTEGER, a INTEGER, b INTEGER GENERATED ALWAYS AS (a + 1) {stored})",
        "INSERT INTO sums (k) VALUES (1)",
    )
    code = "change-miscounted" if shop_to_fill.engine == "mysql" else "database-refused"
    refused(shop_to_fill, Change("sums", {"k": 1}, "b", 5, 0.5), code=code)
    given = [Change("sums", {"k": 1, "a": None, "b": None}, "a", 5, 0.5)]  # what follows from it changes as well
    with mistake("change-miscounted"):
        apply_changes(shop_to_fill.to, given)
    assert apply_changes(shop_to_fill.to, [Change("sums", {"k": 1}, "a", 5, 0.5)]).applied == 1
    assert shop_to_fill.ask("SELECT * FROM sums") == [(1, 5, 6)]


def test_a_value_that_a_column_cannot_hold_is_refused(shop_to_fill: Filled) -> None:
    strict = "STRICT" if shop_to_fill.engine == "sqlite" else ""
    shop_to_fill.run(f"CREATE TABLE strict (k INTEGER, v INTEGER) {strict}", "INSERT INTO strict VALUES (1, NULL)")
    for value in ("many", 2**70):
        refused(shop_to_fill, Change("strict", {"k": 1}, "v", value, 0.5), code="database-refused")


def test_a_trigger_that_refuses_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER, w INTEGER)")
        connection.execute("INSERT INTO t VALUES (1, NULL, NULL), (2, NULL, NULL)")
        connection.execute(
            "CREATE TRIGGER no AFTER UPDATE ON t WHEN new.v = 5 BEGIN SELECT RAISE(ABORT, 'five is not wanted'); END"
        )
        connection.execute("CREATE TRIGGER back AFTER UPDATE ON t WHEN new.w = 5 BEGIN UPDATE t SET w = NULL; END")
    before = path.read_bytes()
    for column, code, word in (("v", "database-refused", "five is not wanted"), ("w", "change-miscounted", "'w'")):
        with mistake(code) as caught:
            apply_changes(path, [Change("t", {"k": key}, column, value, 0.5) for key, value in ((1, 4), (2, 5))])
        assert word in caught.value.reason
        assert path.read_bytes() == before


def test_a_trigger_that_skips_rows_is_noticed(postgres_to_fill: Filled) -> None:
    filled = postgres_to_fill
    filled.run(
        "CREATE TABLE t (k INTEGER, v INTEGER)",
        "INSERT INTO t VALUES (1, NULL), (2, NULL)",
        "CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN IF NEW.v = 5 THEN RETURN NULL; END IF; RETURN NEW; END'",
        "CREATE TRIGGER skip BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION skip()",
    )
    with mistake("change-miscounted"):
        apply_changes(filled.to, [Change("t", {"k": key}, "v", value, 0.5) for key, value in ((1, 4), (2, 5))])
    assert filled.ask("SELECT * FROM t ORDER BY k") == [(1, None), (2, None)]


@pytest.mark.everything  # it waits for locks
def test_what_somebody_else_is_writing_to_is_left_alone(shop_to_fill: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_PATIENCE", 0.1)
    monkeypatch.setitem(postgres._LOCAL, "lock_timeout", "100ms")
    monkeypatch.setattr(mysql_target, "_WAIT", 1)
    apply_changes(shop_to_fill.to, [GENRE])
    with ExitStack() as stack:
        other: Any = stack.enter_context(closing(shop_to_fill.connect()))
        other.execute("BEGIN IMMEDIATE" if shop_to_fill.engine == "sqlite" else "BEGIN")
        other.execute("UPDATE track SET genre = 5 WHERE id = 3")
        more = [Change("track", {"id": 2}, "name", "Two", 0.5)]
        for act in (lambda: apply_changes(shop_to_fill.to, more), lambda: undo_changes(shop_to_fill.to)):
            with mistake("database-refused"):
                act()
        other.execute("ROLLBACK")
    assert apply_changes(shop_to_fill.to, more).applied == 1


def test_a_database_that_may_only_be_read_is_left_alone(postgres_to_fill: Filled) -> None:
    filled = postgres_to_fill
    filled.run("CREATE TABLE track (id INTEGER, genre INTEGER)", "INSERT INTO track VALUES (1, NULL)")
    filled.run("ALTER DATABASE trial SET default_transaction_read_only = on")
    with mistake("database-refused"):
        apply_changes(filled.to, [GENRE])


def stopped(*_: object) -> int:
    raise KeyboardInterrupt


def test_ctrl_c_between_values_and_log_leaves_the_database_as_it_was(shop_to_fill: Filled) -> None:
    before = shop_to_fill.shop
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(ChangeLog, "add", stopped)
        apply_changes(shop_to_fill.to, [GENRE])
    assert shop_to_fill.shop == before
    assert apply_changes(shop_to_fill.to, [GENRE]).applied == 1


FULL = """
import sys
from relatum import DataError
from relatum.tables.changes import Change, apply_changes
from support.full_disk import files_up_to
changes = [Change("t", {"k": key}, "v", f"value {key}" * 20, 0.5) for key in range(3000)]
with files_up_to(int(sys.argv[2])):
    try:
        apply_changes(sys.argv[1], changes)
    except DataError as error:
        print(error)
        sys.exit(2)
"""


@LIMITED
@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_full_disk_leaves_the_database_as_it_was(engine: str, tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "shop.db"
    connect: Any = sqlite3.connect if engine == "sqlite" else duckdb.connect
    filled = Filled(engine, str(path), lambda: connect(str(path)))
    values: list[Value] = [f"({key}, NULL)" for key in range(3000)]
    filled.run("CREATE TABLE t (k INTEGER, v TEXT)", f"INSERT INTO t VALUES {', '.join(map(str, values))}")  # noqa: S608
    before = filled.content("t")
    command = [sys.executable, "-c", FULL, str(path), str(path.stat().st_size + 50_000)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1], check=False)
    assert done.returncode == 2, done.stderr
    assert done.stdout.count("\n") == 1
    assert filled.content("t") == before
    assert list_batches(path) == []


def parts_to_fill(filled: Filled) -> None:
    """Make tables with and without a key in which some values are refused, and two columns may not both be 1."""
    checks = "a INTEGER CHECK (a < 5), b INTEGER, c INTEGER, CHECK (a IS NULL OR b IS NULL OR a + b <> 2)"
    for table, key in (("parts", "INTEGER PRIMARY KEY"), ("loose", "INTEGER")):
        filled.run(f"CREATE TABLE {table} (id {key}, {checks})")
        filled.run(f"INSERT INTO {table} VALUES (1, NULL, NULL, NULL), (2, NULL, 4, NULL), (3, 2, NULL, 6)")  # noqa: S608


@pytest.mark.parametrize("table", ["parts", "loose"])
@pytest.mark.parametrize(
    ("a", "b", "left_out"), [(9, 1, {"a"}), (1, 1, {"b"}), (2, 1, set())], ids=["by its check", "by both", "nothing"]
)
def test_refused_columns_are_left_out_where_that_is_asked(
    shop_to_fill: Filled, table: str, a: int, b: int, left_out: set[str]
) -> None:
    parts_to_fill(shop_to_fill)
    rows = {row[0]: dict(zip("abc", row[1:], strict=True)) for row in shop_to_fill.ask(f"SELECT id, a, b, c FROM {table}")}  # noqa: S608
    keys = {key: {"id": key} | (row if table == "loose" else {}) for key, row in rows.items()}
    changes = [Change(table, keys[1], column, value, 0.5) for column, value in (("a", a), ("b", b), ("c", 3))]
    changes += [Change(table, keys[2], "c", 7, 0.5), Change("track", {"id": 1}, "genre", 7, 0.5)]
    before = shop_to_fill.content("parts", "loose", "track", "sale")
    if left_out:
        with mistake("database-refused"):
            apply_changes(shop_to_fill.to, changes)
        assert shop_to_fill.content("parts", "loose", "track", "sale") == before
    applied = apply_changes(shop_to_fill.to, changes, skip_refused=True)
    assert {name.removeprefix(f"{table}.") for name in applied.refused} == left_out
    assert (applied.applied, applied.ambiguous, applied.missing) == (len(changes) - len(left_out), 0, 0)
    now = {name: None if name in left_out else value for name, value in (("a", a), ("b", b))}
    wanted = [(now["a"], now["b"], 3), (None, 4, 7), (2, None, 6)]
    assert shop_to_fill.ask(f"SELECT a, b, c FROM {table} ORDER BY id") == wanted  # noqa: S608
    assert undo_changes(shop_to_fill.to).restored == applied.applied
    assert shop_to_fill.content("parts", "loose", "track", "sale") == before


def test_a_trigger_that_empties_a_column_again_has_it_left_out(tmp_path: Path) -> None:
    filled = Filled("sqlite", str(tmp_path / "t.db"), lambda: sqlite3.connect(tmp_path / "t.db"))
    filled.run("CREATE TABLE t (id INTEGER PRIMARY KEY, a, b)", "INSERT INTO t VALUES (1, NULL, NULL)")
    filled.run("CREATE TRIGGER no AFTER UPDATE OF a ON t BEGIN UPDATE t SET a = NULL WHERE id = NEW.id; END")
    changes = [Change("t", {"id": 1}, column, 1, 0.5) for column in ("a", "b")]
    with mistake("change-miscounted"):
        apply_changes(filled.to, changes)
    assert apply_changes(filled.to, changes, skip_refused=True).refused.keys() == {"t.a"}
    assert filled.ask("SELECT a, b FROM t") == [(None, 1)]


def test_generated_columns_are_not_filled(shop_to_fill: Filled) -> None:
    stored = "" if shop_to_fill.engine == "duckdb" else "STORED"
    shop_to_fill.run(
        f"CREATE TABLE made (id INTEGER PRIMARY KEY, kind VARCHAR(9), twice VARCHAR(20) "
        f"GENERATED ALWAYS AS (concat(kind, kind)) {stored})".replace(
            "concat(kind, kind)", "kind || kind" if shop_to_fill.engine in ("sqlite", "postgres") else "concat(kind, kind)"
        )
    )
    for number in range(12):
        kind = "NULL" if number % 4 == 0 else f"'kind{number % 3}'"
        shop_to_fill.run(f"INSERT INTO made (id, kind) VALUES ({number}, {kind})")  # noqa: S608
    rows = read(shop_to_fill.to, tables=("made",), seed=0).split.rows
    assert rows is not None
    generated = {one.name: one.is_generated for one in rows["made"].schema.columns}
    assert generated["twice"]
    assert not generated["kind"]
    assert columns_to_fill(rows, "made") == ["kind"]
