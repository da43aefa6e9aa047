"""A refit trains on train and valid for as many epochs as validation chose, and goes on to the same bits after a break."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import relatum
from relatum.data.hypergraph import Hypergraph
from relatum.errors import RelatumWarning
from relatum.models import MODELS
from relatum.runs.fit import fit_into, resume
from relatum.runs.spec import Spec
from relatum.runs.trained import Trained
from relatum.training.loop import State, train

SPEC = Spec("example", dim=20, epochs=12, validate_every=3, refit=True)


def test_a_refit_is_training_on_both_parts_for_the_epochs_that_validation_chose(tmp_path: Path) -> None:
    split = relatum.load("example")
    fit_into(tmp_path / "run", SPEC, lambda: split)
    run = Trained.load(tmp_path / "run")
    best = run.history.best
    assert best is not None
    both = Hypergraph.union([split.train, split.valid])
    settings = Spec("example", spec=SPEC, epochs=best.epoch, refit=False).training
    alone = train(MODELS["reale"](both, SPEC.settings), both, settings, SPEC.seed)
    assert all(torch.equal(run.parameters[name], alone.best[name]) for name in alone.best)


def test_what_is_fitted_comes_from_before_and_evidence_is_read_from_all_that_was_learned(tmp_path: Path) -> None:
    split = relatum.load("example")
    fit_into(tmp_path / "plain", Spec("example", spec=SPEC, refit=False, evidence=True), lambda: split)
    fit_into(tmp_path / "again", Spec("example", spec=SPEC, evidence=True), lambda: split)
    texts = [(tmp_path / name / "calibration.json").read_text() for name in ("plain", "again")]
    assert texts[0] == texts[1]
    plain, again = (Trained.load(tmp_path / name).evidence for name in ("plain", "again"))
    assert plain is not None
    assert again is not None
    assert plain.to_json() == again.to_json()
    assert len(plain.facts) == len(split.train)
    assert len(again.facts) == len(split.train) + len(split.valid)


@pytest.mark.parametrize("stop", [2, 14])  # in training, and in the refit
def test_a_refit_that_is_stopped_goes_on_to_the_same_bits(tmp_path: Path, stop: int) -> None:
    split = relatum.load("example")
    fit_into(tmp_path / "whole", SPEC, lambda: split)
    seen = 0

    def watch(event: str, state: State, facts: dict[str, object]) -> None:
        nonlocal seen
        seen += event == "epoch"
        if seen == stop and event == "step":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_into(tmp_path / "broken", SPEC, lambda: split, watch)
    resume(tmp_path / "broken")
    whole, broken = Trained.load(tmp_path / "whole"), Trained.load(tmp_path / "broken")
    assert all(torch.equal(whole.parameters[name], broken.parameters[name]) for name in whole.parameters)
    assert whole.history.best is not None
    assert broken.history.best is not None
    assert broken.history.best.epoch == whole.history.best.epoch
    assert broken.history.sessions == 2


def test_ranking_the_facts_of_a_refit_says_that_they_were_trained_on() -> None:
    run = relatum.fit("example", dim=10, epochs=3, validate_every=1, refit=True)
    with pytest.warns(RelatumWarning, match="refitted on the valid facts"):
        run.evaluate("valid")
    assert len(run.evaluate("test").ranks)
