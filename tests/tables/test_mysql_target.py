"""MySQL and MariaDB as a target: what they cannot undo is not begun, and what a killed writer leaves is removed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from relatum.tables.table import Column, Table
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
