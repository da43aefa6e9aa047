"""Servers that die while they are read: one sentence, nothing left behind."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from relatum.tables.engine import CsvRows, Workspace
from support.command_line import Relatum
from support.mysql_server import run_script, running_mysql
from support.postgres_server import running_postgres

ROWS = 150_000  # of 400 bytes, more than sockets hold


def postgres_table(url: str) -> str:
    import psycopg

    with psycopg.connect(f"{url}/postgres", autocommit=True) as connection:
        connection.execute("CREATE TABLE wide (a int, b text)")
        query = "INSERT INTO wide SELECT i %% 9, repeat((i %% 7)::text, 400) FROM generate_series(1, %s) i"
        connection.execute(query, (ROWS,))
    return f"{url}/postgres"


def mysql_table(url: str) -> str:
    run_script(url, "CREATE DATABASE trial;\n")
    script = f"""
        CREATE TABLE wide (a INT, b TEXT);
        INSERT INTO wide SELECT seq % 9, repeat(seq % 7, 400) FROM seq_1_to_{ROWS};
        """  # noqa: S608
    return run_script(f"{url}/trial", script)


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_a_server_that_dies_while_rows_are_read_is_one_sentence_and_leaves_nothing(
    kind: str, run: Relatum, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    with (running_postgres if kind == "postgres" else running_mysql)() as (url, stop):
        database = (postgres_table if kind == "postgres" else mysql_table)(url)
        append, batches = Workspace.append, []

        def append_and_stop(workspace: Workspace, target: str, batch: CsvRows, what: str) -> None:
            append(workspace, target, batch, what)
            batches.append(len(batch))
            if len(batches) == 1:
                stop()

        temporary.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(temporary))
        monkeypatch.setattr(Workspace, "append", append_and_stop)
        code, out, err = run("import", database, "--out", str(tmp_path / "out"))
    location = f"{database.partition(':')[0]}://owner@{database.rpartition('@')[2]}"
    assert 0 < sum(batches) < ROWS
    assert (code, out) == (2, "")
    assert f"{location}, table 'wide': the connection was lost before all was read; try again" in err.splitlines()[-1]
    assert [path for path in tmp_path.rglob("*") if path != temporary] == []
