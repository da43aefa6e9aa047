"""Servers that cannot be reached, or die while they are read: one sentence, no endless tries, nothing left behind."""

from __future__ import annotations

import socket
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from relatum.tables import read
from relatum.tables.engine import CsvRows, Workspace
from support.command_line import Relatum
from support.mistakes import mistake
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


class Door:
    """A port that counts who comes, and passes what they send on to another port, or hangs up on them."""

    def __init__(self, target: int | None) -> None:
        self.count, self._target = 0, target
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._server.accept()
            except OSError:
                return
            self.count += 1
            if self._target is None:
                caller.close()
                continue
            other = socket.create_connection(("127.0.0.1", self._target))
            for ends in ((caller, other), (other, caller)):
                self._threads.append(threading.Thread(target=self._pass_on, args=ends))
                self._threads[-1].start()

    def _pass_on(self, here: socket.socket, there: socket.socket) -> None:
        with suppress(OSError), here:
            while data := here.recv(1 << 16):
                there.sendall(data)
            there.shutdown(socket.SHUT_WR)

    def __enter__(self) -> Door:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for thread in self._threads:
            thread.join()


def url_of(scheme: str, port: int) -> str:
    return f"{scheme}://owner:hidden@127.0.0.1:{port}/x{'?sslmode=disable' if scheme == 'postgresql' else ''}"


@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_a_server_that_hangs_up_is_tried_twice(scheme: str) -> None:
    with Door(None) as door, mistake("database-refused") as caught:
        read(url_of(scheme, door.port))
    assert door.count == 2
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_a_password_that_was_refused_is_not_tried_again(scheme: str, request: pytest.FixtureRequest) -> None:
    server: str = request.getfixturevalue("postgres" if scheme == "postgresql" else "mysql")
    with Door(int(server.rpartition(":")[2])) as door, mistake("database-refused"):
        read(url_of(scheme, door.port))
    assert door.count == 1
