"""What the entities of columns are travels with the facts: beside them, through the cache, and into a run."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from relatum import Hypergraph, Split, Vocabulary, load, save
from relatum.data.column_types import COLUMN_TYPES, ColumnType, read_column_types, save_column_types
from relatum.datasets.cache import load_columns, save_columns
from support.mistakes import mistake

GRAPH = Hypergraph.of([("sold", "customers:1", "items:1"), ("kept", "items:2")])
FOUND = {"sold": (ColumnType("customers", "whole"), ColumnType("items", "text", nullable=True)), "kept": (ColumnType(),)}


def split() -> Split:
    empty = Hypergraph(GRAPH.entities, GRAPH.schema, ())
    return Split(GRAPH, empty, empty, column_types=FOUND)


def test_they_are_saved_and_loaded_with_the_facts(tmp_path: Path) -> None:
    save(split(), tmp_path / "data")
    for _ in range(2):  # the second time from the cache
        assert load(tmp_path / "data").column_types == FOUND
    (tmp_path / "data" / COLUMN_TYPES).unlink()
    assert load(tmp_path / "data").column_types == {}
    save_columns(tmp_path / "facts", {}, split())
    again = load_columns(tmp_path / "facts", {})
    assert again is not None
    assert again.column_types == FOUND


def test_facts_without_them_are_as_before(tmp_path: Path) -> None:
    save(dataclasses.replace(split(), column_types={}), tmp_path / "data")
    assert not (tmp_path / "data" / COLUMN_TYPES).exists()
    assert load(tmp_path / "data").column_types == {}
    assert load(tmp_path / "data" / "train.txt").column_types == {}


def test_entities_belong_where_their_names_say() -> None:
    names = Vocabulary(["customers.city:a", "customers:1", "customers:2", "items:1"])
    assert ColumnType("customers").ids(names).tolist() == [1, 2]  # type: ignore[union-attr]
    assert ColumnType("nobody").ids(names).tolist() == []  # type: ignore[union-attr]
    assert ColumnType().ids(names) is None


def test_somebody_elses_file_is_let_be(tmp_path: Path) -> None:
    (tmp_path / COLUMN_TYPES).write_text('{"column_types": ["example.org"]}')
    assert read_column_types(tmp_path / COLUMN_TYPES, GRAPH.schema) == {}
    (tmp_path / COLUMN_TYPES).write_text("relatum-column-types")
    with mistake("damaged-file"):
        read_column_types(tmp_path / COLUMN_TYPES, GRAPH.schema)
    save_column_types(tmp_path, {**FOUND, "gone": (ColumnType(),)})  # a relation that has no facts any more
    assert read_column_types(tmp_path / COLUMN_TYPES, GRAPH.schema)["sold"] == FOUND["sold"]
