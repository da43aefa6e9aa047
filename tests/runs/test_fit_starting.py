"""Starting a run: refused before anything is written, or begun so that a kill leaves what can be begun or resumed again."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from relatum import fit, resume
from relatum.runs import fit as fitting
from relatum.runs.spec import Spec
from support.locks import locked_elsewhere
from support.mistakes import mistake


def spec_of(data: str | Path = "example", **training: Any) -> Spec:
    return Spec.from_dict({"data": str(data), "model": {"dim": 20}, "training": {"epochs": 2, **training}})


def files(folder: Path) -> dict[str, bytes]:
    """Return all of a directory but what tells the time."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "journal.jsonl"}


KILLED = """
import os, signal, sys
from pathlib import Path
from relatum import fit
from relatum.runs.spec import Spec

replace, (_, last, spec, folder) = os.replace, sys.argv
def replace_or_die(source, target, **folders):
    if Path(target).name == last:
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(source, target, **folders)
os.replace = replace_or_die
fit(Spec.read(Path(spec)), folder)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL on Windows")
@pytest.mark.parametrize("last", ["facts.safetensors", "environment.json", "spec.toml"])
def test_a_start_that_was_killed_can_be_made_again(tmp_path: Path, last: str) -> None:
    folder = tmp_path / "run"
    (tmp_path / "spec.toml").write_text(spec_of().to_toml())
    done = subprocess.run([sys.executable, "-c", KILLED, last, str(tmp_path / "spec.toml"), str(folder)])
    assert done.returncode == -signal.SIGKILL
    assert len(list(folder.glob(f".{last}.*.tmp"))) == 1
    with mistake("not-a-run"):
        resume(folder)
    assert files(fit(spec_of(), folder).folder) == files(fit(spec_of(), tmp_path / "straight").folder)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL on Windows")
def test_what_makes_a_run_count_as_done_is_written_last(tmp_path: Path) -> None:
    folder, last = tmp_path / "run", "config.json"
    (tmp_path / "spec.toml").write_text(spec_of().to_toml())
    subprocess.run([sys.executable, "-c", KILLED, last, str(tmp_path / "spec.toml"), str(folder)], check=False)
    straight = files(fit(spec_of(), tmp_path / "straight").folder)
    assert files(folder).keys() == {*straight.keys() - {last}, *(path.name for path in folder.glob(f".{last}.*.tmp"))}
    assert files(resume(folder).folder) == straight


@pytest.mark.parametrize("name", ["environment.json", "mine.txt", ".hidden", "notes.0123456789ab.tmp"])
def test_what_is_somebody_elses_is_refused_and_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with mistake("directory-not-empty"):
        fit(spec_of(), tmp_path)
    assert files(tmp_path) == {name: b"mine"}


def test_a_run_begun_by_another_process_while_the_data_was_read_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, load = tmp_path / "run", fitting.load

    def slow(source: str, **options: Any) -> Any:
        folder.mkdir()
        (folder / "spec.toml").write_text("another's")
        return load(source, **options)

    monkeypatch.setattr(fitting, "load", slow)
    with mistake("directory-not-empty"):
        fit(spec_of(), folder)
    assert (folder / "spec.toml").read_text() == "another's"


def test_two_processes_do_not_begin_one_run(tmp_path: Path) -> None:
    writing = tmp_path / ".facts.safetensors.0123456789ab-0123456789ab.tmp"
    writing.write_bytes(b"half")
    with locked_elsewhere(tmp_path / ".lock"), mistake("run-in-use"):
        fit(spec_of(), tmp_path)
    assert writing.exists()


@pytest.mark.parametrize("candidates", ["shared", "per-fact"])
@pytest.mark.parametrize("valid", ["", "r\ta\tb\n"])
def test_no_facts_to_train_on_is_said_before_a_directory_is_made(tmp_path: Path, candidates: str, valid: str) -> None:
    (tmp_path / "train.txt").write_text("")
    (tmp_path / "valid.txt").write_text(valid)
    with mistake("no-facts", place=tmp_path):
        fit(spec_of(tmp_path, negative_sampling=candidates), tmp_path / "run")
    assert not (tmp_path / "run").exists()
