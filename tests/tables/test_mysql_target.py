"""MySQL and MariaDB as a target: what they cannot undo is not begun, and cells of any type are filled and emptied again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

from relatum.tables.changes import Change, apply_changes, list_batches, undo_changes
from relatum.tables.table import Column, Table, Value
from relatum.tables.targets import write
from support.mistakes import mistake
from support.mysql_server import connect, run_script
from support.small_tables import Acting

_WRITER = """
import sys, time
from relatum.tables.table import Column, Table
from relatum.tables.targets import write

class Slow(list):
    def __iter__(self):
        yield from range(3)
        print("under way", flush=True)
        time.sleep(60)

table = Table("slow", (Column("a", "whole", Slow(range(9))),), "slow")
kept = Table("kept", (Column("a", "whole", [7]),), "kept")
write([kept, table], sys.argv[1], append=True)
"""


def table(name: str, values: list[int | None]) -> Table:
    return Table(name, (Column("a", "whole", values),), name)


def state(url: str) -> dict[str, int]:
    with connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW TABLES")
        names = [row[0] for row in cursor.fetchall()]
        counts = {}
        for name in names:
            cursor.execute(f"SELECT count(*) FROM `{name}`")  # noqa: S608
            counts[name] = cursor.fetchone()[0]
        return counts


def started(url: str) -> subprocess.Popen[str]:
    writer = subprocess.Popen(
        [sys.executable, "-c", _WRITER, url],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "under way\n"
    return writer


def test_what_a_killed_writer_leaves_is_unfinished_and_removed_by_the_next(mysql_database: str) -> None:
    run_script(mysql_database, "CREATE TABLE kept (a BIGINT) ENGINE = InnoDB;\n")
    with started(mysql_database) as writer:
        write(table("other", [1]), mysql_database)  # while it lives, nobody takes its table away
        seen = state(mysql_database)
        assert len([name for name in seen if name.startswith("relatum_unfinished_")]) == 1
        assert "slow" not in seen
        writer.send_signal(signal.SIGKILL)
    end = time.monotonic() + 20
    while len(state(mysql_database)) > 2 and time.monotonic() < end:  # until the server notices
        write(table("other", [2]), mysql_database, replace=True)
    assert state(mysql_database) == {"kept": 0, "other": 1}


def test_a_table_whose_engine_cannot_roll_back_is_refused(mysql_database: str) -> None:
    run_script(mysql_database, "CREATE TABLE old (a BIGINT) ENGINE = MyISAM;\nINSERT INTO old VALUES (1);\n")
    for options in ({"append": True}, {"replace": True}):
        with mistake("engine-without-undo"):
            write([table("new", [1]), table("old", [2])], mysql_database, **options)
    assert state(mysql_database) == {"old": 1}


def test_a_name_that_was_taken_meanwhile_is_left_alone(mysql_database: str) -> None:
    late = Acting([1, 2], lambda: run_script(mysql_database, "CREATE TABLE new (b INT);\n"))
    with mistake("database-refused"):
        write([table("first", [1]), Table("new", (Column("a", "whole", late),), "new")], mysql_database)
    assert state(mysql_database) == {"new": 0}


def test_names_and_values_that_cannot_be(mysql_database: str) -> None:
    wrong = [
        ("x" * 65, "whole", 1),
        ("😀", "whole", 1),
        ("x ", "whole", 1),
        ("t", "number", float("nan")),
        ("t", "text", "\ud800"),
    ]
    for name, form, value in wrong:
        with mistake("database-refused"):
            write(Table(name, (Column("a", form, [value]),), name), mysql_database)
    assert state(mysql_database) == {}


def test_another_database_of_the_server_can_be_named(mysql_database: str) -> None:
    run_script(mysql_database, "CREATE DATABASE elsewhere;\n")
    try:
        write(Table("elsewhere.t", (Column("a", "text", ["é\0日😀\\'", "x" * 100_000]),), "t"), mysql_database)
        with mistake("table-exists"):
            write(table("elsewhere.t", [1]), mysql_database)
        with connect(mysql_database) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT a FROM elsewhere.t ORDER BY length(a)")
            assert [row[0] for row in cursor.fetchall()] == ["é\0日😀\\'", "x" * 100_000]
    finally:
        run_script(mysql_database, "DROP DATABASE elsewhere;\n")
    assert state(mysql_database) == {}


def ask(url: str, sql: str) -> list[tuple[Any, ...]]:
    with connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())


def change(key: Value, column: str, value: Value, table: str = "t") -> Change:
    return Change(table, {"k": key}, column, value, 0.5)


TYPED = """
    CREATE TABLE t (k VARCHAR(9) PRIMARY KEY, a FLOAT, b DOUBLE, c DECIMAL(9, 3), d DATE, e DATETIME(6), f TIMESTAMP NULL,
      g ENUM('x', 'it''s'), h CHAR(5), i BIGINT UNSIGNED, j YEAR, l BIT(3), m LONGTEXT, n TINYINT(1), o VARCHAR(9) NOT NULL,
      changed TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP) CHARACTER SET utf8mb4;
    INSERT INTO t (k, o, changed) VALUES ('one', '', '2020-01-01'), ('two', '', '2020-01-02');
