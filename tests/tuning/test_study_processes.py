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
from relatum.cli import main
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


def relatum(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[Any, str, str]:
    monkeypatch.setattr(sys, "argv", ["relatum", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code, *capsys.readouterr()


def test_two_processes_share_the_trials(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, options = tmp_path / "study", [*LONG, "--trials", "6", "--pruner", "none", "--json"]
    with begin(folder, *options) as other:
        wait_for_trials(folder, 1)
        mine = relatum(capsys, monkeypatch, *TUNE, "--out", str(folder), *options)
        yours = other.communicate(timeout=60)
    assert (mine[0], other.returncode) == (0, 0), (mine, yours)
    lines = [[line for line in err.splitlines() if ": trial " in line] for err in (mine[2], yours[1])]
    assert all(lines)  # both had a part in it
    assert sorted(line.split(":")[1] for line in lines[0] + lines[1]) == [f" trial {number}" for number in range(6)]
    last = max((json.loads(out) for out in (mine[1], yours[0])), key=lambda one: one["trials"]["complete"])
    assert last["trials"] == {"complete": 6, "pruned": 0, "running": 0, "waiting": 0, "lost": 0}
    assert len(last["best"]) == 5
    spec = Spec.read(folder / "best.toml")
    assert spec.training.learning_rate == last["best"][0]["settings"]["training.learning_rate"]


def test_what_a_killed_process_was_at_is_done_by_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "study"
    grid = ("--trials", "3", "--search", "training.learning_rate=0.1,0.2,0.4", "--sampler", "grid", "--pruner", "none")
    options = [*LONG, *grid]
    with begin(folder, *options) as killed:
        wait_for_trials(folder, 2)
        os.kill(killed.pid, signal.SIGKILL)
        assert killed.wait() == -signal.SIGKILL
    before = Counter(one.get("state") for one in records(folder) if one["op_code"] == 6)
    assert before[1] == 1  # one trial is complete, the other was being run
    code, out, err = relatum(capsys, monkeypatch, *TUNE, "--out", str(folder), *options, "--json")
    assert code == 0
    found = json.loads(out)
    assert found["trials"] == {"complete": 3, "pruned": 0, "running": 0, "waiting": 0, "lost": 1}
    assert sorted(one["settings"]["training.learning_rate"] for one in found["best"]) == [0.1, 0.2, 0.4]
    assert err.count("\n") == 2  # what was done is not done again


def test_ctrl_c_gives_the_trial_back_and_says_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "study"

    def interrupt() -> None:
        wait_for_trials(folder, 1)
        os.kill(os.getpid(), signal.SIGINT)

    waiting = threading.Thread(target=interrupt)
    waiting.start()
    code, out, err = relatum(capsys, monkeypatch, *TUNE, "--out", str(folder), *LONG, "--set", "training.epochs=100000")
    waiting.join()
    assert (code, out, err) == (130, "", "stopped; resume with the same command\nrelatum: interrupted\n")
    states = [one["state"] for one in records(folder) if one["op_code"] in (4, 6) and "state" in one]
    assert states == [3, 4]  # failed, and waiting to be claimed again


def test_the_table_says_what_was_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = [*TUNE, "--out", str(tmp_path / "study"), *SMALL, "--trials", "2"]
    code, out, err = relatum(capsys, monkeypatch, *options)
    assert code == 0
    assert "2 of 2 trials done" in out
    assert f"relatum train --spec {tmp_path / 'study' / 'best.toml'} --out RUN" in out
    assert err.count("\n") == 2
    assert "best" in err
    assert relatum(capsys, monkeypatch, *options) == (0, out, "")  # there is nothing left to do
    code, _, err = relatum(capsys, monkeypatch, *options, "--trials", "5", "--minutes", "0")
    assert (code, err) == (0, "")


@pytest.mark.parametrize(
    "options", ["--sampler grd", "--trials 0", "--search training.learning_rate", "--storage sqlite:///s"]
)
def test_bad_options_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, options: str
) -> None:
    code, out, err = relatum(capsys, monkeypatch, *TUNE, "--out", str(tmp_path / "study"), *options.split())
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert not (tmp_path / "study").exists()


def test_a_grid_begins_from_the_settings_of_the_paper(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["--out", str(tmp_path), "--sampler", "grid", "--minutes", "0", "--json"]
    code, out, _ = relatum(capsys, monkeypatch, *TUNE, *options)
    assert (code, json.loads(out)["spec"]) == (0, None)
    study = json.loads((tmp_path / "study.json").read_text())
    assert (study["model"]["dim"], study["training"]["batch_size"], study["training"]["num_negatives"]) == (200, 128, 10)


def test_without_optuna_it_is_said_how_to_install_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("storage", "study"):
        monkeypatch.delitem(sys.modules, f"relatum.tuning.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "optuna", None)
    code, _, err = relatum(capsys, monkeypatch, *TUNE, "--out", str(tmp_path / "study"))
    assert (code, code_of(err), err.count("\n")) == (2, "missing-extra", 1)
    assert "'relatum[tune]'" in err
