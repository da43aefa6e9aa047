"""The twin of a split by time: the same rows, as many of them held out in the same way, but drawn at random."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from relatum.arrays import Int64
from relatum.data.hypergraph import Split
from relatum.data.row_store import Parts, RowStore, RowTable
from relatum.errors import DataError
from relatum.tables.facts import one_part_per_fact, split_of
from relatum.tables.more_rows import relations_in

__all__ = ["random_twin"]


def random_twin(split: Split, seed: int = 0) -> Split:
    """Return the facts of a split by time with the rows that are held out drawn at random, as many as there were.

    By time whole rows are held out, with what refers to them; so they are here, and all that differs is when they are from.
    What was not split by time stays where it was.
    """
    rows = split.rows
    if rows is None or rows.options.get("time") is None:
        raise DataError("the facts were not split by time; import tables with --time COLUMN to compare both splits")
    dated = _dated_table(rows, str(rows.options["time"]))
    table = rows[dated]
    drawn: Parts = np.random.default_rng(seed).permutation(table.parts.max(axis=0))
    parts = {dated: drawn}
    for name, other in rows.tables.items():
        for reference in other.schema.references:
            if name != dated and reference.table == dated and reference.targets == (table.schema.row_key,):
                where = _rows_of(table.column(reference.targets[0]), other.column(reference.columns[0]).astype(np.int64))
                parts[name] = np.where(where >= 0, drawn[where], other.parts.max(axis=0)).astype(np.int8)
    tables, together = {}, []
    for name, one in rows.tables.items():
        found = _with_parts(one, parts[name]) if name in parts else one
        facts = relations_in(one.schema, split.schema)
        tables[name] = replace(found, parts=one_part_per_fact(facts, one.schema.columns, one.cells, found.parts))
        together.append((facts, one.schema.columns, one.cells, tables[name].parts))
    twin = split_of(rows.names, together, split.source)
    if twin.schema != split.schema or twin.entities != split.entities:
        raise DataError("some facts came without the rows of tables, so that both splits cannot be compared")
    return replace(twin, column_types=split.column_types, rows=replace(rows, tables=tables))


def _dated_table(rows: RowStore, time: str) -> str:
    """Return the table of the column that facts were split by, `table.column`; names may hold dots themselves."""
    named = [name for name in rows.tables if time.startswith(f"{name}.")]
    if not named:
        raise DataError(f"time: there are no rows of the table of {time!r}; import the tables again")
    return max(named, key=len)


def _rows_of(keys: Int64 | np.ndarray[tuple[int], np.dtype[np.int32]], cells: Int64) -> Int64:
    """Return the row whose key each cell is, -1 for none."""
    order = np.argsort(keys, kind="stable")
    where = np.minimum(np.searchsorted(keys[order], cells), len(keys) - 1)
    return np.where((cells >= 0) & (keys[order[where]] == cells), order[where], -1)


def _with_parts(table: RowTable, drawn: Parts) -> RowTable:
    """Return a table with each row in the part that was drawn; keys, gaps and cells that are in no fact stay."""
    parts = table.parts.copy()
    held = {one.name: one.relation is not None for one in table.schema.columns}
    for index, one in enumerate(table.schema.columns):
        is_key = one.name == table.schema.row_key and one.relation != table.schema.relation
        if held[one.part_of or one.name] and not is_key:
            parts[index] = np.where(table.cells[index] >= 0, drawn, 0)
    return replace(table, parts=parts)
