"""A run from spec to answers: trained, stopped, killed, resumed to the same bits, moved and asked."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import relatum
from relatum import DataError, RelatumError, Run, SettingError, Spec, UnknownNameError
from relatum.runs.questions import parse_question
from relatum.runs.spec import changed
from relatum.training.loop import State, train
from relatum.training.settings import TrainingSettings

SMALL = {"data": "example", "model": {"dim": 12, "window_dropout": 0.5}, "training": {"epochs": 6, "validate_every": 2}}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return relatum.fit(Spec.from_dict(SMALL), tmp_path_factory.mktemp("runs") / "small")


def test_a_run_answers_from_its_directory_alone(run: Run, tmp_path: Path) -> None:
    shutil.copytree(run.folder, tmp_path / "moved")
    moved = Run(tmp_path / "moved")
    assert moved.evaluate().metrics == run.evaluate().metrics
    assert moved.evaluate().metrics.questions == 2 * 2 + 3 * 3
    answers = moved.complete("bought(alex, ?, book)", k=15)
    assert [answer.score for answer in answers] == sorted((answer.score for answer in answers), reverse=True)
    assert {answer.entity: answer.source for answer in answers}["drew"] == "test"
    assert moved.score("bought(alex, drew, book)") == pytest.approx(
        next(answer.score for answer in answers if answer.entity == "drew"), rel=1e-5
    )
    assert "drew" not in {answer.entity for answer in moved.complete("bought(alex, ?, book)", k=15, new_only=True)}
    assert (run.folder / "README.md").read_text().startswith("# reale on example")


@pytest.mark.parametrize(
    ("question", "error", "reason"),
    [
        ("bought(alx, ?, book)", UnknownNameError, "did you mean 'alex'"),
        ("bougt(alex, ?, book)", UnknownNameError, "did you mean 'bought'"),
        ("bought(alex, ?)", DataError, "takes 3 arguments, not 2"),
        ("bought(alex, ?, book, tv)", DataError, "column 23: .* takes 3 arguments, and here is one more"),
        ("bought(?, ?, book)", DataError, "exactly one position must be open"),
        ("bought(alex, drew, book)", DataError, "exactly one position must be open"),
        ("bought(alex, ?, book", DataError, "column 21: expected ','"),
        ("bought alex", UnknownNameError, "unknown relation"),
        ("bought(buyer=alex, buyer=?, item=book)", DataError, "given twice"),
        ("bought(byer=alex, seller=?, item=book)", UnknownNameError, "did you mean 'buyer'"),
    ],
)
def test_a_bad_question_is_refused_with_the_place(run: Run, question: str, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        run.complete(question)


def test_roles_positions_and_quotes_mean_the_same(run: Run) -> None:
    schema = run.model.schema
    plain = parse_question("bought(alex, ?, book)", schema)
    assert parse_question("bought( item=book , buyer=alex, seller=? )", schema) == plain
    assert parse_question('bought("alex", ?, "book")', schema) == plain
    assert parse_question('bought("a, \\"b\\"", "?", x)', schema).arguments == ('a, "b"', "?", "x")


def test_a_spec_survives_its_file(tmp_path: Path) -> None:
    spec = Spec.from_dict(SMALL)
    (tmp_path / "spec.toml").write_text(spec.to_toml())
    assert Spec.read(tmp_path / "spec.toml") == spec
    assert Spec.read(tmp_path / "spec.toml", ["training.epochs=20", "model.sigma=tanh"]).training.epochs == 20


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (["training.epoch=3"], "training.epoch: no such setting; did you mean epochs"),
        (["training.epochs=0"], "training.epochs: must be at least 1"),
        (["training.epochs=soon"], "training.epochs: must be int, not 'soon'"),
        (["model.window=5"], "model.window: must divide dim = 12"),
        (["model.name=real"], "model.name: unknown model 'real'; known: reale"),
        (["sed=3"], "sed: no such setting; did you mean seed"),
        (["seed=-1"], "seed: must be a whole number"),
        (["epochs"], "say path=value"),
        (["data=3"], "data: name a dataset"),
        (["model=3"], "model: must be a table"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_before_any_data_is_read(changes: list[str], reason: str) -> None:
    with pytest.raises(SettingError, match=reason):
        Spec.from_dict(changed(SMALL, changes))


def test_a_directory_that_holds_something_is_not_overwritten(run: Run) -> None:
    with pytest.raises(RelatumError, match="already holds something"):
        relatum.fit(Spec.from_dict(SMALL), run.folder)
    before = (run.folder / "model.safetensors").read_bytes()
    relatum.resume(run.folder)
    assert (run.folder / "model.safetensors").read_bytes() == before


def test_a_run_stopped_at_any_event_goes_on_to_the_same_bits(run: Run, tmp_path: Path) -> None:
    expected = (run.folder / "model.safetensors").read_bytes()
    for stop in range(1, 14, 3):
        seen = 0

        def watch(event: str, state: State, facts: dict[str, object], stop: int = stop) -> None:
            nonlocal seen
            seen += 1
            if seen == stop:
                raise KeyboardInterrupt

        folder = tmp_path / str(stop)
        with pytest.raises(KeyboardInterrupt):
            relatum.fit(Spec.from_dict(SMALL), folder, watch)
        relatum.resume(folder)
        assert (folder / "model.safetensors").read_bytes() == expected


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL on Windows")
def test_a_killed_run_goes_on_to_the_same_bits(tmp_path: Path, count: Callable[[int, int], int]) -> None:
    command = [sys.executable, "-c", "from relatum.cli import main; main()", "train"]
    options = ["--data", "example", "--set", "model.dim=12", "--set", "training.epochs=300"]
    subprocess.run([*command, *options, "--out", str(tmp_path / "whole")], check=True, capture_output=True)
    expected = (tmp_path / "whole" / "model.safetensors").read_bytes()
    chance = random.Random(0)
    for number in range(count(1, 50)):
        folder = tmp_path / str(number)
        process = subprocess.Popen([*command, *options, "--out", str(folder)], stderr=subprocess.PIPE)
        while not (folder / "journal.jsonl").exists():
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 1.5))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        subprocess.run([*command, "--resume", str(folder)], check=True, capture_output=True)
        assert (folder / "model.safetensors").read_bytes() == expected


def test_the_best_parameters_are_a_copy_and_patience_ends_training(run: Run) -> None:
    scores = iter([0.1, 0.5, 0.2, 0.3, 0.4])
    settings = TrainingSettings(epochs=20, validate_every=1, patience=3)
    seen: list[torch.Tensor] = []

    def validate(parameters: dict[str, torch.Tensor]) -> float:
        seen.append(parameters["entities"].clone())
        return next(scores)

    state = train(run.model, run.split.train, settings, 0, validate=validate)
    assert (state.epoch, state.best_epoch, state.best_score) == (5, 2, 0.5)
    assert torch.equal(state.best["entities"], seen[1])
    assert not torch.equal(state.best["entities"], state.parameters["entities"])
