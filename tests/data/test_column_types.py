"""What the entities of columns are travels with the facts: beside them, through the cache, and into a run."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from relatum import DataError, FormatError, Hypergraph, Split, UnknownNameError, Vocabulary, load, save
from relatum.data.column_types import COLUMN_TYPES, ColumnType, read_column_types, save_column_types
from relatum.datasets.cache import load_columns, save_columns

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


def test_a_name_is_found_among_the_entities_of_its_column() -> None:
    names = Vocabulary(["customers:1", "items:1", "items:2", "tea"])
    items = ColumnType("items")
    assert [items.find(name, names, "item") for name in ("items:2", "2", "1")] == [2, 2, 1]
    assert ColumnType().find("tea", names, "item") == 3
    with pytest.raises(DataError, match="type 'items', and 'customers:1' is not one; did you mean 'items:1'"):
        items.find("customers:1", names, "item")
    with pytest.raises(UnknownNameError, match="unknown value of item '3'; known: 1, 2"):
        items.find("3", names, "item")
    with pytest.raises(UnknownNameError, match="unknown entity 'te'; did you mean 'tea'"):
        ColumnType().find("te", names, "item")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"relations": {"sold": [{"value_type": "text"}]}}, "1 columns of sold/2"),
        ({"relations": {"sold": [{"value_type": "date"}, {}]}}, "value type 'date' is not one of whole, number, text"),
        ({"relations": {"sold": [{"shape": "text"}, {}]}}, "shape"),
        ({"relations": {"sold": [{"entity_type": 3}, {}]}}, "entity type 3 is not a text"),
        ({"relations": {"sold": 3}}, "not iterable"),
        ({"relations": []}, "items"),
        ({"version": 2}, "version 2"),
    ],
)
def test_damaged_ones_are_refused(change: dict[str, object], said: str, tmp_path: Path) -> None:
    save(split(), tmp_path / "data")
    path = tmp_path / "data" / COLUMN_TYPES
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(FormatError, match=f"damaged or foreign column types: .*{said}"):
        load(tmp_path / "data")


def test_somebody_elses_file_is_let_be(tmp_path: Path) -> None:
    (tmp_path / COLUMN_TYPES).write_text('{"column_types": ["example.org"]}')
    assert read_column_types(tmp_path / COLUMN_TYPES, GRAPH.schema) == {}
    (tmp_path / COLUMN_TYPES).write_text("relatum-column-types")
    with pytest.raises(DataError, match="damaged or foreign column types"):
        read_column_types(tmp_path / COLUMN_TYPES, GRAPH.schema)
    save_column_types(tmp_path, {**FOUND, "gone": (ColumnType(),)})  # a relation that has no facts any more
    assert read_column_types(tmp_path / COLUMN_TYPES, GRAPH.schema)["sold"] == FOUND["sold"]
