"""DuckDB files, Parquet files and frames, read and written by DuckDB."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from glob import escape
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relatum.data.row_store import TableReference
from relatum.errors import DataError
from relatum.tables.engine import BATCH, Workspace, WorkspaceError, listed, literal, quoted
from relatum.tables.source import (
    Source,
    SourceColumn,
    SourceTable,
    kind_of,
    other_keys,
    query_error,
    query_name,
    query_table,
    subquery,
)
from relatum.tables.table import Column, Database, Table, Value, declared, listed_columns, split_name, value_text

_USUAL = "main"  # the schema that is not named

_KEPT = ("boolean", "uuid", "interval", "bit")  # types other than of numbers and dates that a text is read as again


def _full_name(schema: object, table: object) -> str:
    return str(table) if schema == _USUAL else f"{schema}.{table}"


def _columns(described: Iterable[tuple[str, str]]) -> tuple[SourceColumn, ...]:
    return tuple(SourceColumn(name, kind.lower(), kind_of(kind)) for name, kind in described)


class ConfinedDuckdb(Source):
    """The views of one DuckDB file, and queries to it, run where they reach nothing but the tables of that file.

    They run in a workspace of their own: the one that the rows go to may read files.
    """

    def __init__(self, workspace: Workspace, path: Path, location: str) -> None:
        self.location = location
        self._workspace, self._confined = workspace, Workspace()
        self._rows: dict[str, tuple[str, str]] = {}  # what gives them, and what messages call that
        try:
            self._confined.run(f"ATTACH {literal(str(path.resolve()))} AS source (READ_ONLY)", location)
            self._confined.run("USE source")
            self._confined.confine()
        except BaseException:
            self.close()
            raise

    def tables(self) -> list[SourceTable]:
        """Return the views in the order of their names; one that cannot run is not readable."""
        query = (
            "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'source' AND NOT internal ORDER BY ALL"
        )
        return [self._view(schema, view) for schema, view in self._confined.rows(query, self.location)]

    def query(self, name: str, sql: str) -> SourceTable:
        """Return a query as one more table."""
        what = query_name(name)
        try:
            types = self._confined.statement_types(sql, what)
            if len(types) != 1:
                raise DataError("bad-query", "must be one statement", place=what)
            if types != ["SELECT"]:
                raise DataError("bad-query", "must be a SELECT: a query cannot write", place=what)
            columns = _columns(self._confined.describe(sql, what))
        except WorkspaceError as error:
            raise query_error(name, error.reason) from None
        self._rows[name] = subquery(sql), what
        return query_table(name, columns)

    def stage(self, table: SourceTable, columns: Sequence[SourceColumn], target: str) -> None:
        """Copy what a view or a query gives as text, and make a view of that in which it has its types again."""
        rows, what = self._rows[table.name]
        chosen = ", ".join(f"CAST({quoted(column.name)} AS VARCHAR)" for column in columns) or "NULL"
        batches = self._confined.batches(f"SELECT {chosen} FROM {rows}", what)  # noqa: S608
        self._workspace.fill(f"{target}_text", max(len(columns), 1), batches, 0, table.name)
        typed = (f"CAST(c{index} AS {_type(column)}) AS c{index}" for index, column in enumerate(columns))
        self._workspace.run(f"CREATE VIEW {target} AS SELECT {', '.join(typed) or 'c0'} FROM {target}_text")  # noqa: S608

    def value_types(self, table: SourceTable) -> Mapping[str, str]:
        """Return the types that the columns have there."""
        return {column.name: _type(column).upper() for column in table.columns}

    def close(self) -> None:
        """Close the file."""
        self._confined.close()

    def _view(self, schema: str, view: str) -> SourceTable:
        name = _full_name(schema, view)
        rows = f"{quoted(schema)}.{quoted(view)}"
        self._rows[name] = rows, f"{self.location}, view {name!r}"
        try:
            return SourceTable(name, _columns(self._confined.describe(rows, name)))
        except DataError:
            return SourceTable(name, (), is_readable=False)


def _type(column: SourceColumn) -> str:
    return column.type if column.kind in ("number", "date") or column.type in _KEPT else "VARCHAR"


class DuckdbSource(Source):
    """One DuckDB database; its views, which are programs, are run if they are wanted, where they reach nothing else."""

    def __init__(self, workspace: Workspace, path: Path, number: int, views: bool = False) -> None:
        self.location = str(path)
        self._workspace, self._name, self._path = workspace, f"attached_{number}", path
        workspace.run(f"ATTACH {_checked(path.resolve(), path)} AS {self._name} (READ_ONLY)", self.location)
        self._sql_names: dict[str, str] = {}
        self._confined: ConfinedDuckdb | None = None
        self._views = views

    def tables(self) -> list[SourceTable]:
        """Return the tables in the order of their names."""
        found = self._ask("SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ? ORDER BY ALL")
        self._sql_names = {_full_name(*row): f"{self._name}.{quoted(row[0])}.{quoted(row[1])}" for row in found}
        columns = self._ask(
            "SELECT schema_name, table_name, column_name, data_type, is_generated FROM duckdb_columns() "
            "WHERE database_name = ? ORDER BY schema_name, table_name, column_index"
        )
        constraints = self._ask(
            "SELECT schema_name, table_name, constraint_type, constraint_column_names, referenced_table, "
            "referenced_column_names FROM duckdb_constraints() WHERE database_name = ? ORDER BY ALL"
        )
        indexes = self._ask(
            "SELECT schema_name, table_name, CAST(expressions AS VARCHAR[]) FROM duckdb_indexes() "
            "WHERE database_name = ? AND is_unique AND NOT is_primary"
        )
        tables = []
        for schema, table in found:
            mine = [row[2:] for row in constraints if row[:2] == (schema, table)]
            keys: list[tuple[str, ...]] = [tuple(names) for kind, names, *_ in mine if kind == "PRIMARY KEY"]
            references = [
                TableReference(tuple(names), _full_name(schema, other), tuple(targets))
                for kind, names, other, targets in mine
                if kind == "FOREIGN KEY"
            ]
            own = tuple(
                SourceColumn(name, kind.lower(), kind_of(kind), is_generated=generated)
                for *owner, name, kind, generated in columns
                if owner == [schema, table]
            )
            primary_key = keys[0] if keys else ()
            unique = [names for kind, names, *_ in mine if kind == "UNIQUE"]
            unique += _indexed((row[2] for row in indexes if row[:2] == (schema, table)), own)
            tables.append(
                SourceTable(
                    _full_name(schema, table),
                    own,
                    primary_key,
                    tuple(references),
                    unique_keys=other_keys(unique, primary_key),
                )
            )
        return tables + (self._apart().tables() if self._views else [])

    def stage(self, table: SourceTable, columns: Sequence[SourceColumn], target: str) -> None:
        """Make a view of a table, or copy what a view or a query gives."""
        if table.name not in self._sql_names:
            self._apart().stage(table, columns, target)
            return
        chosen = listed(column.name for column in columns)
        self._workspace.run(f"CREATE VIEW {target} AS SELECT {chosen} FROM {self._sql_names[table.name]}")  # noqa: S608

    def query(self, name: str, sql: str) -> SourceTable:
        """Return a query as one more table."""
        return self._apart().query(name, sql)

    def value_types(self, table: SourceTable) -> Mapping[str, str]:
        """Return the types that columns of views and queries have."""
        return {} if table.name in self._sql_names else self._apart().value_types(table)

    def close(self) -> None:
        """Close what views and queries ran in; the workspace closes the file with itself."""
        if self._confined is not None:
            self._confined.close()

    def _apart(self) -> ConfinedDuckdb:
        """Return what views and queries run in."""
        if self._confined is None:
            self._confined = ConfinedDuckdb(self._workspace, self._path, self.location)
        return self._confined

    def _ask(self, sql: str) -> list[tuple[Any, ...]]:
        return self._workspace.rows(sql, self.location, [self._name])


def _checked(path: Path, location: object) -> str:
    """Return a path as ATTACH has it, or refuse one of which DuckDB would open another."""
    if "\\" in str(path) and os.sep != "\\":
        raise DataError(
            "backslash-in-path",
            "DuckDB takes a backslash in a path for a slash",
            place=location,
            remedy="give the file another name",
        )
    return literal(str(path))


def _indexed(found: Iterable[Sequence[str]], columns: Sequence[SourceColumn]) -> list[list[str]]:
    """Return the columns of each index that is on columns alone; DuckDB writes an expression in parentheses."""
    names = {quoted(column.name): column.name for column in columns}
    names |= {column.name: column.name for column in columns if column.name.isidentifier()}
    return [[names[text] for text in texts] for texts in found if all(text in names for text in texts)]


@contextmanager
def open_duckdb(path: Path, location: Path) -> Iterator[DuckdbTarget]:
    """Yield the database in a file, which is made if it is not there; `location` is what messages call it."""
    with Workspace("writing") as workspace:
        workspace.run(f"ATTACH {_checked(path.absolute(), location)} AS target", str(location))
        workspace.run("BEGIN TRANSACTION", str(location))
        yield DuckdbTarget(workspace, str(location))
        # What was not committed is rolled back when the workspace closes.


class DuckdbTarget(Database):
    """An open DuckDB database."""

    kind = "duckdb"

    def __init__(self, workspace: Workspace, location: str) -> None:
        self._workspace, self.location = workspace, location

    def sql_name(self, table: str) -> str:
        """Return the name in quotes, with database and schema."""
        schema, name = split_name(table, _USUAL)
        return f"target.{quoted(schema or _USUAL)}.{quoted(name)}"

    def columns(self, table: str) -> list[str] | None:
        """Return the columns of a table, whatever the case of its name."""
        where = "WHERE database_name = 'target' AND lower(schema_name) = lower(?) AND lower({}_name) = lower(?)"
        names = split_name(table, _USUAL)
        if self._ask(f"SELECT 1 FROM duckdb_views() {where.format('view')}", names):  # noqa: S608
            raise self.refusal("view-not-table", f"{table!r} is a view, not a table")
        query = f"SELECT column_name FROM duckdb_columns() {where.format('table')} ORDER BY column_index"  # noqa: S608
        return [str(row[0]) for row in self._ask(query, names)] or None

    def execute(self, sql: str) -> None:
        """Run a statement."""
        self._workspace.run(sql, self.location)

    def insert(self, table: Table) -> None:
        """Insert the rows, which are handed over as arrays."""
        self._workspace.copy(
            _arrays(table), f"INSERT INTO {self.sql_name(table.name)} ({listed_columns(table)})", self.location
        )

    def commit(self) -> None:
        """Make it last."""
        self.execute("COMMIT")

    def temporary(self, name: str) -> str:
        """Return the name of a temporary table."""
        return f"temp.{quoted(name)}"

    def stage(self, name: str, query: str, rows: Iterable[tuple[Value, ...]], keys: Sequence[str]) -> None:
        """Make a temporary table; values are handed over as text, which becomes the types of the columns."""
        self.execute(f"CREATE TEMP TABLE {quoted(name)} AS {query}")
        remaining = iter(rows)
        while batch := list(islice(remaining, BATCH)):
            columns = [[value_text(value) for value in column] for column in zip(*batch, strict=True)]
            self._workspace.append(self.temporary(name), columns, self.location)

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return self._workspace.rows(sql, self.location)

    def change(self, sql: str) -> int:
        """Run an UPDATE and return how many rows it has changed."""
        return int(self._workspace.one(sql, self.location)[0])

    def _ask(self, query: str, names: Sequence[str | None]) -> list[tuple[object, ...]]:
        return self._workspace.rows(query, self.location, names)


def copy_duckdb(path: Path, target: Path) -> None:
    """Copy a database, with what its log holds, to a file that is not there yet; meanwhile no one can write to it."""
    log = path.with_name(f"{path.name}.wal")
    with Workspace() as workspace, ExitStack() as stack:
        workspace.run(f"ATTACH {literal(str(path.resolve()))} AS source (READ_ONLY)", str(path))
        pairs = [(path, target)] + [(log, target.with_name(f"{target.name}.wal"))] * log.exists()
        # All stay open until all are copied: a process that closes a file loses its locks on it.
        try:
            for one, other in [(stack.enter_context(a.open("rb")), stack.enter_context(b.open("xb"))) for a, b in pairs]:
                shutil.copyfileobj(one, other)
        except OSError as error:
            raise DataError("not-written", f"could not be copied: {error.strerror}", place=path) from None


def write_parquet(tables: Iterable[Table], path: Path) -> None:
    """Write one table, or its parts as they come, as a Parquet file; what does not fit in memory waits in a file."""
    with Workspace("writing") as workspace:
        for number, table in enumerate(tables):
            if not number:
                workspace.run(f"CREATE TABLE rows ({declared(replace(table, key=()), 'parquet')})", path.name)
            if len(table):
                workspace.copy(_arrays(table), "INSERT INTO rows", path.name)
        workspace.run(f"COPY rows TO {literal(str(path.absolute()))} (FORMAT parquet)", path.name)


def _arrays(table: Table) -> dict[str, npt.NDArray[np.object_]]:
    return {f"c{index}": np.array(_spelled(column), object) for index, column in enumerate(table.columns)}


def _spelled(column: Column) -> Sequence[Value]:
    """Return values as DuckDB takes them from arrays, in which what is not a number is no value."""
    if column.form != "number" or all(value == value for value in column.values):
        return column.values
    return [None if value is None else repr(value) for value in column.values]


class RowsSource(Source):
    """One table that DuckDB reads as it stands; `rows` is what follows FROM."""

    def __init__(self, workspace: Workspace, location: str, name: str, rows: str) -> None:
        self.location = location
        self._workspace, self._name, self._rows = workspace, name, rows

    def tables(self) -> list[SourceTable]:
        """Return the only table."""
        described = self._workspace.describe(f"SELECT * FROM {self._rows}", self.location)  # noqa: S608
        return [SourceTable(self._name, _columns(described))]

    def stage(self, table: SourceTable, columns: Sequence[SourceColumn], target: str) -> None:
        """Make a view of it."""
        chosen = listed(column.name for column in columns)
        self._workspace.run(f"CREATE VIEW {target} AS SELECT {chosen} FROM {self._rows}", self.location)  # noqa: S608


def parquet_source(workspace: Workspace, path: Path, name: str) -> RowsSource:
    """Return a Parquet file, which is never held in memory: every question to it is a scan of the columns in question."""
    rows = f"read_parquet({literal(escape(str(path.resolve())))}, hive_partitioning = false)"
    return RowsSource(workspace, str(path), name, rows)


def is_frame(value: object) -> bool:
    """Return whether a value is a frame that can be read."""
    return hasattr(value, "__arrow_c_stream__") or type(value).__module__.partition(".")[0] == "pandas"


def frame_source(workspace: Workspace, frame: object, name: str, number: int) -> RowsSource:
    """Return a frame; it is copied, since a stream can be read only once."""
    workspace.copy(frame, f"CREATE TABLE frame_{number} AS", name)
    return RowsSource(workspace, f"{type(frame).__module__.partition('.')[0]} frame", name, f"frame_{number}")
