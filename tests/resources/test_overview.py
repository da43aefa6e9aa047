"""A run at a glance says what it is made of, and nothing that was not measured."""

from __future__ import annotations

from relatum import Run
from relatum.resources.overview import overview, schema
from relatum.resources.quality import quality
from relatum.runs.answers import parse_question


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


def test_columns_of_tables_have_types(tables: Run) -> None:
    row = next(one for one in schema(tables).relations if one.name == "stock")
    assert [(column.role, column.entity_type) for column in row.columns][1] == ("item_id", "items")


def test_quality_is_there_once_it_was_measured(example_run: str) -> None:
    import relatum

    run = relatum.open(example_run)
    assert overview(run).quality is None
    measured = quality(run).overall
    assert measured is not None
    assert overview(run).quality == measured
    assert measured.part == "test"
    assert measured.mrr == run.evaluate().mrr
