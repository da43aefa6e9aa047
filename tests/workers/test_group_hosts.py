"""Workers on several hosts, which are network namespaces: the bits of one process, also when a host is lost on the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SMALL = ("model.dim=16", "training.batch_size=64", "training.batches_per_step=4", "training.num_negatives=50")


@pytest.fixture(autouse=True)
def _namespaces() -> None:
    name = f"relatum-test-{os.getpid()}"
    try:
        made = subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode == 0
    except FileNotFoundError:
        made = False
    if not made:
        pytest.skip("needs network namespaces of Linux: run it as root")
    subprocess.run(["ip", "netns", "del", name], check=True)


def hosts(out: Path, number: int, epochs: int, *options: str) -> dict[str, object]:
    changes = [word for one in (*SMALL, f"training.epochs={epochs}") for word in ("--set", one)]
    command = [sys.executable, str(ROOT / "experiments" / "hosts.py"), "--hosts", str(number), "--facts", "1500"]
    command += ["--entities", "500", "--out", str(out), *changes, *options]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    _, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
    assert f"relatum-{process.pid}-" not in left
    found: dict[str, object] = json.loads(out.read_text())["runs"][-1]
    return found


def test_hosts_with_slow_links_have_the_bits_of_one_process(tmp_path: Path, count: Callable[[int, int], int]) -> None:
    number = count(2, 4)
    found = hosts(tmp_path / "hosts.json", number, 2, "--delay", "1", "--rate", "100")
    assert (found["same_bits"], found["resumed"], found["hosts"]) == (True, 0, number)
    assert json.loads(json.dumps(found["end"]))["workers"] == number


def test_hosts_go_on_without_one_that_is_lost(tmp_path: Path, count: Callable[[int, int], int]) -> None:
    number = count(2, 4)
    found = hosts(tmp_path / "hosts.json", number, count(40, 20), "--lose", "--set", "training.validate_every=1")
    assert (found["same_bits"], found["resumed"], found["lost"]) == (True, 1, 1)
    assert json.loads(json.dumps(found["end"]))["workers"] == number - 1
