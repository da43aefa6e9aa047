"""Runs that the first version of relatum wrote open, answer, and go on to the same bits.

`old_runs/finished` is `relatum train --data example --set model.dim=8 --set training.epochs=4 --set
training.validate_every=2`; `old_runs/interrupted` is the same, stopped at the end of epoch 3.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from relatum import Run, load
from relatum.errors import RelatumError, StoreError
from relatum.models.reale import ReAlE
from relatum.runs.directory import load_facts
from relatum.runs.fit import resume
from relatum.runs.journal import Journal, read_history
from relatum.training.checkpoint import load_state

OLD = Path(__file__).parent / "old_runs"


def tensors(folder: Path) -> dict[str, list[float]]:
    found = safetensors.numpy.load((folder / "model.safetensors").read_bytes())
    assert all(array.dtype == np.float32 for array in found.values())
    return {name: array.tolist() for name, array in found.items()}


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    return shutil.copytree(OLD / "finished", tmp_path / "run")


@pytest.fixture
def interrupted(tmp_path: Path) -> Path:
    return shutil.copytree(OLD / "interrupted", tmp_path / "run")


def test_an_old_run_opens_and_answers(finished: Path) -> None:
    before = {path.name: path.read_bytes() for path in finished.iterdir()}
    run = Run.load(finished)
    assert run.split == load("example")
    best = run.complete("sold(?, alex, book)", k=3)
    assert [answer.entities for answer in best][:3] == [("drew",), ("alex",), ("mike",)]  # as the old code answered
    assert [answer.score for answer in best][:3] == pytest.approx([2.3754842, 2.3444977, 2.3415320], abs=1e-5)
    assert [answer.probability for answer in best][:3] == pytest.approx([0.999563, 0.996270, 0.995423], abs=1e-5)
    assert run.evaluate().metrics.mrr == 0.27222222222222225
    assert {path.name: path.read_bytes() for path in finished.iterdir()} == before


def test_an_interrupted_old_run_goes_on_to_the_bits_that_the_old_code_came_to(interrupted: Path) -> None:
    state = load_state(interrupted / "checkpoint.safetensors")
    assert state is not None
    assert (state.epoch, state.step) == (3, 0)
    resume(interrupted)
    assert tensors(interrupted) == tensors(OLD / "finished")
    course, straight = (read_history(folder / "journal.jsonl") for folder in (interrupted, OLD / "finished"))
    assert [(one.epoch, one.value) for one in course.losses] == [(one.epoch, one.value) for one in straight.losses]
    assert not (interrupted / "checkpoint").exists()  # the new one has taken its place
    assert load_state(interrupted / "checkpoint.safetensors") is not None


def test_an_interrupted_run_of_another_formula_does_not_go_on(interrupted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path.name: path.read_bytes() for path in interrupted.iterdir()}
    monkeypatch.setattr(ReAlE, "revision", 2)
    with pytest.raises(
        StoreError, match="saved with revision 1 of ReAlE's formula, and this version of relatum has revision 2"
    ):
        resume(interrupted)
    after = {path.name: path.read_bytes() for path in interrupted.iterdir() if path.name in before}
    assert after == before


def test_an_old_run_without_its_model_is_completed_without_training(finished: Path) -> None:
    for name in ("model.safetensors", "config.json", "calibration.json"):
        (finished / name).unlink()
    events: list[str] = []
    resume(finished, lambda event, *_: events.append(event))
    assert "epoch" not in events
    assert tensors(finished) == tensors(OLD / "finished")
    assert [event["event"] for event in Journal(finished / "journal.jsonl").read()][-2:] == ["resume", "end"]


def test_a_new_file_counts_before_an_old_one(finished: Path) -> None:
    (finished / "facts.safetensors").write_bytes(b"damaged")
    (finished / "checkpoint.safetensors").write_bytes(b"damaged")
    with pytest.raises(RelatumError, match=r"its facts \(facts\.safetensors\) are missing or damaged"):
        load_facts(finished)
    assert load_state(finished / "checkpoint.safetensors") is None
