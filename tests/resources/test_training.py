"""How training goes can be read while it goes on, and after."""

from __future__ import annotations

from pathlib import Path

import relatum
from relatum.resources.overview import training
from support.mistakes import mistake


def test_the_curves_are_those_of_the_journal(example_run: Path) -> None:
    run, found = relatum.open(example_run), training(example_run)
    assert (found.finished, found.epochs, found.planned, found.sessions) == (True, 20, 20, 1)
    assert [point.value for point in found.losses] == [point.value for point in run.history.losses]
    assert [point.value for point in found.validations] == [point.value for point in run.history.scores]
    titles = [section.title for section in found.settings]
    assert titles[0] == "Run"
    assert {"Model", "Training"} <= set(titles)
    assert "relatum" in [setting.name for setting in found.provenance[0].settings]


def test_a_run_that_is_still_trained_shows_what_there_is(tmp_path: Path) -> None:
    seen: list[int] = []

    def watch(event: str, _state: object, _facts: object) -> None:
        if event == "epoch":
            found = training(tmp_path / "run")
            assert not found.finished
            seen.append(found.epochs)

    relatum.fit("example", tmp_path / "run", dim=8, epochs=3, evidence=False, progress=False, watch=watch)
    assert seen
    assert seen[-1] <= 3
    assert training(tmp_path / "run").finished


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with mistake("not-a-run"):
        training(tmp_path)
