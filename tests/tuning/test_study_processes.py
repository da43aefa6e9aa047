"""`relatum tune` in real processes: several on one study, one of them killed, one stopped by Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("optuna")

from relatum import Spec
from support.command_line import Relatum
from support.mistakes import code_of

SMALL = ["--set", "model.dim=8", "--set", "training.num_negatives=10", "--epochs", "4"]
LONG = ["--set", "model.dim=8", "--set", "training.num_negatives=10", "--epochs", "50"]
TUNE = ["tune", "--data", "example", "--model", "reale"]


def begin(folder: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", "-m", "relatum", *TUNE, "--out", str(folder), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def records(folder: Path) -> list[dict[str, Any]]:
    path = folder / "study.journal"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def wait_for_trials(folder: Path, number: int) -> None:
    """Wait until so many trials have reported a validation."""
    deadline = time.monotonic() + 60
    while len({one["trial_id"] for one in records(folder) if one["op_code"] == 7}) < number and time.monotonic() < deadline:
        time.sleep(0.02)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "study"


@pytest.fixture
def tune(run: Relatum, folder: Path) -> Relatum:
    """Return a function that tunes into the folder with options, in this process."""
    return lambda *options: run(*TUNE, "--out", str(folder), *options)


def trials_in(err: str) -> list[str]:
    """Return the names of the trials that a process has told of."""
    return [line.split(":")[1].strip() for line in err.splitlines() if ": trial " in line]


def test_two_processes_share_the_trials(tune: Relatum, folder: Path) -> None:
    options = [*LONG, "--trials", "12", "--pruner", "none", "--json"]
    with begin(folder, *options) as other:
        wait_for_trials(folder, 1)
        mine = tune(*options)
        yours = other.communicate(timeout=60)
    assert (mine[0], other.returncode) == (0, 0), (mine, yours)
    told = trials_in(mine[2]), trials_in(yours[1])
    assert all(told)  # both had a part in it: there are many more trials than begin while the second one starts
    assert sorted(told[0] + told[1]) == sorted(f"trial {number}" for number in range(12))  # each once
    last = max((json.loads(out) for out in (mine[1], yours[0])), key=lambda one: one["trials"]["complete"])
    assert last["trials"] == {"complete": 12, "pruned": 0, "running": 0, "waiting": 0, "lost": 0}
    assert len(last["best"]) == 5
    spec = Spec.read(folder / "best.toml")
    assert spec.training.learning_rate == last["best"][0]["settings"]["training.learning_rate"]


def test_what_a_killed_process_was_at_is_done_by_another(tune: Relatum, folder: Path) -> None:
    grid = ("--trials", "3", "--search", "training.learning_rate=0.1,0.2,0.4", "--sampler", "grid", "--pruner", "none")
    options = [*LONG, *grid]
    with begin(folder, *options) as killed:
        wait_for_trials(folder, 2)
        os.kill(killed.pid, signal.SIGKILL)
        assert killed.wait() == -signal.SIGKILL
    before = Counter(one.get("state") for one in records(folder) if one["op_code"] == 6)
    assert before[1] == 1  # one trial is complete, the other was being run
    code, out, err = tune(*options, "--json")
    assert code == 0
    found = json.loads(out)
    assert found["trials"] == {"complete": 3, "pruned": 0, "running": 0, "waiting": 0, "lost": 1}
    assert sorted(one["settings"]["training.learning_rate"] for one in found["best"]) == [0.1, 0.2, 0.4]
    assert len(trials_in(err)) == 2  # what was done is not done again


def test_ctrl_c_gives_the_trial_back_and_says_how_to_go_on(tune: Relatum, folder: Path) -> None:
    def interrupt() -> None:
        wait_for_trials(folder, 1)
        os.kill(os.getpid(), signal.SIGINT)

    waiting = threading.Thread(target=interrupt)
    waiting.start()
    code, out, err = tune(*LONG, "--set", "training.epochs=100000")
    waiting.join()
    assert (code, out, err) == (130, "", "stopped; resume with the same command\nrelatum: interrupted\n")
    states = [one["state"] for one in records(folder) if one["op_code"] in (4, 6) and "state" in one]
    assert states == [3, 4]  # failed, and waiting to be claimed again


def test_the_table_says_what_was_found(tune: Relatum, folder: Path) -> None:
    options = [*SMALL, "--trials", "2"]
    code, out, err = tune(*options)
    assert code == 0
    assert "2 of 2 trials done" in out
    assert f"relatum train --spec {folder / 'best.toml'} --out RUN" in out
    assert trials_in(err) == ["trial 0", "trial 1"]
    assert "best" in err
    assert tune(*options) == (0, out, "")  # there is nothing left to do
    code, _, err = tune(*options, "--trials", "5", "--minutes", "0")
    assert (code, err) == (0, "")


@pytest.mark.parametrize(
    "options", ["--sampler grd", "--trials 0", "--search training.learning_rate", "--storage sqlite:///s"]
)
def test_bad_options_are_one_line(tune: Relatum, folder: Path, options: str) -> None:
    code, out, err = tune(*options.split())
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert not folder.exists()


def test_a_grid_begins_from_the_settings_of_the_paper(tune: Relatum, folder: Path) -> None:
    code, out, _ = tune("--sampler", "grid", "--minutes", "0", "--json")
    assert (code, json.loads(out)["spec"]) == (0, None)
    study = json.loads((folder / "study.json").read_text())
    assert (study["model"]["dim"], study["training"]["batch_size"], study["training"]["num_negatives"]) == (200, 128, 10)


def test_without_optuna_it_is_said_how_to_install_it(tune: Relatum, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("storage", "study"):
        monkeypatch.delitem(sys.modules, f"relatum.tuning.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "optuna", None)
    code, _, err = tune()
    assert (code, code_of(err), err.count("\n")) == (2, "missing-extra", 1)
    assert "'relatum[tune]'" in err


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
