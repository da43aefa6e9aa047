"""`relatum run` in several real processes: each run is trained once, and what a killed one had is finished by another."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from relatum.runs.experiment import read_experiments
from relatum.runs.journal import Journal
from relatum.runs.run_claims import CLAIMS, Claims
from support.command_line import Relatum

SPEC = """
data = "example"
seeds = [0, 1, 2]
ensemble = true

[vary]
model.window = [1, 4]

[model]
dim = 20

[training]
epochs = 60
validate_every = 5
"""
RUNS = 6
PATIENCE = 300  # seconds

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL on Windows")


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spec") / "small.toml"
    path.write_text(SPEC)
    return path


@contextlib.contextmanager
def workers(spec: Path, folder: Path, number: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Yield so many processes that run the same command, and end those that are left."""
    places = ["--out", str(folder / "runs"), "--results", str(folder / "results"), "--json"]
    command = [sys.executable, "-m", "relatum", "run", str(spec), *places]
    started = []
    try:
        for _ in range(number):
            started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        yield started
    finally:
        for one in started:
            if one.poll() is None:
                one.kill()
            one.communicate()


@contextlib.contextmanager
def workers_at_once(spec: Path, folder: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """Yield three processes once all of them have found every run taken, by this process, which then gives them back."""
    claims = Claims(folder / "runs" / CLAIMS)
    with contextlib.ExitStack() as held:
        for experiment in read_experiments(spec):
            for planned in experiment.runs(folder / "runs"):
                assert held.enter_context(claims.claimed(planned.key)) is not None
        with workers(spec, folder, 3) as started:
            for worker in started:
                assert worker.stderr is not None
                assert f"being trained by {os.uname().nodename}:{os.getpid()}, since 20" in worker.stderr.readline()
            held.close()
            yield started


def outcome(worker: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = worker.communicate(timeout=PATIENCE)
    assert worker.returncode == 0, err
    return dict(json.loads(out))


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def at_work(folder: Path) -> set[int]:
    """Return the numbers of the processes that have a run."""
    found = set()
    for path in (folder / "runs" / CLAIMS).glob("[0-9]*.json"):
        with contextlib.suppress(FileNotFoundError):
            found.add(json.loads(path.read_text())["process"])
    return found


def starts(folder: Path) -> list[list[str]]:
    """Return how each run was begun and resumed."""
    paths = sorted((folder / "runs").glob("*/journal.jsonl"))
    return [[one["event"] for one in Journal(path).read() if one["event"] in ("start", "resume")] for path in paths]


def end_state(folder: Path) -> dict[str, Any]:
    """Return every file that was made, but for journals, which tell the time, and the times in results."""
    found: dict[str, Any] = {}
    for path in sorted((folder / "runs").glob("small-*/*")):
        if path.name not in (".lock", "journal.jsonl"):
            content: Any = path.read_bytes()
            if path.name == "environment.json":
                content = without_times(json.loads(content))
            found[f"{path.parent.name}/{path.name}"] = content
    for path in (folder / "results").glob("[!.]*"):
        found[path.name] = without_times(json.loads(path.read_text()))
    return found


def without_times(value: Any) -> Any:
    times = {"minutes_of_training", "interruptions", "seconds_of_evaluation", "seconds"}
    if isinstance(value, dict):
        return {key: without_times(one) for key, one in value.items() if key not in times}
    return [without_times(one) for one in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def alone(spec: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], float]:
    """Return the end state of one process by itself, and how many seconds it worked."""
    folder = tmp_path_factory.mktemp("alone")
    with workers(spec, folder, 1) as (only,):
        wait_until(lambda: at_work(folder))
        began = time.monotonic()
        outcome(only)
    assert starts(folder) == [["start"]] * RUNS
    state = end_state(folder)
    assert sum(name.endswith("/model.safetensors") for name in state) == RUNS + 2  # and two ensembles
    assert {name for name in state if "/" not in name} == {
        "small-1.json", "small-1-ensemble.json", "small-4.json", "small-4-ensemble.json"
    }  # fmt: skip
    return state, time.monotonic() - began


def test_three_processes_train_each_run_once(spec: Path, alone: tuple[dict[str, Any], float], tmp_path: Path) -> None:
    with workers_at_once(spec, tmp_path) as started:
        found = [outcome(worker) for worker in started]
    assert starts(tmp_path) == [["start"]] * RUNS
    assert end_state(tmp_path) == alone[0]
    assert found[0] == found[1] == found[2]  # to the time that evaluation took: results are collected once
    assert not list((tmp_path / "runs" / CLAIMS).glob("*.json"))


def test_what_a_killed_process_had_is_finished_by_another(
    spec: Path, alone: tuple[dict[str, Any], float], tmp_path: Path, count: Callable[[int, int], int]
) -> None:
    state, seconds = alone
    chance = random.Random(0)
    for number in range(count(2, 30)):
        folder = tmp_path / str(number)
        with workers_at_once(spec, folder) as started:
            victim = chance.choice(started)
            time.sleep(chance.uniform(0, seconds / 2))
            victim.send_signal(signal.SIGKILL)
            for worker in started:
                if worker is not victim:
                    outcome(worker)
        assert end_state(folder) == state, number
        assert all(one[0] == "start" for one in starts(folder))
        assert sum(map(len, starts(folder))) <= RUNS + 1  # nothing was done twice but what the killed one had


def unfinished(folder: Path) -> list[Path]:
    """Return the runs that have a checkpoint and no model."""
    found = (path.parent for path in (folder / "runs").glob("*/checkpoint.safetensors"))
    return [path for path in found if not (path / "config.json").exists()]


def test_who_waits_goes_on_with_what_a_killed_process_had_begun(
    spec: Path, alone: tuple[dict[str, Any], float], tmp_path: Path
) -> None:
    with workers(spec, tmp_path, 1) as (victim,):
        while True:
            wait_until(lambda: unfinished(tmp_path))
            victim.send_signal(signal.SIGSTOP)
            time.sleep(0.2)
            if unfinished(tmp_path):
                break
            victim.send_signal(signal.SIGCONT)  # it was faster
        with workers(spec, tmp_path, 1) as (other,):
            wait_until(lambda: len(list((tmp_path / "runs").glob("small-[14]-[012]-*/config.json"))) == RUNS - 1)
            wait_until(lambda: at_work(tmp_path) == {victim.pid})  # a run is finished a moment before it is given back
            victim.kill()
            out, err = other.communicate(timeout=PATIENCE)
    assert other.returncode == 0, err
    assert f"being trained by {os.uname().nodename}:{victim.pid}, since 20" in err
    assert len(json.loads(out)) == 4
    assert sorted(starts(tmp_path), key=len) == [["start"]] * (RUNS - 1) + [["start", "resume"]]
    assert not at_work(tmp_path)
    assert end_state(tmp_path) == alone[0]


ONE = 'data = "example"\nseeds = [0, 1]\nmodel = {dim = 8}\ntraining = {epochs = 1}\n'


def test_without_waiting_it_says_what_others_have_and_returns(run: Relatum, tmp_path: Path) -> None:
    path, out = tmp_path / "one.toml", tmp_path / "runs"
    path.write_text(ONE)
    command = ("run", str(path), "--out", str(out), "--results", str(tmp_path / "results"))
    (experiment,) = read_experiments(path)
    first, second = experiment.runs(out)
    with Claims(out / CLAIMS).claimed(first.key) as claim:
        assert claim is not None
        code, shown, err = run(*command, "--no-wait")
        assert (code, shown) == (0, "")
        assert f"seed 0 of one: being trained by {os.uname().nodename}:{os.getpid()}, since 20" in err
        assert err.endswith("not finished: one; other processes have the rest: repeat the command to collect it\n")
        assert (second.state, first.state) == ("done", "missing")
        assert not (tmp_path / "results").exists()
        found = json.loads(run(*command, "--no-wait", "--json")[1])
        (holder,) = found["one"]["running"].values()
        assert (holder["process"], holder["host"]) == (os.getpid(), os.uname().nodename)
        assert json.loads(run(*command, "--plan", "--json")[1]) == {
            "one": {str(first.folder): "running", str(second.folder): "done"}
        }
        assert f"running, by {os.uname().nodename}" in " ".join(run(*command, "--plan")[1].split())
    code, shown, _ = run(*command, "--no-wait", "--json")
    assert [one["seed"] for one in json.loads(shown)["one"]["runs"]] == [0, 1]


def test_a_run_that_is_trained_by_hand_is_left_alone(run: Relatum, tmp_path: Path) -> None:
    path, out = tmp_path / "one.toml", tmp_path / "runs"
    path.write_text(ONE)
    (experiment,) = read_experiments(path, [0])
    (planned,) = experiment.runs(out)
    planned.folder.mkdir(parents=True)
    with FileLock(planned.folder / ".lock"):
        code, _, err = run("run", str(path), "--seeds", "0", "--out", str(out), "--no-wait")
    assert (code, err.splitlines()[0]) == (0, "seed 0 of one: being trained by another process")


def test_it_is_not_started_by_torchrun(run: Relatum, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "one.toml").write_text(ONE)
    code, _, err = run("run", str(tmp_path / "one.toml"), "--out", str(tmp_path / "runs"))
    assert (code, "not with torchrun" in err) == (2, True)
