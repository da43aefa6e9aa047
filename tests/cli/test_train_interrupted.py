"""Ctrl-C at any stage of `relatum train`: it ends, leaves nothing that stands in the way, and says how to go on."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from relatum.runs import fit
from relatum.runs.journal import Journal
from relatum.runs.trackers import TrainingBar
from relatum.training.checkpoint import load_state
from relatum.training.loop import State
from support.command_line import Relatum

CtrlC = Callable[[str], pytest.MonkeyPatch]


@pytest.fixture
def ctrl_c_after(monkeypatch: pytest.MonkeyPatch) -> CtrlC:
    """Return a function that has Ctrl-C come right after `fit` has called the function named, until it is undone."""

    def interrupt(name: str) -> pytest.MonkeyPatch:
        real = getattr(fit, name)

        def interrupted(*arguments: Any, **named: Any) -> Any:
            result = real(*arguments, **named)
            signal.raise_signal(signal.SIGINT)
            return result

        monkeypatch.setattr(fit, name, interrupted)
        return monkeypatch

    return interrupt


def options(folder: Path) -> list[str]:
    return ["train", "--data", "example", "--set", "model.dim=20", "--set", "training.epochs=2", "--out", str(folder)]


def test_while_the_data_is_read_nothing_is_left(run: Relatum, tmp_path: Path, ctrl_c_after: CtrlC) -> None:
    ctrl_c_after("load")
    assert run(*options(tmp_path / "run")) == (130, "", "relatum: interrupted\n")
    assert not (tmp_path / "run").exists()


def test_while_a_run_is_begun_it_can_be_begun_again(run: Relatum, tmp_path: Path, ctrl_c_after: CtrlC) -> None:
    patch = ctrl_c_after("save_facts")
    assert run(*options(tmp_path / "run")) == (130, "", "relatum: interrupted\n")
    patch.undo()
    assert run(*options(tmp_path / "run"))[0] == 0


def test_before_the_first_step_it_is_said_how_to_go_on(run: Relatum, tmp_path: Path, ctrl_c_after: CtrlC) -> None:
    folder = tmp_path / "run"
    patch = ctrl_c_after("load_state")
    said = f"stopped; resume with: relatum train --resume {folder}\nrelatum: interrupted\n"
    assert run(*options(folder)) == (130, "", said)
    assert run("train", "--resume", str(folder)) == (130, "", said)
    assert not (folder / "checkpoint.safetensors").exists()  # no step was taken first
    patch.undo()
    assert run("train", "--resume", str(folder))[0] == 0


def test_in_training_what_was_done_is_kept(run: Relatum, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, real = tmp_path / "run", Journal.write

    def write(journal: Journal, event: str, **said: Any) -> None:
        real(journal, event, **said)
        if event == "epoch":
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "write", write)
        code, out, err = run(*options(folder))
    assert (code, out) == (130, "")
    assert err.splitlines()[-2:] == [f"stopped; resume with: relatum train --resume {folder}", "relatum: interrupted"]
    state = load_state(folder / "checkpoint.safetensors")
    assert state is not None
    assert state.epoch + state.step > 0
    assert run("train", "--resume", str(folder))[0] == 0


def test_in_training_the_step_is_ended_first_unless_asked_twice() -> None:
    shown, state = TrainingBar(), State({}, {})
    shown("epoch", state, {"loss": 1.0, "done": 0.5})
    shown.interrupt()
    with pytest.raises(KeyboardInterrupt):
        shown("epoch", state, {"loss": 1.0, "done": 0.5})
    with pytest.raises(KeyboardInterrupt):
        shown.interrupt()
