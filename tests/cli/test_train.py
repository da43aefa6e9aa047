"""`relatum train` with Ctrl-C at any stage, and `relatum update`: what people see and what programs read."""

from __future__ import annotations

import json
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
from support.mistakes import code_of

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


def test_ctrl_c_before_training_leaves_nothing_that_stands_in_the_way(
    run: Relatum, tmp_path: Path, ctrl_c_after: CtrlC
) -> None:
    ctrl_c_after("load")
    assert run(*options(tmp_path / "run")) == (130, "", "relatum: interrupted\n")
    assert not (tmp_path / "run").exists()
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


@pytest.fixture
def new_facts(tmp_path: Path) -> str:
    path = tmp_path / "new.txt"
    path.write_text("sold\tzoe\tmike\ttea\nbuyer\tkim\tlamp\nsold\tdrew\talex\tbook\nbuyer\tkim\tlamp\n")
    return str(path)


def test_a_table_says_what_became_of_the_facts_and_how_ranks_changed(
    run: Relatum, trained: str, new_facts: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    code, said, err = run("update", trained, new_facts, "--out", str(out))
    assert (code, err) == (0, "")
    counts = dict(line.rsplit(maxsplit=1) for line in said.splitlines() if line.strip() and line.split()[-1].isdecimal())
    assert {name.strip(): int(count) for name, count in counts.items()} == {
        "read": 4,
        "given more than once": 1,
        "known already": 1,
        "new": 2,
        "of these with new entities": 1,
        "among known entities": 1,
        "for valid and test": 0,
    }
    told = Journal(out / "journal.jsonl").read()[-1]
    for before, after in (("valid_mrr_before", "valid_mrr_after"), ("own_mrr_start", "own_mrr")):
        assert f"{told[before]:.4f}   {told[after]:.4f}" in said
    assert f"1 new entity fitted in {told['seconds']:.1f} s; all other rows are as they were" in said
    assert said.endswith(f"written to {out}; next: relatum evaluate {out}\n")


def test_json_is_one_object(run: Relatum, trained: str, new_facts: str, tmp_path: Path) -> None:
    code, said, _ = run("update", trained, new_facts, "--out", str(tmp_path / "out"), "--seed", "4", "--refit", "--json")
    found = json.loads(said)
    assert code == 0
    assert (found["run"], found["from"], found["new_entities"]) == (str(tmp_path / "out"), "example", 1)
    assert found.keys() >= {
        "seconds",
        "valid_mrr_before",
        "valid_mrr_after",
        "own_mrr",
        "own_mean_rank",
        "refitted_entities",
    }


def test_the_new_run_answers_the_other_verbs_and_cannot_be_resumed(
    run: Relatum, trained: str, new_facts: str, tmp_path: Path
) -> None:
    out = str(tmp_path / "out")
    run("update", trained, new_facts, "--out", out)
    for verb in (
        ("evaluate", out),
        ("complete", out, "sold(zoe, ?, tea)"),
        ("score", out, "sold(zoe, mike, tea)"),
        ("query", out, "project[0](sold)"),
        ("rules", out),
        ("report", out, "--out", str(tmp_path / "page.html")),
        ("predict", out, "--relation", "buyer", "--top", "3"),
        ("update", out, new_facts),
    ):
        code, _, err = run(*verb)
        assert (code, verb[0]) == (2 if verb[0] == "update" else 0, verb[0]), err
    code, said, err = run("train", "--resume", out)
    assert (code, said, code_of(err)) == (2, "", "cannot-resume")
    assert out in err
