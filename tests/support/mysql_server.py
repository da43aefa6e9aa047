"""A MariaDB server of the tests' own, as fixtures that a conftest imports."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from support.postgres_server import PASSWORD, server_home

_START = 60  # seconds
_PATH = f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin"  # where Debian keeps servers
_QUICK = ("--skip-log-bin", "--innodb-flush-log-at-trx-commit=0", "--innodb-log-file-size=8M", "--skip-name-resolve")


@contextmanager
def running_mysql() -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the URL of a server, without a database, and what stops it as a crash would."""
    pytest.importorskip("pymysql")
    install, program = (shutil.which(name, path=_PATH) for name in ("mariadb-install-db", "mariadbd"))
    if install is None or program is None:
        pytest.skip("needs MariaDB: no mariadb-install-db or no mariadbd on the path")
    base, port, user = server_home("relatum-my-")
    data, log = f"--datadir={base / 'data'}", base / "log"
    command = (install, "--no-defaults", data, "--auth-root-authentication-method=normal", "--skip-test-db")
    done = subprocess.run(command, user=user, cwd=base, capture_output=True, text=True, timeout=120)
    if done.returncode:
        pytest.skip(f"MariaDB does not start here: {(done.stderr or done.stdout).strip()[-200:]}")
    where = (f"--socket={base / 's'}", f"--port={port}", "--bind-address=127.0.0.1", f"--pid-file={base / 'pid'}")
    with log.open("wb") as file:
        process = subprocess.Popen(
            (program, "--no-defaults", data, *where, *_QUICK), user=user, cwd=base, stdout=file, stderr=file
        )

    def stop() -> None:
        with suppress(ProcessLookupError):
            process.kill()
        process.wait()
        shutil.rmtree(base, ignore_errors=True)

    try:
        end = time.monotonic() + _START
        while not _answers(base / "s"):
            if process.poll() is not None or time.monotonic() > end:
                pytest.skip(f"MariaDB does not start here: {log.read_text()[-200:]}")
            time.sleep(0.05)
        _make_owner(base / "s")
        yield f"mysql://owner:{quote(PASSWORD, safe='')}@127.0.0.1:{port}", stop
    finally:
        stop()


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


def _make_owner(path: Path) -> None:
    import pymysql

    connection = pymysql.connect(unix_socket=str(path), user="root", autocommit=True)
    with connection, connection.cursor() as cursor:
        cursor.execute("CREATE USER owner@'127.0.0.1' IDENTIFIED BY %s", (PASSWORD,))
        cursor.execute("GRANT ALL ON *.* TO owner@'127.0.0.1' WITH GRANT OPTION")


def connect(url: str, **options: Any) -> Any:
    """Return a connection that commits each statement, to a database of a server of the tests."""
    import pymysql

    host, name = urlsplit(url), urlsplit(url).path[1:] or None
    where: dict[str, Any] = {"host": host.hostname, "port": host.port, "user": "owner", "password": PASSWORD}
    return pymysql.connect(**where, database=name, autocommit=True, **options)


def run_script(url: str, script: str) -> str:
    """Run statements, each of which ends with a semicolon at the end of a line, and return the URL."""
    with connect(url) as connection, connection.cursor() as cursor:
        for statement in filter(str.strip, script.split(";\n")):
            cursor.execute(statement.strip().removesuffix(";"))
    return url


@pytest.fixture(scope="session")
def mysql() -> Iterator[str]:
    """Yield the URL of a server that lives as long as the tests; without MariaDB or PyMySQL they are skipped."""
    with running_mysql() as (url, _):
        yield url


@pytest.fixture
def mysql_database(mysql: str) -> Iterator[str]:
    """Yield the URL of an empty database that is dropped after the test."""
    with connect(mysql) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE trial CHARACTER SET utf8mb4")
        yield f"{mysql}/trial"
        cursor.execute("DROP DATABASE trial")
