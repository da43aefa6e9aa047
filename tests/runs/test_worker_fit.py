"""Several workers train one run: killed, out of disk or in another number, they end with the bits of one process."""

from __future__ import annotations

import hashlib
import os
import random
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import relatum
from relatum.cli import main
from relatum.models import MODELS
from relatum.runs.directory import load_facts
from relatum.runs.spec import Spec
from relatum.training.checkpoint import load_state
from relatum.training.loop import State
from relatum.workers.states import load_parts
from support.command_line import Relatum
from support.mistakes import code_of
from support.worker_group import train_options, workers, write_facts

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds workers in /proc")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_facts(tmp_path_factory.mktemp("workers") / "data")


@pytest.fixture(scope="module")
def alone(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of one process, to be read only."""
    folder = tmp_path_factory.mktemp("alone") / "run"
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit, match="0"):
        patch.setenv("RELATUM_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(sys, "argv", ["relatum", *train_options(data, folder)])
        main()
    return folder


def state_of(folder: Path) -> State:
    spec = Spec.of_run(folder / "spec.toml")
    found = load_parts(folder, MODELS[spec.model](load_facts(folder).train, spec.settings))
    state = load_state(folder / "checkpoint.safetensors") if found is None else found
    assert state is not None
    return state


def require_same(first: Path, second: Path) -> None:
    one, other = state_of(first), state_of(second)
    for part in ("parameters", "history", "mean", "best"):
        tensors, others = getattr(one, part), getattr(other, part)
        assert tensors.keys() == others.keys()
        assert all(torch.equal(tensor, others[name]) for name, tensor in tensors.items())
    assert (one.epoch, one.best_score, one.best_epoch) == (other.epoch, other.best_score, other.best_epoch)
    for name in ("model.safetensors", "config.json", "calibration.json", "answer_calibration.json"):
        assert hashlib.sha256((first / name).read_bytes()).digest() == hashlib.sha256((second / name).read_bytes()).digest()


def test_workers_killed_at_any_moment_end_with_the_bits_of_one_process(
    data: Path, alone: Path, tmp_path: Path, count: Callable[[int, int], int], capsys: pytest.CaptureFixture[str]
) -> None:
    rng, killed = random.Random(0), 0
    while killed < count(1, 30):  # one that came too late is none
        folder, how_many = tmp_path / "run", rng.choice([2, 4]) if count(0, 1) else 2
        with workers(how_many, train_options(data, folder), restarts=3) as started:
            if count(0, 1):
                started.pid(0)
                time.sleep(rng.uniform(0, 9))
            else:
                started.wait_for(folder / "checkpoint.json")
            killed += started.kill(rng.randrange(how_many))
            code, out, err = started.end()
        assert code == 0, err
        line = f"trained into {folder}; ask it with: relatum evaluate {folder}"
        assert set(out.splitlines()) == {line}  # twice, where a worker was killed that had nothing left to do
        assert f"{how_many} workers; " in err
        require_same(alone, folder)
        assert not list(folder.glob(".*.tmp"))
        assert not (folder / ".scratch").exists()
        shutil.rmtree(folder)


def test_a_full_disk_names_the_worker_and_another_number_goes_on(
    data: Path, alone: Path, run: Relatum, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    with workers(4, train_options(data, folder)) as started:
        started.wait_for(folder / "checkpoint.json")
        resource.prlimit(started.pid(2), resource.RLIMIT_FSIZE, (1000, 1000))
        code, _, err = started.end()
    complaints = [line for line in err.splitlines() if line.startswith("relatum: ")]
    assert code != 0
    assert len(complaints) == 1
    assert complaints[0].startswith("relatum: worker 2 of 4 (")
    assert "File too large" in complaints[0]
    state = state_of(folder)
    assert 0 < state.epoch < 8
    assert not state.done
    single = tmp_path / "single"
    shutil.copytree(folder, single)
    assert list((single / ".scratch").iterdir())  # as it was left
    with workers(2, ["train", "--resume", str(folder)]) as started:
        code, _, err = started.end()
    assert code == 0, err
    require_same(alone, folder)
    assert run("train", "--resume", str(single))[0] == 0
    require_same(alone, single)
    assert not (folder / ".scratch").exists()
    assert not (single / ".scratch").exists()
    assert not list(single.glob("checkpoint*.json"))
    assert not list(single.glob("checkpoint-*of*"))


def test_workers_train_twice_in_one_process_and_refit(data: Path, run: Relatum, tmp_path: Path) -> None:
    script = tmp_path / "twice.py"
    settings = {"dim": 16, "epochs": 4, "validate_every": 1, "num_negatives": 50, "evidence": False, "refit": True}
    script.write_text(
        f"import relatum\nfor name in ('one', 'other'):\n"
        f"    relatum.fit({str(data)!r}, {str(tmp_path)!r} + '/' + name, progress=False, **{settings!r})\n"
    )
    with workers(2, [str(script)], module=False) as started:
        code, _, err = started.end()
    assert code == 0, err
    relatum.fit(str(data), tmp_path / "alone", progress=False, **settings)  # type: ignore[arg-type]
    require_same(tmp_path / "alone", tmp_path / "one")
    require_same(tmp_path / "alone", tmp_path / "other")


def test_a_worker_that_does_not_answer_is_named(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with workers(2, train_options(data, folder), environment={"RELATUM_WORKER_TIMEOUT": "4"}) as started:
        started.wait_for(folder / "spec.toml")
        pid = started.pid(1)
        started.wait_for(folder / "checkpoint.json")
        os.kill(pid, signal.SIGSTOP)
        time.sleep(8)
        os.kill(pid, signal.SIGCONT)
        code, _, err = started.end()
    assert code != 0
    assert f"process {pid}) has not answered for" in err
    assert err.count("relatum: ") == 1


def test_what_workers_cannot_share_out_is_refused_once(data: Path, tmp_path: Path) -> None:
    with workers(2, ["train", "--data", str(data), "--model", "g-mpnn", "--out", str(tmp_path / "run")]) as started:
        code, _, err = started.end()
    assert code != 0
    assert [code_of(line) for line in err.splitlines() if line.startswith("relatum: ")] == ["not-distributable"]
    assert not (tmp_path / "run").exists()


def test_workers_rank_as_one_process_does(alone: Path, run: Relatum) -> None:
    with workers(2, ["evaluate", str(alone), "--json"]) as started:
        code, out, err = started.end()
    assert (code, out) == (0, run("evaluate", str(alone), "--json")[1]), err
    assert relatum.open(alone).evaluate().mrr > 0
