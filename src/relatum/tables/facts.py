"""Rows become facts, and every cell knows the relation, position and part of the split that it is in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from relatum.data.column_types import ColumnType
from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.known_answers import KnownAnswers
from relatum.data.row_store import EMPTY, HELD_OUT_PARTS, Parts, TableColumn
from relatum.data.schema import RelationSchema, Schema
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.tables.cells import CellColumn
from relatum.tables.shapes import TableShape

ListedColumn = CellColumn | TableColumn  # on its way to entities, or one that became entities before


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A relation that a table gives: its schema, the columns of the table at its positions, and what its entities are."""

    schema: RelationSchema
    columns: tuple[str, ...]
    column_types: tuple[ColumnType, ...]
    is_about_rows: bool = False  # it has what describes a row, behind the entity that the row is

    def indices(self, listed: Sequence[ListedColumn]) -> list[int]:
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

    wanted = [(name, shape.roles, False)] if shape.roles else []
    wanted += [(f"{name}.{column}", (str(shape.key), column), True) for column in shape.about]
    return [
        TableFacts(
            RelationSchema(relation, len(roles), None if is_positional else roles),
            roles,
            tuple(map(column_type, roles)),
            is_about_rows,
        )
        for relation, roles, is_about_rows in wanted
    ]


def facts_of(
    names: Vocabulary, tables: Sequence[tuple[list[TableFacts], Sequence[ListedColumn], Ids]]
) -> tuple[Hypergraph, dict[str, int]]:
    """Return the facts of all tables over the names that occur in them, repeats included, and how many rows gave each.

    A row gives a fact of a relation if it has a value at each of its positions.
    """
    whole = [(facts, listed, cells, np.broadcast_to(np.int8(0), cells.shape)) for facts, listed, cells in tables]
    (graph,), counts = _graphs(names, whole, 1)
    return graph, counts


def split_of(
    names: Vocabulary, tables: Sequence[tuple[list[TableFacts], Sequence[ListedColumn], Ids, Parts]], source: str
) -> Split:
    """Return the facts of all tables over the names that occur in them, each in the part that its cells are in."""
    graphs, _ = _graphs(names, tables, 1 + len(HELD_OUT_PARTS))
    train, valid, test = (graph.distinct() for graph in graphs)
    return Split(train, valid, test, source=source)


def _graphs(
    names: Vocabulary, tables: Sequence[tuple[list[TableFacts], Sequence[ListedColumn], Ids, Parts]], count: int
) -> tuple[list[Hypergraph], dict[str, int]]:
    """Return the facts of each of so many parts, repeats included, and how many rows gave facts of each relation."""
    schema = Schema(sorted((one.schema for facts, *_ in tables for one in facts), key=lambda relation: relation.name))
    used = np.zeros(len(names), np.bool_)
    blocks: list[dict[int, list[tuple[Ids, Ids]]]] = [{} for _ in range(count)]
    counts = {}
    for facts, listed, cells, parts in tables:
        for one in facts:
            indices = one.indices(listed)
            columns = cells[indices]
            whole = (columns >= 0).all(axis=0)
            used[columns[:, whole].ravel()] = True
            counts[one.schema.name] = int(np.count_nonzero(whole))
            for part, found in enumerate(blocks):
                chosen = columns[:, whole & (parts[indices[-1]] == part)]
                relation = np.full(chosen.shape[1], schema.id(one.schema.name), np.int32)
                found.setdefault(len(chosen), []).append((relation, chosen))
    numbers = (np.cumsum(used) - 1).astype(np.int32)
    entities = names.chosen(used)
    graphs = []
    for found in blocks:
        joined = [
            (np.concatenate([ids for ids, _ in some]), numbers[np.concatenate([columns for _, columns in some], axis=1)])
            for some in found.values()
        ]
        graphs.append(Hypergraph.sort(entities, schema, joined))
    return graphs, counts


def one_part_per_fact(facts: Sequence[TableFacts], listed: Sequence[ListedColumn], cells: Ids, parts: Parts) -> Parts:
    """Return in which part each cell is, with rows that give the same fact over several entities in the first part of these.

    Rows that differed may be alike once their values are in other groups.
    """
    found = parts.copy()
    for one in facts:
        indices = one.indices(listed)
        if one.is_about_rows or not (parts[indices] > 0).any():
            continue
        rows = np.flatnonzero((cells[indices] >= 0).all(axis=0))
        _, groups = np.unique(cells[indices][:, rows], axis=1, return_inverse=True)
        first = np.full(int(groups.max()) + 1 if len(rows) else 0, max(HELD_OUT_PARTS.values()), np.int8)
        np.minimum.at(first, groups.reshape(-1), parts[indices[0], rows])
        for index in indices:
            found[index, rows] = first[groups.reshape(-1)]
    return found


class HeldOutCells:
    """Which cells of tables are in the held-out facts of a split."""

    def __init__(self, split: Split, names: Vocabulary) -> None:
        self._schema = split.schema
        numbers = names.numbers_of(split.entities)
        there = np.flatnonzero(numbers >= 0).astype(np.int32)  # facts without rows may have entities that no cell holds
        self._entities = np.full(len(names) + 1, EMPTY, np.int32)  # the entity of each name; the last one is of a gap
        self._entities[numbers[there]] = there
        parts = {number: split.parts[part] for part, number in HELD_OUT_PARTS.items()}
        self._known = {number: KnownAnswers(graph) for number, graph in parts.items() if len(graph)}

    def parts_of(
        self,
        facts: Sequence[TableFacts],
        listed: Sequence[ListedColumn],
        cells: Ids,
        key: tuple[str, ...],
        shares: tuple[float, float],
        rng: np.random.Generator,
    ) -> Parts:
        """Return in which part of the split each cell of a table is, int8[columns, rows].

        A cell is where its fact is. What is in no fact, such as a measure of a table without a key, is held out at random,
        in the same shares; the parts of a date are where the date is. The key says which row it is, and is never held out
        but as part of a fact over several entities.

        Args:
            facts: the relations of the table.
            listed: its columns.
            cells: int32[columns, rows].
            key: the columns of its primary key.
            shares: how many cells go to valid and to test.
            rng: what these are drawn from.
        """
        parts = np.zeros(cells.shape, np.int8)
        free = {one.name: index for index, one in enumerate(listed) if one.part_of is None and one.name not in key}
        for one in facts:
            indices = one.indices(listed)
            held = self._held_out(one.schema.name, cells[indices])
            parts[indices[1:] if one.is_about_rows else indices] = held
            for name in one.columns:
                free.pop(name, None)
        valid, test = shares
        for index in free.values():
            drawn = rng.random(cells.shape[1])
            parts[index] = np.where(drawn < test, 2, np.where(drawn < test + valid, 1, 0))
            parts[index][cells[index] < 0] = 0
        where = {one.name: index for index, one in enumerate(listed)}
        for index, date in enumerate([one.part_of for one in listed]):
            if date is not None:
                parts[index] = parts[where[date]]
        return parts

    def _held_out(self, relation: str, columns: Ids) -> Parts:
        """Return for each row in which part its fact of a relation is: 0 if it has none."""
        found = np.zeros(columns.shape[1], np.int8)
        entities = self._entities[columns]
        whole = np.flatnonzero((entities >= 0).all(axis=0))
        relations = np.full(len(whole), self._schema.id(relation), np.int32)
        for number, known in self._known.items():
            held = known.lookup(relations, entities[:, whole], 0).contain(entities[0, whole])
            found[whole[held]] = number
        return found
