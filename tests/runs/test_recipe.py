"""The recipe `auto` looks at the facts, leaves alone what was chosen, and fits a model to the minutes that are given."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relatum
from relatum.data.hypergraph import Split
from relatum.models.reale import ReAlESettings
from relatum.runs import recipe
from relatum.runs.fit import facts_of
from relatum.runs.recipe import spec_of, suited_to_facts
from relatum.runs.spec import Spec
from relatum.time_limit import now
from support.mistakes import mistake

SPLIT = relatum.load("example")


def resolved(recipe: str | None = None, *, facts: Split = SPLIT, say: Any = lambda _: None, **given: object) -> Spec:
    found = spec_of("example", recipe, {"model": None, "spec": None, "seed": None, **given}, say)
    return found if isinstance(found, Spec) else found(facts)


def test_the_recipe_is_auto_for_reale_and_fast_for_other_models() -> None:
    assert resolved() == resolved("auto")
    assert resolved("fast") == Spec("example")
    assert resolved(model="hype") == Spec("example", model="hype")
    assert resolved(spec=Spec("example", dim=12)) == Spec("example", dim=12)
    assert resolved("paper").training.negative_sampling == "per-fact"


def test_few_facts_are_gone_through_in_smaller_steps_and_wide_models_by_as_many_windows() -> None:
    rng = np.random.default_rng(0)
    facts = [("likes", f"p{a}", f"b{b}") for a, b in np.unique(rng.integers(0, 250, (40_000, 2)), axis=0).tolist()]
    few, more = (suited_to_facts(facts_of(facts[:count]))["training"] for count in (1_000, 30_000))
    assert few["epochs"] > more["epochs"]
    assert few["batch_size"] * few["batches_per_step"] < more["batch_size"] * more["batches_per_step"]
    for dim, dropout in ((1600, 0.95), (400, 0.8), (100, 0.2), (20, 0.0)):
        assert resolved(dim=dim).settings.window_dropout == dropout  # type: ignore[attr-defined]
    assert resolved(dim=1600, window_dropout=0.5).settings.window_dropout == 0.5  # type: ignore[attr-defined]
    assert resolved(settings=ReAlESettings(dim=400)).settings.window_dropout == 0.0  # type: ignore[attr-defined]


def test_what_was_chosen_stays() -> None:
    found = resolved(minutes=0.01, dim=12, epochs=7, training={"validate_every": 3}, model={"window": 3})
    assert (found.settings.dim, found.training.epochs, found.training.validate_every) == (12, 7, 3)
    assert found.settings.window == 3  # type: ignore[attr-defined]
    assert found.training.minutes == 0.01


def test_sizes_are_those_that_fit_the_window_and_the_minutes() -> None:
    assert resolved(minutes=0.0001, window=16).settings.dim in (400, 800, 1600)  # neither 200 nor 100
    few, many = resolved(minutes=0.002), resolved(minutes=0.2)
    assert few.settings.dim * few.training.epochs < many.settings.dim * many.training.epochs


def test_the_clock_ends_training_before_its_epochs_do(tmp_path: Path) -> None:
    run = relatum.fit("example", tmp_path / "run", minutes=0.02, epochs=100_000, dim=20, progress=False)
    assert 0 < run.history.epochs < 100_000
    assert run.history.best is not None  # the last validation fits in
    assert run.evaluate().mrr > 0
    again = relatum.fit(
        "example", spec=Spec("example", spec=run.spec, epochs=run.history.epochs, minutes=10.0), progress=False
    )
    assert again.history.epochs == run.history.epochs


def test_what_auto_cannot_do_is_refused() -> None:
    with mistake("recipe-not-for-model"):
        resolved(model="hype", minutes=1.0)
    with mistake("setting-out-of-range"):
        resolved("automatic")


def test_what_was_spent_before_training_is_taken_from_its_time() -> None:
    settings = {"minutes": 0.05, "epochs": 100_000, "dim": 20, "progress": False}
    early = relatum.fit("example", **settings)  # type: ignore[arg-type]
    late = relatum.fit("example", began=now() - 3_600, **settings)  # type: ignore[arg-type]
    assert 0 < late.history.epochs < early.history.epochs
    assert late.history.best is not None
    assert late.calibration is not None


def test_training_on_tables_has_patience_and_takes_ten_minutes_at_most(
    gappy_shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = relatum.read(gappy_shop).split
    found = partial(resolved, facts=tables)
    quick = found()
    assert (quick.training.patience, quick.training.minutes) == (3, None)
    assert resolved().training.patience == 0  # facts alone have all epochs
    monkeypatch.setattr(recipe, "_TABLE_MINUTES", 1e-5)
    assert found().training.minutes == 1e-5
    assert found(epochs=7).training.minutes is None  # what was chosen stays
    assert found(minutes=2.0).training.minutes == 2.0
    assert resolved().training.minutes is None


def test_how_long_it_takes_is_announced_before_training_on_tables_or_with_minutes(
    gappy_shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = relatum.read(gappy_shop).split

    def lines(facts: Split, **given: object) -> list[str]:
        found: list[str] = []
        resolved(facts=facts, say=found.append, **given)  # type: ignore[arg-type]
        return found

    (plain,), (timed,) = lines(tables), lines(tables, minutes=2.0)
    assert "200 epochs" in plain
    assert "2 min" in timed
    assert lines(facts_of("example")) == lines(tables, epochs=3) == []
    monkeypatch.setattr(recipe, "_TABLE_MINUTES", 0.001)
    assert ["--minutes" in line for line in lines(tables)] == [True]
