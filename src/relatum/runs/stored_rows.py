"""The stored rows of a run, as DuckDB reads them: tables as their sources hold them, relations by the names in facts."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from relatum.algebra import Expression, evaluate
from relatum.arrays import Bool
from relatum.data.column_types import ColumnType
from relatum.data.row_store import EMPTY, RowTable, TableSchema
from relatum.data.schema import RelationSchema
from relatum.errors import DataError
from relatum.runs.trained import Trained
from relatum.sql.catalog import Catalog, StoredQuery, columns_of
from relatum.tables.engine import Workspace, WorkspaceError, literal, quoted
from relatum.tables.stored import write_table
from relatum.tables.values import restored

_SQL_TYPES = {"whole": "BIGINT", "number": "DOUBLE"}


@dataclass(frozen=True, slots=True)
class StoredResult:
    """What DuckDB gives: how the columns are called, and rows of values of Python."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


class StoredRows:
    """The stored rows of a run. A table is brought to DuckDB when a query reads it first; rows have one order."""

    def __init__(self, run: Trained) -> None:
        self._run = run
        self._workspace = Workspace()
        self._workspace.run("SET threads = 1")  # or rows would come in another order each time
        self._workspace.confine()
        self._made: dict[str, str] = {}
        self._lock = threading.RLock()

    def query(self, query: StoredQuery, catalog: Catalog, most: int | None = None) -> StoredResult:
        """Return the first rows of a query, in its order."""
        with self._lock:
            named = {given: self._table(name, catalog) for given, name in query.tables.items()}
        with self._workspace.beside() as workspace:
            for given, table in named.items():
                workspace.run(f"CREATE TEMP VIEW {given} AS SELECT * FROM {table}")  # noqa: S608
            try:
                return StoredResult(*workspace.first(query.sql, most, "stored rows"))
            except WorkspaceError as error:
                raise DataError("database-refused", _sentence(error.message)) from None

    def meets(self, table: str, sql: str, catalog: Catalog) -> Bool:
        """Return which rows of a table meet a condition on their values."""
        with self._lock:
            name = self._table(table, catalog)
        with self._workspace.beside() as workspace:
            query = f"SELECT coalesce(CAST(({sql}) AS BOOLEAN), false) AS m FROM {name}"  # noqa: S608
            try:
                return np.asarray(workspace.arrays(query, table)["m"], np.bool_)
            except WorkspaceError as error:
                raise DataError("database-refused", _sentence(error.message)) from None

    def _table(self, name: str, catalog: Catalog) -> str:
        """Return what a table or view of the catalog is called in DuckDB."""
        if name not in self._made:
            self._made[name] = target = f"stored_{name.encode().hex()}"
            try:
                self._make(name, target, catalog)
            except BaseException:
                del self._made[name]
                raise
        return self._made[name]

    def _make(self, name: str, target: str, catalog: Catalog) -> None:
        rows = self._run.split.rows
        if name in catalog.views:
            view = catalog.views[name]
            if view.stored is None:
                self._of_expression(view.expression, view.columns, catalog, target)
            else:
                named = {given: self._table(one, catalog) for given, one in view.stored.tables.items()}
                inner = ", ".join(f"{given} AS (SELECT * FROM {table})" for given, table in named.items())  # noqa: S608
                columns = ", ".join(map(quoted, view.columns))
                self._workspace.run(f"CREATE VIEW {target} ({columns}) AS WITH {inner} ({view.stored.sql})")
        elif rows is not None and name in rows.values:
            table = rows.values[name]
            write_table(self._workspace, table, [one.name for one in table.columns], target)
            if name in rows.tables:
                self._complete(rows[name], target)
        else:
            self._of_relation(self._run.model.schema[name], catalog, target)

    def _complete(self, table: RowTable, target: str) -> None:
        """Put into empty cells what facts have added to the rows since they were read."""
        rows = self._run.split.rows
        values = None if rows is None else rows.values.get(table.schema.name)
        for index, one in enumerate(table.schema.columns):
            if rows is None or values is None or one.name not in values or one.part_of is not None:
                continue
            stored = values[one.name]
            for row in np.flatnonzero(stored.gaps & (table.cells[index] != EMPTY)).tolist():
                name = rows.names[int(table.cells[index, row])].removeprefix(f"{one.entity_type}:")
                text = name if one.bins is None else one.bins.median[one.bins.names.index(name)]
                value = f"TRY_CAST({literal(restored(text))} AS {stored.sql_type})"
                self._workspace.run(f"UPDATE {target} SET {quoted(one.name)} = {value} WHERE rowid = {row}")  # noqa: S608

    def _of_relation(self, relation: RelationSchema, catalog: Catalog, target: str) -> None:
        """Make the table of a relation: of an imported one by the values of its rows, else by the names in its facts."""
        rows = self._run.split.rows
        for schema in () if rows is None else rows.schemas:
            columns = _columns_at(schema, relation)
            if columns is not None and rows is not None and schema.name in rows.values:
                table = self._table(schema.name, catalog)
                pairs = list(zip(columns, columns_of(relation), strict=True))
                chosen = ", ".join(f"{quoted(column)} AS {quoted(role)}" for column, role in pairs)
                there = " AND ".join(f"{quoted(column)} IS NOT NULL" for column in columns)
                self._workspace.run(f"CREATE VIEW {target} AS SELECT DISTINCT {chosen} FROM {table} WHERE {there}")  # noqa: S608
                return
        names, facts = self._run.entities, self._run.stored.table(relation.name).columns
        types: Sequence[ColumnType | None] = catalog.column_types.get(relation.name, (None,) * relation.arity)
        listed = []
        for column in facts:
            used, where = np.unique(column, return_inverse=True)
            listed.append(np.array([*(names[one] for one in used.tolist()), None], object)[where])
        self._of_names(listed, columns_of(relation), types, target)

    def _of_expression(self, expression: Expression, columns: Sequence[str], catalog: Catalog, target: str) -> None:
        """Make the table of a relation that was defined, which follows from facts."""
        found = sorted(evaluate(expression, self._run.stored))
        listed = np.array(found, object).reshape(len(found), len(columns)).T
        self._of_names(list(listed), columns, catalog.types_of(expression), target)

    def _of_names(
        self,
        listed: Sequence[npt.NDArray[np.object_]],
        columns: Sequence[str],
        types: Sequence[ColumnType | None],
        target: str,
    ) -> None:
        """Make a table of names of entities, as the values that they are: numbers where all of a column are."""
        arrays = {}
        for number, (names, kind) in enumerate(zip(listed, types, strict=True)):
            values = names if kind is None else [restored(name.removeprefix(kind.prefix)) for name in names]
            arrays[f"c{number}"] = np.array(values, object)
        self._workspace.copy(arrays, f"CREATE TABLE {target}_names AS", "facts")
        made = []
        for number, (column, kind) in enumerate(zip(columns, types, strict=True)):
            sql_type = _SQL_TYPES.get("text" if kind is None else kind.value_type)
            test = f"SELECT coalesce(bool_and(TRY_CAST(c{number} AS {sql_type}) IS NOT NULL), true) FROM {target}_names"  # noqa: S608
            fits = sql_type is not None and len(listed[number]) and self._workspace.one(test)[0]
            made.append(f"CAST(c{number} AS {sql_type if fits else 'VARCHAR'}) AS {quoted(column)}")
        self._workspace.run(f"CREATE VIEW {target} AS SELECT {', '.join(made)} FROM {target}_names")  # noqa: S608


def _columns_at(schema: TableSchema, relation: RelationSchema) -> list[str] | None:
    """Return the column of a table at each position of a relation that it gave; None if it gave another one."""
    found = {one.position: one.name for one in schema.columns if one.relation == relation.name}
    if found and relation.name != schema.relation and schema.row_key is not None:
        found[0] = schema.row_key
    return [found[position] for position in range(relation.arity)] if found.keys() == set(range(relation.arity)) else None


def _sentence(message: str) -> str:
    """Return what DuckDB says without the class of its error, and without how it points at it."""
    line = message.partition("\n")[0]
    return line.partition(" Error: ")[2] or line


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns with a number behind those that are there already."""
    found: dict[str, None] = {}
    for name in names:
        number, free = 1, name
        while free in found:
            number += 1
            free = f"{name}_{number}"
        found[free] = None
    return tuple(found)


def stored_rows(run: Trained) -> StoredRows:
    """Return the stored rows of a run; what DuckDB has read of them is kept with it."""
    return run.remembered("stored_rows", lambda: StoredRows(run))
