"""A study in a PostgreSQL database, by two real processes, one of them killed; with --full, where there is a server."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("optuna")


@pytest.fixture
def database(count: Callable[[int, int], int]) -> Iterator[str]:
    """Yield the URL of a server that lives as long as the test."""
    pytest.importorskip("psycopg")
    if not count(0, 1) or shutil.which("initdb") is None or shutil.which("pg_ctl") is None:
        pytest.skip("needs --full, and PostgreSQL on the path")
    user = "nobody" if os.geteuid() == 0 else None  # the server refuses to run as root
    base = Path(tempfile.mkdtemp(prefix="relatum-pg-"))
    if user:
        shutil.chown(base, user)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def do(*command: str) -> None:
        subprocess.run(command, user=user, cwd=base, capture_output=True, timeout=120, check=True)

    data = str(base / "data")
    do("initdb", "-D", data, "-U", "owner", "-A", "trust", "--no-sync")
    options = f"-F -c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={base}"
    do("pg_ctl", "-D", data, "-w", "-l", str(base / "log"), "-o", options, "start")
    try:
        yield f"postgresql://owner@127.0.0.1:{port}/postgres"
    finally:
        do("pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(base, ignore_errors=True)


def test_processes_share_a_study_in_a_database(database: str, tmp_path: Path) -> None:
    small = ["--set", "model.dim=8", "--set", "training.negatives=10", "--epochs", "40", "--pruner", "none"]
    options = ["tune", "--data", "example", *small, "--trials", "8", "--storage", database, "--json"]

    def begin(name: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-W", "error", "-m", "relatum", *options, "--out", str(tmp_path / name)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    with begin("killed") as killed:
        deadline = time.monotonic() + 60
        while not (tmp_path / "killed" / "best.toml").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.2)
        os.kill(killed.pid, signal.SIGKILL)
    processes = [begin(name) for name in ("one", "two")]
    said = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    last = max((json.loads(out) for out, _ in said), key=lambda one: one["trials"]["complete"])
    assert last["trials"]["complete"] == 8
    assert last["trials"]["running"] == last["trials"]["waiting"] == last["trials"]["pruned"] == 0
    assert last["trials"]["lost"] <= 1
    assert not (tmp_path / "one" / "study.journal").exists()