"""
LETTERS = "x" * 70_000 + "\\'"
VALUES: dict[str, Value] = {
    "a": 0.1234567891,
    "b": 0.1 + 0.2,
    "c": 1.5,
    "d": "2024-02-29",
    "e": "2024-02-29 12:00:00.123456",
}
VALUES |= {"f": "2024-02-29 12:00:00", "g": "it's", "h": "é 日", "i": (1 << 64) - 1}
VALUES |= {"j": 1999, "l": 5, "m": LETTERS, "n": 1}


def test_every_type_is_filled_and_emptied_again_and_no_other_column_changes(mysql_database: str) -> None:
    run_script(mysql_database, TYPED)
    before = ask(mysql_database, "SELECT * FROM t ORDER BY k")
    given = [change("one", column, value) for column, value in VALUES.items()]
    assert apply_changes(mysql_database, given).applied == len(VALUES)
    ((a, b, c, i, letters, changed),) = ask(
        mysql_database, "SELECT a + 0e0, b, CAST(c AS CHAR), i, m, CAST(changed AS CHAR) FROM t WHERE k = 'one'"
    )
    assert (b, c, i, letters, changed) == (0.1 + 0.2, "1.500", (1 << 64) - 1, LETTERS, "2020-01-01 00:00:00")
    assert abs(a - 0.1234567891) < 1e-8
    assert undo_changes(mysql_database).restored == len(VALUES)
    assert ask(mysql_database, "SELECT * FROM t ORDER BY k") == before


def test_another_case_or_another_number_is_another_value(mysql_database: str) -> None:
    run_script(mysql_database, TYPED)
    apply_changes(mysql_database, [change("one", "h", "abc"), change("one", "a", 0.1234567), change("two", "h", "abc")])
    run_script(mysql_database, "UPDATE t SET h = 'ABC', a = 0.1234568 WHERE k = 'one';\n")
    undone = undo_changes(mysql_database)
    assert (undone.restored, undone.changed) == (1, 2)
    assert ask(mysql_database, "SELECT k, h FROM t ORDER BY k") == [("one", "ABC"), ("two", None)]
    applied = apply_changes(mysql_database, [change("one", "o", "x"), change("two", "n", 1)])
    assert (applied.applied, applied.filled) == (1, 1)  # a column that cannot be empty is full


def test_a_value_that_does_not_fit_leaves_everything_but_an_empty_log_as_it_was(mysql_database: str) -> None:
    run_script(mysql_database, TYPED)
    for column, value in (("g", "y"), ("h", "too long"), ("j", "soon"), ("i", -1), ("d", "2024-02-30")):
        with mistake("database-refused"):
            apply_changes(mysql_database, [change("one", "n", 1), change("one", column, value)])
    assert ask(mysql_database, "SELECT count(*) FROM t WHERE n IS NOT NULL") == [(0,)]
    assert list_batches(mysql_database) == []
    with mistake("no-change-log"):
        undo_changes(mysql_database)


def test_what_cannot_be_rolled_back_is_refused(mysql_database: str) -> None:
    run_script(
        mysql_database,
        "CREATE TABLE t (k INT PRIMARY KEY, v INT) ENGINE = MyISAM;\nINSERT INTO t VALUES (1, NULL);\n"
        "CREATE TABLE u (k INT PRIMARY KEY, v INT);\nINSERT INTO u VALUES (1, NULL);\nCREATE VIEW w AS SELECT * FROM u;\n",
    )
    with mistake("engine-without-undo"):
        apply_changes(mysql_database, [change(1, "v", 1), change(1, "v", 1, "u")])
    with mistake("view-not-table"):
        apply_changes(mysql_database, [change(1, "v", 1, "w")])
    assert ask(mysql_database, "SELECT t.v, u.v FROM t JOIN u USING (k)") == [(None, None)]


def test_a_table_of_another_database_is_filled_where_it_is(mysql_database: str) -> None:
    run_script(
        mysql_database,
        "CREATE DATABASE elsewhere;\nCREATE TABLE elsewhere.t (k INT PRIMARY KEY, v FLOAT);\n"
        "INSERT INTO elsewhere.t VALUES (1, NULL), (2, 1);\nCREATE TABLE t (k INT PRIMARY KEY, v INT);\n",
    )
    try:
        applied = apply_changes(mysql_database, [change(1, "v", 0.1, "elsewhere.t"), change(2, "v", 3, "elsewhere.t")])
        assert (applied.applied, applied.filled) == (1, 1)
        assert undo_changes(mysql_database).restored == 1
        assert ask(mysql_database, "SELECT v FROM elsewhere.t ORDER BY k") == [(None,), (1.0,)]
    finally:
        run_script(mysql_database, "DROP DATABASE elsewhere;\n")
