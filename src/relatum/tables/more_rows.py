"""Rows of the same tables read again, today's or new ones: in the same columns and groups as at the import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from relatum.arrays import Bool, Int64
from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.row_store import RowStore, RowTable, TableColumn, TableSchema
from relatum.data.schema import Schema
from relatum.errors import DataError, UnknownNameError
from relatum.tables.cells import NumberedTable, check_columns, number_cells, read_labels
from relatum.tables.engine import Workspace
from relatum.tables.facts import HeldOutCells, facts_of, relations_in
from relatum.tables.open import open_sources, require_libraries
from relatum.tables.options import Choices, ImportOptions
from relatum.tables.staging import stage
from relatum.tables.stored import read_values


def read_more_rows(source: Any, like: RowStore, tables: Sequence[str] = ()) -> RowStore:
    """Return the rows of tables that an import knows, over its names and those that are new.

    By default these are all that are there of the tables of the import.
    """
    options = ImportOptions.of(like.options)
    require_libraries(source)
    with Workspace() as workspace, open_sources(source, workspace, options) as sources:
        wanted = [name for name in tables or like.tables if name in sources]
        for name in tables:
            if name not in like.tables:
                raise UnknownNameError("table", name, like.tables)
        remedy = "give files and tables the names that they had"
        if lacking := [name for name in tables if name not in sources]:
            listed = ", ".join(sources)
            raise DataError("other-tables", f"table {lacking[0]!r} is not there, only {listed}", remedy=remedy)
        if not wanted:
            listed = ", ".join(like.tables)
            raise DataError("other-tables", f"none of the imported tables is there: {listed}", remedy=remedy)
        choices = Choices({name: sources[name][1] for name in wanted}, ImportOptions(tables=wanted))
        found, labels, values = [], {}, {}
        for number, name in enumerate(wanted):
            staged = stage(workspace, *sources[name], number, choices)
            schema = like[name].schema
            check_columns(staged, schema.columns)
            found.append(NumberedTable(staged, list(schema.columns), {}))
            there = [one for one in schema.label if one in staged.view_columns]
            values[name] = read_values(workspace, sources[name][0], staged)
            labels[name] = read_labels(workspace, staged, there) if there else None
        names = number_cells(workspace, found, options.null == "value")
        locations = tuple(dict.fromkeys(each.location for each, _ in sources.values()))
    every = like.names if (like.names.numbers_of(names) >= 0).all() else like.names.union(names)
    rows = {
        name: RowTable(like[name].schema, each.cells, np.zeros(each.cells.shape, np.int8), labels[name])
        for name, each in zip(wanted, found, strict=True)
    }
    return replace(RowStore(names, rows, values=values).with_names(every), options=like.options, sources=locations)


def facts_of_rows(rows: RowStore, schema: Schema) -> Split:
    """Return the facts in rows, all of them as train: of the relations of a schema that their tables gave."""
    tables = [(relations_in(table.schema, schema), table.cells) for table in rows.tables.values()]
    graph, _ = facts_of(rows.names, tables)
    distinct = graph.distinct()
    nothing = Hypergraph(distinct.entities, distinct.schema, ())
    return Split(distinct, nothing, nothing, source=" ".join(rows.sources), rows=rows)


def joined_rows(old: RowStore, new: RowStore, split: Split) -> RowStore:
    """Return the rows of an import with those that were read now; a cell whose fact is held out is held out too.

    In a table that was read, what was read comes first, and behind it the rows of the import that are not among it.
    """
    names = new.names if (new.names.numbers_of(old.names) >= 0).all() else old.names.union(new.names)
    kept, read = old.with_names(names), new.with_names(names)
    tables, values, held_out = dict(kept.tables), dict(kept.values), HeldOutCells(split, names)
    for name, table in read.tables.items():
        facts = relations_in(table.schema, split.schema)
        key = table.schema.keys[0] if table.schema.keys else ()
        parts = held_out.parts_of(facts, table.schema.columns, table.cells, key, (0.0, 0.0), np.random.default_rng(0))
        tables[name], others = _with_others(replace(table, parts=parts), tables[name], split.schema)
        if name in values and name in read.values:
            values[name] = values[name].take(others).preceded_by(read.values[name])
    return replace(kept, tables=tables, sources=new.sources, values=values)


def new_rows(read: RowTable, before: RowTable) -> Bool:
    """Return which rows that were read now the import did not have, both over the same names: by key, else by all cells."""
    theirs, own = _groups(read, before)
    new: Bool = _numbers(theirs) >= np.bincount(own, minlength=len(theirs) + len(own))[theirs]
    return new


def _groups(read: RowTable, before: RowTable) -> tuple[Int64, Int64]:
    """Return numbers for rows that were read and rows from before, equal where these are known by the same cells."""
    schema = read.schema
    keys = (key for key in schema.keys if all(schema.has(name) and schema.column(name).bins is None for name in key))
    indices = [schema.index(name) for name in next(keys, [one.name for one in schema.columns])]
    cells = np.concatenate([before.cells[indices], read.cells[indices]], axis=1)
    _, groups = np.unique(cells, axis=1, return_inverse=True)
    groups = groups.reshape(-1)
    return groups[len(before) :], groups[: len(before)]


def _with_others(read: RowTable, before: RowTable, relations: Schema) -> tuple[RowTable, Int64]:
    """Return rows that were read, and behind them those from before that are not among them: by key, else by all cells.

    The numbers that these had come beside.

    A cell that is in no relation is held out in a row that was read again if it was before: no fact says so.
    """
    schema, count = read.schema, len(read) + len(before)
    theirs, own = _groups(read, before)
    numbers, again = _numbers(own), _numbers(theirs)  # as many of those that are alike as were read are the same ones
    others = np.flatnonzero(numbers >= np.bincount(theirs, minlength=count)[own])
    parts = read.parts.copy()
    same, now, then = np.intersect1d(  # the rows that are the same, and where they are now and were then
        theirs * count + again, own * count + numbers, assume_unique=True, return_indices=True
    )
    free = [number for number, one in enumerate(schema.columns) if _relation_of(one, schema) not in relations]
    for number in free if len(same) else ():
        parts[number, now] = np.where(read.cells[number, now] >= 0, before.parts[number, then], 0)
    labels = None
    if read.labels is not None or before.labels is not None:
        first, last = (one.labels or ("",) * len(one) for one in (read, before))
        labels = (*first, *(last[one] for one in others.tolist()))
    joined = RowTable(
        schema,
        np.concatenate([read.cells, before.cells[:, others]], axis=1),
        np.concatenate([parts, before.parts[:, others]], axis=1),
        labels,
    )
    return joined, others


def _numbers(groups: Int64) -> Int64:
    """Return the number of each row, from 0, among those of its group."""
    order, counts = np.argsort(groups, kind="stable"), np.bincount(groups)
    numbers = np.empty(len(groups), np.int64)
    numbers[order] = np.arange(len(groups)) - np.repeat(np.cumsum(counts) - counts, counts)
    return numbers


def _relation_of(column: TableColumn, table: TableSchema) -> str:
    """Return the relation of a column, or of the date that it is a part of; "" if there is none."""
    return (column if column.part_of is None else table.column(column.part_of)).relation or ""
