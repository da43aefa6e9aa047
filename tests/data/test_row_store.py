"""Rows with gaps: what they hold, what is refused, and that they come back from plain data."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from relatum.data.row_store import Bins, Dependency, RowStore, RowTable, TableColumn, TableReference, TableSchema
from relatum.data.vocabulary import Vocabulary
from relatum.errors import DataError, UnknownNameError

SCHEMA = TableSchema(
    "track",
    "entity",
    "referred to by playlist",
    (
        TableColumn("id", "track", "whole"),
        TableColumn("genre", "genre", relation="track.genre", position=1),
        TableColumn("length", "track.length", "number", bins=Bins(("10",), ("1", "11"), ("10", "90"), ("5", "40"))),
    ),
    keys=(("id",),),
    references=(TableReference(("genre",), "genre", ("id",)),),
    label=("name",),
    dependencies=(Dependency(("id",), "genre", 1.0, 2),),
)
NAMES = Vocabulary(["genre:1", "track.length:1 to 10", "track:1", "track:2"])
CELLS = np.array([[2, 3], [0, -1], [1, 1]], np.int32)
TABLE = RowTable(SCHEMA, CELLS, np.array([[0, 0], [2, 0], [1, 0]], np.int8), ("For Those", "Fast"))


def test_a_schema_comes_back_from_json() -> None:
    assert TableSchema.from_json(json.loads(json.dumps(SCHEMA.to_json()))) == SCHEMA
    for plain in ({}, {"name": "x"}, {**SCHEMA.to_json(), "columns": 3}, {**SCHEMA.to_json(), "other": 1}):
        with pytest.raises(DataError):
            TableSchema.from_json(plain)


def test_columns_are_found_by_name_and_the_row_has_a_key() -> None:
    assert SCHEMA.row_key == "id"
    assert replace(SCHEMA, keys=(("id", "genre"),)).row_key is None
    assert TABLE.column("genre").tolist() == [0, -1]
    with pytest.raises(UnknownNameError, match="genre"):
        SCHEMA.index("gnre")
    with pytest.raises(UnknownNameError, match="track"):
        RowStore(NAMES, {"track": TABLE})["trak"]


def test_cells_of_later_parts_are_not_seen() -> None:
    assert TABLE.seen().tolist() == [[2, 3], [-1, -1], [-1, 1]]
    assert TABLE.seen(most=1).tolist() == [[2, 3], [-1, -1], [1, 1]]


def test_rows_move_to_other_names() -> None:
    wider = Vocabulary(["a", *NAMES, "z"])
    moved = RowStore(NAMES, {"track": TABLE}).with_names(wider)
    assert moved["track"].cells.tolist() == [[3, 4], [1, -1], [2, 2]]
    assert len(moved["track"]) == 2


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(DataError, match="shape"):
        replace(SCHEMA, shape="cube")
    with pytest.raises(DataError, match="groups"):
        Bins(("1",), ("1",), ("2",), ("1",))
    with pytest.raises(DataError, match="cells"):
        RowTable(SCHEMA, CELLS[:2], np.zeros((2, 2), np.int8))
    with pytest.raises(DataError, match="labels"):
        replace(TABLE, labels=("one",))
    with pytest.raises(DataError, match="no name"):
        RowStore(Vocabulary(["a"]), {"track": TABLE})
