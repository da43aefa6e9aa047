"""Rows with gaps: what they hold, what is refused, and that they come back from plain data."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from relatum.data.row_store import Bins, Dependency, RowStore, RowTable, TableColumn, TableReference, TableSchema
from relatum.data.vocabulary import Vocabulary
from relatum.errors import DataError
from support.mistakes import mistake

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


CHANGES: list[dict[str, object]] = [{"columns": 3}, {"other": 1}, {"shape": "cube"}, {"name": 1}, {"keys": [[1]]}]


def test_a_schema_comes_back_and_finds_columns_and_the_key() -> None:
    assert TableSchema.from_json(json.loads(json.dumps(SCHEMA.to_json()))) == SCHEMA
    for plain in ({}, {"name": "x"}, *({**SCHEMA.to_json(), **change} for change in CHANGES)):
        with pytest.raises(DataError):
            TableSchema.from_json(plain)
    assert SCHEMA.row_key == "id"
    assert replace(SCHEMA, keys=(("id", "genre"),)).row_key is None
    assert TABLE.column("genre").tolist() == [0, -1]
    with mistake("unknown-name"):
        SCHEMA.index("gnre")
    with mistake("unknown-name"):
        RowStore(NAMES, {"track": TABLE})["trak"]


def test_cells_of_later_parts_are_not_seen_and_rows_move_to_other_names() -> None:
    assert TABLE.seen().tolist() == [[2, 3], [-1, -1], [-1, 1]]
    assert TABLE.seen(most=1).tolist() == [[2, 3], [-1, -1], [1, 1]]
    wider = Vocabulary(["a", *NAMES, "z"])
    moved = RowStore(NAMES, {"track": TABLE}).with_names(wider)
    assert moved["track"].cells.tolist() == [[3, 4], [1, -1], [2, 2]]
    assert len(moved["track"]) == 2


def test_what_does_not_fit_is_refused() -> None:
    builds: list[Callable[[], object]] = [
        lambda: Bins(("1",), ("1",), ("2",), ("1",)),
        lambda: RowTable(SCHEMA, CELLS[:2], np.zeros((2, 2), np.int8)),
        lambda: replace(TABLE, labels=("one",)),
        lambda: replace(TABLE, parts=np.full((3, 2), 3, np.int8)),
        lambda: RowStore(Vocabulary(["a"]), {"track": TABLE}),
    ]
    for build in builds:
        with mistake("damaged-file"):
            build()


def event(*columns: TableColumn, keys: tuple[tuple[str, ...], ...]) -> RowStore:
    schema = TableSchema("sale", "both", "an event", columns, keys, relation="sale")
    empty = np.empty((len(columns), 0), np.int32)
    return RowStore(NAMES, {"sale": RowTable(schema, empty, empty.astype(np.int8))})


GROUPS = Bins((), ("1",), ("90",), ("40",))


def test_keys_are_positions_of_relations() -> None:
    columns = (
        TableColumn("id", "sale", relation="sale.day", position=0),
        TableColumn("buyer", "buyer", relation="sale", position=1),
        TableColumn("item", "item", relation="sale", position=0),
        TableColumn("ticket", "ticket", relation="sale.ticket", position=1),
        TableColumn("day", "day", relation="sale.day", position=1),
    )
    store = event(*columns, keys=(("id",), ("ticket",), ("buyer", "item"), ("buyer", "day")))
    assert store.keys == {"sale": ((0, 1),), "sale.ticket": ((0,), (1,)), "sale.day": ((0,),)}
    assert event(*columns[1:], keys=()).keys == {"sale.ticket": ((0,),), "sale.day": ((0,),)}


def test_a_group_of_values_is_no_part_of_a_key() -> None:
    buyer, day = (
        TableColumn("buyer", "buyer", relation="sale", position=0),
        TableColumn("day", "day", "date", "sale", 1, GROUPS),
    )
    assert event(buyer, day, keys=(("buyer", "day"),)).keys == {}
    assert event(buyer, replace(day, bins=None), keys=(("buyer", "day"),)).keys == {"sale": ((0, 1),)}
    ticket = TableColumn("ticket", "ticket", "number", "sale.ticket", 1, GROUPS)
    assert event(TableColumn("id", "sale"), ticket, keys=(("id",), ("ticket",))).keys == {"sale.ticket": ((0,),)}
    assert event(ticket, keys=(("ticket",),)).schemas[0].row_key is None


def test_a_question_comes_with_what_is_seen_and_with_the_rest_of_its_own_fact() -> None:
    columns = (
        TableColumn("id", "sale", relation="sale.day", position=0),
        TableColumn("buyer", "buyer", relation="sale", position=0),
        TableColumn("item", "item", relation="sale", position=1),
        TableColumn("day", "day", relation="sale.day", position=1),
    )
    schema = TableSchema("sale", "both", "an event", columns, (("id",),), relation="sale")
    cells = np.array([[0, 1, 2], [1, 2, 3], [2, 3, 0], [3, 0, -1]], np.int32)
    parts = np.array([[0, 0, 0], [2, 0, 1], [2, 0, 1], [0, 2, 0]], np.int8)
    table, rows = RowTable(schema, cells, parts), np.array([2, 0, 1])
    assert table.given("item", rows).tolist() == [[2, 0, 1], [3, 1, 2], [-1, -1, -1], [-1, 3, -1]]
    assert table.given("day", rows).tolist() == [[2, 0, 1], [-1, -1, 2], [-1, -1, 3], [-1, -1, -1]]
    assert table.given("day", rows, most=1).tolist() == [[2, 0, 1], [3, -1, 2], [0, -1, 3], [-1, -1, -1]]
    assert table.given("day", rows, most=2).tolist() == [[2, 0, 1], [3, 1, 2], [0, 2, 3], [-1, -1, -1]]
    assert table.cells is cells  # untouched
    assert cells[3].tolist() == [3, 0, -1]
