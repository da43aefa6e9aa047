"""Rows become facts, and every cell knows the relation, position and part of the split that it is in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from relatum.data.column_types import ColumnType
from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.known_answers import KnownAnswers
from relatum.data.row_store import HELD_OUT_PARTS, Parts, TableColumn
from relatum.data.schema import RelationSchema, Schema
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.tables.cells import CellColumn
from relatum.tables.shapes import TableShape

__all__ = ["TableFacts", "facts_of", "held_out_cells", "relations_of"]


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A relation that a table gives: its schema, the columns of the table at its positions, and what its entities are."""

    schema: RelationSchema
    columns: tuple[str, ...]
    column_types: tuple[ColumnType, ...]

    def indices(self, listed: Sequence[CellColumn] | Sequence[TableColumn]) -> list[int]:
        """Return where its columns are among those of the table."""
        names = [one.name for one in listed]
        return [names.index(name) for name in self.columns]


def relations_of(
    name: str,
    shape: TableShape,
    columns: Sequence[CellColumn],
    types: Mapping[str, str | None],
    null_is_value: bool,
    is_positional: bool,
) -> list[TableFacts]:
    """Return the relations that a table gives: that of its facts, and one for each column that describes its rows.

    Args:
        name: what the relation of its facts is called; the others are called `name.column`.
        shape: what its rows become.
        columns: those that become entities.
        types: what stands before the names of a column's entities; None if that is nothing.
        null_is_value: whether NULL is an entity.
        is_positional: whether the columns have no names but their positions.
    """
    by_name = {one.name: one for one in columns}

    def column_type(column: str) -> ColumnType:
        one = by_name[column]
        return ColumnType(types[column], "text" if one.bins or one.value_type == "date" else one.value_type, null_is_value)

    wanted = [(name, shape.roles)] if shape.roles else []
    wanted += [(f"{name}.{column}", (str(shape.key), column)) for column in shape.about]
    return [
        TableFacts(
            RelationSchema(relation, len(roles), None if is_positional else roles), roles, tuple(map(column_type, roles))
        )
        for relation, roles in wanted
    ]


def facts_of(
    names: Vocabulary, tables: Sequence[tuple[list[TableFacts], Sequence[CellColumn] | Sequence[TableColumn], Ids]]
) -> tuple[Hypergraph, dict[str, int]]:
    """Return the facts of all tables over the names that occur in them, repeats included, and how many rows gave each.

    A row gives a fact of a relation if it has a value at each of its positions.
    """
    schema = Schema(sorted((one.schema for facts, _, _ in tables for one in facts), key=lambda relation: relation.name))
    used = np.zeros(len(names), np.bool_)
    blocks: dict[int, list[tuple[Ids, Ids]]] = {}
    counts = {}
    for facts, listed, cells in tables:
        for one in facts:
            columns = cells[one.indices(listed)]
            columns = columns[:, (columns >= 0).all(axis=0)]
            used[columns.ravel()] = True
            counts[one.schema.name] = columns.shape[1]
            relation = np.full(columns.shape[1], schema.id(one.schema.name), np.int32)
            blocks.setdefault(len(columns), []).append((relation, columns))
    numbers = (np.cumsum(used) - 1).astype(np.int32)
    entities = names if used.all() else Vocabulary([name for name, there in zip(names, used.tolist(), strict=True) if there])
    joined = [
        (np.concatenate([ids for ids, _ in some]), numbers[np.concatenate([columns for _, columns in some], axis=1)])
        for some in blocks.values()
    ]
    return Hypergraph.sort(entities, schema, joined), counts


def held_out_cells(
    split: Split,
    names: Vocabulary,
    facts: Sequence[TableFacts],
    listed: Sequence[CellColumn] | Sequence[TableColumn],
    cells: Ids,
    shares: tuple[float, float],
    rng: np.random.Generator,
) -> Parts:
    """Return in which part of a split each cell of a table is, int8[columns, rows].

    A cell is where its fact is. What is in no fact, such as a measure of a table without a key, is held out by chance, in
    the same shares; the parts of a date are where the date is.
    """
    parts = np.zeros(cells.shape, np.int8)
    numbers = np.full(len(names) + 1, -1, np.int32)
    there = names.ids(split.entities)
    numbers[there] = np.arange(len(there))
    free = np.ones(len(listed), np.bool_)
    for one in facts:
        indices = one.indices(listed)
        columns = numbers[cells[indices]]
        whole = np.flatnonzero((columns >= 0).all(axis=0))
        questions = columns[:, whole]
        relation = np.full(len(whole), split.schema.id(one.schema.name), np.int32)
        # Of a row's own column the key is never held out: it says which row it is.
        own = indices[1:] if len(indices) == 2 and one.schema.name.endswith(f".{one.columns[1]}") else indices
        free[indices] = False
        for part, number in HELD_OUT_PARTS.items():
            graph = split.parts[part]
            if len(graph) and questions.size:
                held = KnownAnswers(graph).lookup(relation, questions, 0).contain(questions[0])
                parts[np.ix_(np.array(own), whole[held])] = number
    names_of = [one.name for one in listed]
    for index in np.flatnonzero(free).tolist():
        if listed[index].part_of is None:
            drawn = rng.random(cells.shape[1])
            valid, test = shares
            parts[index] = np.where(drawn < test, 2, np.where(drawn < test + valid, 1, 0))
            parts[index][cells[index] < 0] = 0
    for index, whole_date in enumerate([one.part_of for one in listed]):
        if whole_date is not None:
            parts[index] = parts[names_of.index(whole_date)]
    return parts
