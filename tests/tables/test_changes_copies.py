"""A filled copy of a database is a new file, whole or absent; the database itself stays as it is."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from relatum.tables.changes import Applied, Change, copy_filled, list_batches, undo_changes
from support.mistakes import mistake
from support.shop_to_fill import TABLES, Filled, open_filled

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
