"""`relatum run` several at a time, beside another, and after a kill: each run is trained once, to the same bits."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from relatum.runs.directory import LOCK
from relatum.runs.experiment import read_experiments
from relatum.runs.fit import is_held
from relatum.runs.journal import Journal
from support.command_line import Relatum
from support.locks import locked_elsewhere
from support.mistakes import code_of

SPEC = """
data = "example"
seeds = [0, 1]
ensemble = true

[vary]
model.window = [1, 4]

[model]
dim = 20

[training]
epochs = 60
validate_every = 5
"""
ONE = 'data = "example"\nseeds = [0, 1]\nmodel = {dim = 8}\ntraining = {epochs = 1}\n'
verb = importlib.import_module("relatum.cli.run")  # `relatum.cli.run` is the verb itself
PATIENCE = 300  # seconds
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL and no sh on Windows")


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def starts(folder: Path) -> list[list[str]]:
    """Return how each run was begun and resumed."""
    paths = sorted((folder / "runs").glob("*/journal.jsonl"))
    return [[one["event"] for one in Journal(path).read() if one["event"] in ("start", "resume")] for path in paths]


def end_state(folder: Path) -> dict[str, Any]:
    """Return every file that was made, but for journals, which tell the time, and the times in results."""
    found: dict[str, Any] = {}
    for path in sorted((folder / "runs").glob("small-*/*")):
        if path.name not in (LOCK, "journal.jsonl"):
            whole = path.name == "environment.json"
            found[f"{path.parent.name}/{path.name}"] = (
                without_times(json.loads(path.read_text())) if whole else path.read_bytes()
            )
    return found | {path.name: without_times(json.loads(path.read_text())) for path in (folder / "results").glob("[!.]*")}


def without_times(value: Any) -> Any:
    times = {"minutes_of_training", "interruptions", "seconds_of_evaluation", "seconds", "threads", "trained_on"}
    if isinstance(value, dict):
        return {key: without_times(one) for key, one in value.items() if key not in times}
    return [without_times(one) for one in value] if isinstance(value, list) else value


@POSIX
def test_jobs_and_who_comes_after_a_kill_make_what_one_process_makes(run: Relatum, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SPEC)

    def command(name: str, *more: str) -> list[str]:
        places = ("--out", str(tmp_path / name / "runs"), "--results", str(tmp_path / name / "results"))
        return ["run", str(tmp_path / "small.toml"), *places, *more]

    assert run(*command("alone"))[0] == 0
    whole = end_state(tmp_path / "alone")
    assert starts(tmp_path / "alone") == [["start"]] * 4
    assert sum(name.endswith("/model.safetensors") for name in whole) == 4 + 2  # and two ensembles
    assert {name for name in whole if "/" not in name} == {
        "small-1.json", "small-1-ensemble.json", "small-4.json", "small-4-ensemble.json"
    }  # fmt: skip

    runs = tmp_path / "cut" / "runs"
    relatum = [sys.executable, "-m", "relatum"]
    child = subprocess.Popen([*relatum, *command("cut", "--jobs", "2")], stderr=subprocess.DEVNULL)
    wait_until(lambda: list(runs.glob("*/checkpoint.safetensors")) or child.poll() is not None)
    child.kill()
    child.wait()
    wait_until(lambda: not any(map(is_held, runs.iterdir())))  # its jobs end with it
    assert not list((tmp_path / "cut").glob("results/*"))
    code, _, err = run(*command("cut", "--jobs", "2"))
    assert (code, "job 1: " in err, "job 2: " in err) == (0, True, True)
    assert end_state(tmp_path / "cut") == whole
    assert all(one[0] == "start" for one in starts(tmp_path / "cut"))
    assert sum(map(len, starts(tmp_path / "cut"))) <= 4 + 2  # nothing was done twice but what the killed ones had


@contextmanager
def trained_elsewhere(folder: Path) -> Iterator[threading.Event]:
    """Yield an event until which another has the lock of a run."""
    folder.mkdir(parents=True)
    has, over = threading.Event(), threading.Event()

    def hold() -> None:
        with locked_elsewhere(folder / LOCK):
            has.set()
            over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    has.wait()
    try:
        yield over
    finally:
        over.set()
        thread.join()


def test_what_another_process_trains_is_left_for_last_and_waited_for(
    run: Relatum, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, out = tmp_path / "one.toml", tmp_path / "runs"
    path.write_text(ONE)
    command = ("run", str(path), "--out", str(out))
    (experiment,) = read_experiments(path)
    first, second = experiment.runs(out)
    with trained_elsewhere(first.folder) as over:
        states = json.loads(run(*command, "--plan", "--json")[1])
        assert states == {"one": {str(first.folder): "running", str(second.folder): "missing"}}
        assert "running" in run(*command, "--plan")[1]
        lines: list[str] = []

        def say(line: str, **_: object) -> None:
            lines.append(line)
            if line.endswith("waiting for it"):
                assert (first.state, second.state) == ("missing", "done")
                over.set()

        monkeypatch.setattr(verb, "say", say)
        code, shown, _ = run(*command, "--json")
    assert code == 0
    assert lines == [
        f"{second.folder}: missing",
        f"{first.folder}: another process is training this run; waiting for it",
        f"{first.folder}: missing",
    ]
    assert [one["seed"] for one in json.loads(shown)["one"]["runs"]] == [0, 1]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that says what jobs are instead: a script of the shell."""

    def say(script: str) -> None:
        path = tmp_path / "fake"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(path))

    return say


@POSIX
def test_a_job_that_fails_is_heard_and_ends_the_command(run: Relatum, tmp_path: Path, fake: Callable[[str], None]) -> None:
    (tmp_path / "one.toml").write_text(ONE)
    fake('echo "$@" >&2; exit 2')
    code, out, err = run("run", str(tmp_path / "one.toml"), "--seeds", "3,4", "--out", str(tmp_path / "runs"), "--jobs", "2")
    own = f"-m relatum run {tmp_path / 'one.toml'} --out {tmp_path / 'runs'} --seeds 3,4 --job"
    assert (code, out, sorted(err.splitlines())) == (2, "", [f"job 1: {own}", f"job 2: {own}"])
    assert not list((tmp_path / "runs").glob("*/spec.toml"))


@POSIX
def test_ctrl_c_reaches_each_job_once(fake: Callable[[str], None], capsys: pytest.CaptureFixture[str]) -> None:
    fake('trap "echo stopped >&2; exit 130" INT; echo ready >&2; while :; do sleep 0.1; done')
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt() -> None:
        heard = ""
        while heard.count("ready") < 2:
            time.sleep(0.02)
            heard += capsys.readouterr().err
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            verb._train_at_once(2, [])
    finally:
        signal.signal(signal.SIGINT, before)
        thread.join()
    assert sorted(capsys.readouterr().err.splitlines()) == ["job 1: stopped", "job 2: stopped"]


def test_it_is_not_started_by_torchrun(run: Relatum, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "one.toml").write_text(ONE)
    code, _, err = run("run", str(tmp_path / "one.toml"), "--out", str(tmp_path / "runs"))
    assert (code, code_of(err) == "run-not-with-torchrun") == (2, True)
