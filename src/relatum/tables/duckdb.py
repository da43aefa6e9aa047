"""DuckDB files, Parquet files and frames, read and written by DuckDB."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from glob import escape
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relatum.data.row_store import TableReference
from relatum.errors import DataError
from relatum.tables.duckdb_views import USUAL, DuckdbViews, full_name
from relatum.tables.engine import BATCH, Workspace, listed, literal, quoted
from relatum.tables.source import SourceColumn, SourceTable, kind_of, other_keys
from relatum.tables.table import Table, Value, creation, declared, listed_columns, split_name, update_from, value_text

__all__ = [
    "DuckdbSource",
    "DuckdbTarget",
    "FrameSource",
    "ParquetSource",
    "copy_duckdb",
    "is_frame",
    "open_duckdb",
    "write_parquet",
]


class DuckdbSource:
    """One DuckDB database; its views, which are programs, are run if they are wanted, where they reach nothing else."""

    def __init__(self, workspace: Workspace, path: Path, number: int, views: bool = False) -> None:
        self.location = str(path)
        self._workspace, self._name = workspace, f"attached_{number}"
        attach = f"ATTACH {_checked(path.resolve(), path)} AS {self._name} (READ_ONLY)"
        workspace.run(attach, self.location)
        self._sql_names: dict[str, str] = {}
        self._views = DuckdbViews(workspace, attach, self._name, self.location) if views else None

    def tables(self) -> list[SourceTable]:
        """Return the tables in the order of their names."""
        found = self._ask("SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ? ORDER BY ALL")
        self._sql_names = {full_name(*row): f"{self._name}.{quoted(row[0])}.{quoted(row[1])}" for row in found}
        columns = self._ask(
            "SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() "
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
                TableReference(tuple(names), full_name(schema, other), tuple(targets))
                for kind, names, other, targets in mine
                if kind == "FOREIGN KEY"
            ]
            own = tuple(
                SourceColumn(name, kind.lower(), kind_of(kind)) for *owner, name, kind in columns if owner == [schema, table]
            )
            primary_key = keys[0] if keys else ()
            unique = [names for kind, names, *_ in mine if kind == "UNIQUE"]
            unique += _indexed((row[2] for row in indexes if row[:2] == (schema, table)), own)
            tables.append(
                SourceTable(
                    full_name(schema, table),
                    own,
                    primary_key,
                    tuple(references),
                    unique_keys=other_keys(unique, primary_key),
                )
            )
        return tables + (self._views.tables() if self._views else [])

    def stage(self, table: SourceTable, columns: Sequence[SourceColumn], target: str) -> None:
        """Make a view of a table, or copy what a view gives."""
        if self._views and table.name not in self._sql_names:
            self._views.stage(table, columns, target)
            return
        chosen = listed(column.name for column in columns)
        self._workspace.run(f"CREATE VIEW {target} AS SELECT {chosen} FROM {self._sql_names[table.name]}")  # noqa: S608

    def close(self) -> None:
        """Close what views ran in; the workspace closes the file with itself."""
        if self._views:
            self._views.close()

    def _ask(self, sql: str) -> list[tuple[Any, ...]]:
        return self._workspace.rows(sql, self.location, [self._name])


def _checked(path: Path, location: object) -> str:
    """Return a path as ATTACH has it, or refuse one of which DuckDB would open another."""
    if "\\" in str(path) and os.sep != "\\":
        raise DataError(f"{location}: DuckDB takes a backslash in a path for a slash; give the file another name")
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


class DuckdbTarget:
    """An open DuckDB database."""

    whole = "CAST(0 AS BIGINT)"

    def __init__(self, workspace: Workspace, location: str) -> None:
        self._workspace, self.location = workspace, location

    def sql_name(self, table: str) -> str:
        """Return the name in quotes, with database and schema."""
        schema, name = split_name(table, USUAL)
        return f"target.{quoted(schema or USUAL)}.{quoted(name)}"

    def columns(self, table: str) -> list[str] | None:
        """Return the columns of a table, whatever the case of its name."""
        where = "WHERE database_name = 'target' AND lower(schema_name) = lower(?) AND lower({}_name) = lower(?)"
        names = split_name(table, USUAL)
        if self._ask(f"SELECT 1 FROM duckdb_views() {where.format('view')}", names):  # noqa: S608
            raise DataError(f"{self.location}: {table!r} is a view, not a table")
        query = f"SELECT column_name FROM duckdb_columns() {where.format('table')} ORDER BY column_index"  # noqa: S608
        return [str(row[0]) for row in self._ask(query, names)] or None

    def create(self, table: Table) -> None:
        """Make a table without rows."""
        self.run(creation(self, table))

    def run(self, sql: str) -> None:
        """Run a statement."""
        self._workspace.run(sql, self.location)

    def insert(self, table: Table) -> None:
        """Insert the rows, which are handed over as arrays."""
        self._workspace.copy(
            _arrays(table), f"INSERT INTO {self.sql_name(table.name)} ({listed_columns(table)})", self.location
        )

    def commit(self) -> None:
        """Make it last."""
        self._workspace.run("COMMIT", self.location)

    def create_log(self, table: Table) -> bool:
        """Make a table in the transaction."""
        self.create(table)
        return True

    def rows_of(self, table: str) -> str:
        """Return the name in quotes."""
        return self.sql_name(table)

    def lock(self, tables: Sequence[str]) -> None:
        """The file is locked as long as it is open."""

    def temporary(self, name: str) -> str:
        """Return the name of a temporary table."""
        return f"temp.{quoted(name)}"

    def stage(self, name: str, query: str, rows: Iterable[tuple[Value, ...]], keys: Sequence[str]) -> None:
        """Make a temporary table; values are handed over as text, which becomes the types of the columns."""
        self.run(f"CREATE TEMP TABLE {quoted(name)} AS {query}")
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

    def same(self, left: str, right: str) -> str:
        """Return the test that two values are equal or both NULL."""
        return f"{left} IS NOT DISTINCT FROM {right}"

    def identical(self, left: str, right: str) -> str:
        """Return the test that two values are the same: no other has their text."""
        return f"{_text(left)} = {_text(right)}"

    def stored(self, table: str, column: str) -> tuple[str, str]:
        """Return the values of a column of the table `t` as text, and their type."""
        value = f"t.{quoted(column)}"
        return _text(value), f"typeof({value})"

    def updating(self, table: str, given: str, joined: str, settings: Mapping[str, str], test: str) -> str:
        """Return the UPDATE of a table `t` joined with a temporary one `g`."""
        return update_from(self.rows_of(table), given, joined, settings, test)

    def value(self, text: str, kind: str) -> Value:
        """Return the text: it becomes the type of its column."""
        return text

    def _ask(self, query: str, names: Sequence[str | None]) -> list[tuple[object, ...]]:
        return self._workspace.rows(query, self.location, names)


def _text(value: str) -> str:
    return f"CAST({value} AS VARCHAR)"


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
            raise DataError(f"{path}: could not be copied: {error.strerror}") from None


def write_parquet(tables: Iterable[Table], path: Path) -> None:
    """Write one table, or its parts as they come, as a Parquet file; what does not fit in memory waits in a file."""
    with Workspace("writing") as workspace:
        for number, table in enumerate(tables):
            if not number:
                workspace.run(f"CREATE TABLE rows ({declared(table)})", path.name)
            if len(table):
                workspace.copy(_arrays(table), "INSERT INTO rows", path.name)
        workspace.run(f"COPY rows TO {literal(str(path.absolute()))} (FORMAT parquet)", path.name)


def _arrays(table: Table) -> dict[str, npt.NDArray[np.object_]]:
    return {f"c{index}": np.array(column.values, object) for index, column in enumerate(table.columns)}


class ParquetSource:
    """One Parquet file, which is never held in memory: every question to it is a scan of the columns in question."""

    def __init__(self, workspace: Workspace, path: Path, name: str) -> None:
        self.location = str(path)
        self._workspace, self._name = workspace, name
        self._rows = f"read_parquet({literal(escape(str(path.resolve())))}, hive_partitioning = false)"

    def tables(self) -> list[SourceTable]:
        """Return the only table."""
        described = self._workspace.describe(f"SELECT * FROM {self._rows}", self.location)  # noqa: S608
        return [SourceTable(self._name, tuple(SourceColumn(name, kind.lower(), kind_of(kind)) for name, kind in described))]

    def stage(self, table: SourceTable, columns: Sequence[SourceColumn], target: str) -> None:
        """Make a view of the file."""
        chosen = listed(column.name for column in columns)
        self._workspace.run(f"CREATE VIEW {target} AS SELECT {chosen} FROM {self._rows}", self.location)  # noqa: S608

    def close(self) -> None:
        """Nothing is held open."""


def is_frame(value: object) -> bool:
    """Return whether a value is a frame that can be read."""
    return hasattr(value, "__arrow_c_stream__") or type(value).__module__.partition(".")[0] == "pandas"


class FrameSource:
    """One frame; it is copied, since a stream can be read only once."""

    def __init__(self, workspace: Workspace, frame: object, name: str, number: int) -> None:
        self.location = f"{type(frame).__module__.partition('.')[0]} frame"
        self._workspace, self._name, self._copy = workspace, name, f"frame_{number}"
        workspace.copy(frame, f"CREATE TABLE {self._copy} AS", name)

    def tables(self) -> list[SourceTable]:
        """Return the only table."""
        described = self._workspace.describe(self._copy)
        return [SourceTable(self._name, tuple(SourceColumn(name, kind.lower(), kind_of(kind)) for name, kind in described))]

    def stage(self, table: SourceTable, columns: Sequence[SourceColumn], target: str) -> None:
        """Make a view of the copy."""
        chosen = listed(column.name for column in columns)
        self._workspace.run(f"CREATE VIEW {target} AS SELECT {chosen} FROM {self._copy}")  # noqa: S608

    def close(self) -> None:
        """Nothing is held open."""
