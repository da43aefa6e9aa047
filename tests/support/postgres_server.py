"""A PostgreSQL server of the tests' own, as fixtures that a conftest imports."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

PASSWORD = "s3cret/word@home"  # noqa: S105


def server_home(prefix: str) -> tuple[Path, int, str | None]:
    """Return a new directory and a free port for a server, and whom it runs as: it refuses to be root."""
    base, user = Path(tempfile.mkdtemp(prefix=prefix)), "nobody" if os.geteuid() == 0 else None
    if user:
        shutil.chown(base, user)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return base, probe.getsockname()[1], user


@contextmanager
def running_postgres() -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the URL of a server, without a database, and what stops it as a crash would."""
    pytest.importorskip("psycopg")
    missing = [name for name in ("initdb", "pg_ctl") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"needs PostgreSQL: no {' and no '.join(missing)} on the path")
    base, port, user = server_home("relatum-pg-")
    password = base / "password"
    password.write_text(PASSWORD)
    if user:
        shutil.chown(password, user)

    def do(*command: str) -> None:
        done = subprocess.run(command, user=user, cwd=base, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode:
            pytest.skip(f"PostgreSQL does not start here: {done.stderr.strip()[-200:]}")

    def stop() -> None:
        subprocess.run(
            ["pg_ctl", "-D", data, "-m", "immediate", "stop"], user=user, cwd=base, capture_output=True, check=False
        )

    data = str(base / "data")
    do("initdb", "-D", data, "-U", "owner", "-A", "scram-sha-256", "--pwfile", str(password), "-E", "UTF8", "--no-sync")
    options = f"-F -c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={base}"
    do("pg_ctl", "-D", data, "-w", "-l", str(base / "log"), "-o", options, "start")
    try:
        yield f"postgresql://owner:{quote(PASSWORD, safe='')}@127.0.0.1:{port}", stop
    finally:
        stop()
        shutil.rmtree(base, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Yield the URL of a server that lives as long as the tests; without PostgreSQL or psycopg they are skipped."""
    with running_postgres() as (url, _):
        yield url


@pytest.fixture
def database(postgres: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield the URL of an empty database that is dropped after the test."""
    import psycopg

    with psycopg.connect(f"{postgres}/postgres", autocommit=True) as connection:
        connection.execute("CREATE DATABASE trial")
        yield f"{postgres}/trial"
        connection.execute("DROP DATABASE trial WITH (FORCE)")
