"""Rows become facts, and every cell knows the relation, position and part of the split that it is in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relatum.arrays import Bool
from relatum.data.column_types import ColumnType
from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.known_answers import KnownAnswers
from relatum.data.row_store import EMPTY, HELD_OUT_PARTS, Parts, TableColumn, TableSchema
from relatum.data.schema import RelationSchema, Schema
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.tables.shapes import TableShape


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A relation that a table gives."""

    schema: RelationSchema
    columns: tuple[str, ...]  # the columns of the table at its positions
    indices: list[int]  # where these are among the columns of the table that became entities
    column_types: tuple[ColumnType, ...] = ()  # what its entities are
    is_about_rows: bool = False  # it has what describes a row, behind the entity that the row is

    def whole(self, cells: Ids) -> Bool:
        """Return which rows have a value at each position, and so give a fact."""
        return np.asarray((cells[self.indices] >= 0).all(axis=0), np.bool_)


def relations_of(
    name: str, shape: TableShape, columns: Sequence[TableColumn], null_is_value: bool, is_positional: bool
) -> list[TableFacts]:
    """Return the relations that a table gives: that of its facts, and one for each column that describes its rows.

    The relation of its facts is called `name`, the others `name.column`; a positional one has no names for its columns.
    """
    where = {one.name: index for index, one in enumerate(columns)}

    def column_type(one: TableColumn) -> ColumnType:
        value_type = "text" if one.bins or one.value_type == "date" else one.value_type
        return ColumnType(one.entity_type or None, value_type, null_is_value)

    wanted = [(name, shape.roles, False)] if shape.roles else []
    wanted += [(f"{name}.{column}", (str(shape.key), column), True) for column in shape.about]
    found = []
    for relation, roles, is_about_rows in wanted:
        indices = [where[role] for role in roles]
        types = tuple(column_type(columns[index]) for index in indices)
        schema = RelationSchema(relation, len(roles), None if is_positional else roles)
        found.append(TableFacts(schema, roles, indices, types, is_about_rows))
    return found


def relations_in(table: TableSchema, schema: Schema) -> list[TableFacts]:
    """Return the relations that a table gives."""
    by_relation: dict[str, dict[int, str]] = {}
    for column in table.columns:
        if column.relation is not None and column.position is not None and column.relation in schema:
            by_relation.setdefault(column.relation, {})[column.position] = column.name
    found = []
    for relation, columns in by_relation.items():
        if relation != table.relation and table.row_key is not None:
            columns[0] = table.row_key
        roles = tuple(columns[position] for position in sorted(columns))
        if len(roles) == schema[relation].arity:
            own = RelationSchema(relation, len(roles), schema[relation].roles)
            indices = [table.index(role) for role in roles]
            found.append(TableFacts(own, roles, indices, is_about_rows=relation != table.relation))
    return found


def facts_of(names: Vocabulary, tables: Sequence[tuple[list[TableFacts], Ids]]) -> tuple[Hypergraph, dict[str, int]]:
    """Return the facts of all tables over the names that occur in them, repeats included, and how many rows gave each.

    A row gives a fact of a relation if it has a value at each of its positions.
    """
    train = [(facts, cells, np.broadcast_to(np.int8(0), cells.shape)) for facts, cells in tables]
    (graph,), counts = _graphs(names, train, 1)
    return graph, counts


def split_of(names: Vocabulary, tables: Sequence[tuple[list[TableFacts], Ids, Parts]], source: str) -> Split:
    """Return the facts of all tables over the names that occur in them, each in the part that its cells are in."""
    graphs, _ = _graphs(names, tables, 1 + len(HELD_OUT_PARTS))
    train, valid, test = (graph.distinct() for graph in graphs)
    return Split(train, valid, test, source=source)


def _graphs(
    names: Vocabulary, tables: Sequence[tuple[list[TableFacts], Ids, Parts]], count: int
) -> tuple[list[Hypergraph], dict[str, int]]:
    """Return the facts of each of so many parts, repeats included, and how many rows gave facts of each relation."""
    schema = Schema(sorted((one.schema for facts, *_ in tables for one in facts), key=lambda relation: relation.name))
    used = np.zeros(len(names), np.bool_)
    blocks: list[dict[int, list[tuple[Ids, Ids]]]] = [{} for _ in range(count)]
    counts = {}
    for facts, cells, parts in tables:
        for one in facts:
            columns, whole = cells[one.indices], one.whole(cells)
            used[columns[:, whole].ravel()] = True
            counts[one.schema.name] = int(np.count_nonzero(whole))
            for part, found in enumerate(blocks):
                chosen = columns[:, whole & (parts[one.indices[-1]] == part)]
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


def one_part_per_fact(facts: Sequence[TableFacts], cells: Ids, parts: Parts) -> Parts:
    """Return in which part each cell is, with rows that give the same fact over several entities in the first part of these.

    Rows that differed may be alike once their values are in other groups.
    """
    found = parts.copy()
    for one in facts:
        indices = one.indices
        if one.is_about_rows or not (parts[indices] > 0).any():
            continue
        rows = np.flatnonzero(one.whole(cells))
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
        columns: Sequence[TableColumn],
        cells: Ids,
        key: tuple[str, ...],
        shares: tuple[float, float],
        rng: np.random.Generator,
    ) -> Parts:
        """Return in which part of the split each cell of a table is, int8[columns, rows].

        A cell is where its fact is. What is in no fact, such as a measure of a table without a key, is held out at random,
        in the same shares; the parts of a date are where the date is. The key says which row it is, and is never held out
        but as part of a fact over several entities.

        `shares` say how many cells go to valid and to test.
        """
        parts = np.zeros(cells.shape, np.int8)
        free = {one.name: index for index, one in enumerate(columns) if one.part_of is None and one.name not in key}
        for one in facts:
            held = self._held_out(one.schema.name, cells[one.indices])
            parts[one.indices[1:] if one.is_about_rows else one.indices] = held
            for name in one.columns:
                free.pop(name, None)
        valid, test = shares
        for index in free.values():
            drawn = rng.random(cells.shape[1])
            parts[index] = np.where(drawn < test, 2, np.where(drawn < test + valid, 1, 0))
            parts[index][cells[index] < 0] = 0
        where = {one.name: index for index, one in enumerate(columns)}
        for index, column in enumerate(columns):
            if column.part_of is not None:
                parts[index] = parts[where[column.part_of]]
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
