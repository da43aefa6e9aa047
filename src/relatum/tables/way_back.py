"""Imported tables written to a database or files again, each value as it was and of the type that it had."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from relatum.data.row_store import RowStore
from relatum.data.stored_values import StoredTable
from relatum.errors import DataError, UnknownNameError
from relatum.tables.engine import Workspace
from relatum.tables.stored import head_of, parts_of
from relatum.tables.table import Table
from relatum.tables.targets import target_of


def table_of(rows: RowStore | None, name: str) -> StoredTable:
    """Return the values of an imported table, as its source had them."""
    values = _values(rows)
    if name not in values:
        raise UnknownNameError("table", name, values)
    return values[name]


def export_tables(
    rows: RowStore | None, to: str | os.PathLike[str], tables: Sequence[str] = (), *, replace: bool = False
) -> dict[str, int]:
    """Write imported tables to a file or a database, all of them or nothing, and return how many rows each has.

    Args:
        rows: those of an import.
        to: what `write` takes; a file but a database holds one table.
        tables: which; by default all.
        replace: put the rows in the place of those of tables with just these columns, or of what a file holds.
    """
    chosen = [table_of(rows, name) for name in dict.fromkeys(tables or _values(rows))]
    known = {} if rows is None else {name: one.schema.keys[0] for name, one in rows.tables.items() if one.schema.keys}
    target = target_of(os.fspath(to), replace=replace)
    with Workspace("writing") as workspace:
        heads = [head_of(workspace, one, known.get(one.name, ())) for one in chosen]
        target.check(heads)  # before the work, and again when it is written

        def parts() -> Iterator[Table]:
            for one, head in zip(chosen, heads, strict=True):
                yield from parts_of(workspace, one, head)

        target.write_parts(parts(), heads)
    return {one.name: len(one) for one in chosen}


def _values(rows: RowStore | None) -> dict[str, StoredTable]:
    found = {} if rows is None else {name: one for name, one in rows.values.items() if one.columns}
    if not found:
        raise DataError("no-imported-tables", "there are no imported tables: facts alone were given", remedy="import tables")
    return found
