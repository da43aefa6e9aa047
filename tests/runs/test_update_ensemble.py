"""Joined runs are a run: asked, saved, opened and counted like any other, and never resumed."""

from __future__ import annotations

from pathlib import Path

import pytest

import relatum
from relatum.runs.fit import resume
from relatum.runs.results import collect
from support.mistakes import mistake

FAST = {"dim": 20, "epochs": 6, "validate_every": 2, "progress": False}


def test_joined_runs_are_kept_and_answer(tmp_path: Path) -> None:
    runs = [relatum.fit("example", seed=seed, **FAST) for seed in (0, 1)]
    whole = relatum.join(runs, tmp_path / "both")
    assert whole.model.settings.dim == 40
    assert whole.calibration is not None
    again = relatum.open(tmp_path / "both")
    assert again.evaluate().mrr == whole.evaluate().mrr
    assert again.complete("sold(drew, ?, book)")
    assert [one["seed"] for one in again.environment["ensemble"]] == [0, 1]
    results = collect([tmp_path / "both"])["runs"][0]
    assert results["minutes_of_training"] == pytest.approx(sum(run.history.seconds for run in runs) / 60, abs=0.02)
    with mistake("cannot-resume"):
        resume(tmp_path / "both")


def test_what_was_refitted_has_no_calibration() -> None:
    runs = [relatum.fit("example", seed=seed, refit=True, **FAST) for seed in (0, 1)]
    assert relatum.join(runs).calibration is None


def test_evidence_of_refits_adds_what_all_of_them_add() -> None:
    runs = [relatum.fit("example", seed=seed, refit=True, evidence=True, **FAST) for seed in (0, 1)]
    found = [run.evidence for run in (*runs, relatum.join(runs))]
    assert all(one is not None and one.facts == runs[0].training_facts for one in found)
    first, second, both = (one.common for one in found if one is not None)
    assert first.any()
    assert (both == first + second).all()


def test_one_run_or_other_facts_are_refused() -> None:
    run = relatum.fit("example", **FAST)
    with mistake("runs-not-alike"):
        relatum.join([run])
    other = relatum.fit([("sold", "a", "b", "c"), ("sold", "b", "a", "c")], **FAST)
    with mistake("other-training-facts"):
        relatum.join([run, other])
