"""A MariaDB server of the tests' own, as fixtures that a conftest imports."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from support.postgres_server import PASSWORD

_START = 60  # seconds
_PATH = f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin"  # where Debian keeps servers


def _program(name: str) -> str | None:
    return shutil.which(name, path=_PATH)


class MysqlServer:
    """A server in a directory of its own; `url` names no database."""

    def __init__(self) -> None:
        self.base = Path(tempfile.mkdtemp(prefix="relatum-my-"))
        self._user = "nobody" if os.geteuid() == 0 else None  # the server refuses to run as root
        if self._user:
            shutil.chown(self.base, self._user)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"mysql://owner:{quote(PASSWORD, safe='')}@127.0.0.1:{self.port}"
        data, self._socket = self.base / "data", self.base / "s"
        install = (
            str(_program("mariadb-install-db")),
            "--no-defaults",
            f"--datadir={data}",
            "--auth-root-authentication-method=normal",
        )
        done = subprocess.run(
            (*install, "--skip-test-db"), user=self._user, cwd=self.base, capture_output=True, text=True, timeout=120
        )
        if done.returncode:
            pytest.skip(f"MariaDB does not start here: {(done.stderr or done.stdout).strip()[-200:]}")
        options = (f"--datadir={data}", f"--socket={self._socket}", f"--port={self.port}", "--bind-address=127.0.0.1")
        quick = ("--skip-log-bin", "--innodb-flush-log-at-trx-commit=0", "--innodb-log-file-size=8M", "--skip-name-resolve")
        with (self.base / "log").open("wb") as log:
            server = (str(_program("mariadbd")), "--no-defaults", *options, *quick, f"--pid-file={self.base / 'pid'}")
            self.process = subprocess.Popen(server, user=self._user, cwd=self.base, stdout=log, stderr=log)
        self._prepare()

    def _prepare(self) -> None:
        import pymysql

        end = time.monotonic() + _START
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > end:
                pytest.skip(f"MariaDB does not start here: {(self.base / 'log').read_text()[-200:]}")
            time.sleep(0.05)
        connection = pymysql.connect(unix_socket=str(self._socket), user="root", autocommit=True)
        with connection, connection.cursor() as cursor:
            cursor.execute("CREATE USER owner@'127.0.0.1' IDENTIFIED BY %s", (PASSWORD,))
            cursor.execute("GRANT ALL ON *.* TO owner@'127.0.0.1' WITH GRANT OPTION")

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(str(self._socket)) == 0

    def stop(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        shutil.rmtree(self.base, ignore_errors=True)


@contextmanager
def running_mysql() -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the URL of a server, without a database, and what stops it as a crash would."""
    pytest.importorskip("pymysql")
    missing = [name for name in ("mariadb-install-db", "mariadbd") if _program(name) is None]
    if missing:
        pytest.skip(f"needs MariaDB: no {' and no '.join(missing)} on the path")
    server = MysqlServer()
    try:
        yield server.url, server.stop
    finally:
        server.stop()


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
