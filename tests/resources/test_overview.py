"""A run at a glance says what it is made of and how its training went or goes, and nothing that was not measured."""

from __future__ import annotations

from pathlib import Path

import relatum
from relatum import Run
from relatum.resources.overview import overview, schema, training
from relatum.resources.quality import quality
from relatum.runs.answers import parse_question
from support.mistakes import mistake


def test_the_overview_says_what_a_run_is(example: Run) -> None:
    found = overview(example)
    assert (found.model, found.dim, found.entities) == ("ReAlE", 20, len(example.entities))
    assert {one.part: one.facts for one in found.facts} == {part: len(graph) for part, graph in example.split.parts.items()}
    assert found.created is not None
    assert found.created.endswith("+00:00")
    assert found.calibrated
    assert not found.truncated


def test_relations_come_with_columns_an_example_and_a_question(example: Run) -> None:
    rows = overview(example).relations
    assert {row.name for row in rows} == set(example.schema.names)
    assert [row.facts for row in rows] == sorted((row.facts for row in rows), reverse=True)
    for row in rows:
        assert row.arity == len(row.columns) == example.schema[row.name].arity
        assert row.example is not None
        assert tuple(one.name for one in row.example) in set(example.table(row.name))
        assert row.question is not None
        assert len(parse_question(row.question, example.schema).open) == 1
    assert schema(example).relations == rows


def test_quality_is_there_once_it_was_measured(example_run: Path) -> None:
    run = relatum.open(example_run)
    assert overview(run).quality is None
    measured = quality(run).overall
    assert measured is not None
    assert overview(run).quality == measured
    assert measured.part == "test"
    assert measured.mrr == run.evaluate().mrr


def test_the_curves_are_those_of_the_journal(example_run: Path) -> None:
    run, found = relatum.open(example_run), training(example_run)
    assert (found.finished, found.epochs, found.planned, found.sessions) == (True, 20, 20, 1)
    assert [point.value for point in found.losses] == [point.value for point in run.history.losses]
    assert [point.value for point in found.validations] == [point.value for point in run.history.scores]
    titles = [section.title for section in found.settings]
    assert titles[0] == "Run"
    assert {"Model", "Training"} <= set(titles)
    assert "relatum" in [setting.name for setting in found.provenance[0].settings]


def test_a_run_that_is_still_trained_shows_what_there_is_and_what_is_none_is_refused(tmp_path: Path) -> None:
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
    with mistake("not-a-run"):
        training(tmp_path)
