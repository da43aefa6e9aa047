"""A study in a PostgreSQL database, by two real processes, one of them killed; with --full, where there is a server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("optuna")


def test_processes_share_a_study_in_a_database(database: str, tmp_path: Path) -> None:
    small = ["--set", "model.dim=8", "--set", "training.num_negatives=10", "--epochs", "40", "--pruner", "none"]
    options = ["tune", "--data", "example", *small, "--trials", "8", "--storage", database, "--json"]

    def begin(name: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-W", "error", "-m", "relatum", *options, "--out", str(tmp_path / name)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    with begin("killed") as killed:
        deadline = time.monotonic() + 300
        while not (tmp_path / "killed" / "best.toml").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.2)
        os.kill(killed.pid, signal.SIGKILL)
    processes = [begin(name) for name in ("one", "two")]
    said = [process.communicate(timeout=600) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    last = max((json.loads(out) for out, _ in said), key=lambda one: one["trials"]["complete"])
    assert last["trials"]["complete"] == 8
    assert last["trials"]["running"] == last["trials"]["waiting"] == last["trials"]["pruned"] == 0
    assert last["trials"]["lost"] <= 1
    assert not (tmp_path / "one" / "study.journal").exists()
