"""Queries that SQLite runs, which can do nothing but read one database."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from relatum.errors import DataError
from relatum.tables.engine import BATCH, Batch, Workspace, quoted
from relatum.tables.source import SourceColumn, SourceTable
from relatum.tables.sql_text import query_error, query_table, subquery
from relatum.tables.sqlite import connect_to_read, texts_of
from relatum.tables.values import infer_types

__all__ = ["SqliteQueries"]

_READS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
_FORBIDDEN = ("load_extension", "fts3_tokenizer", "readfile", "writefile", "edit")  # functions that reach further
_STEPS = 100_000  # of SQLite's machine between looks at whether somebody wants to stop


class SqliteQueries:
    """Queries to one SQLite file, on a connection of their own."""

    def __init__(self, workspace: Workspace, path: Path, queries: Mapping[str, str]) -> None:
        self.location = str(path)
        self._workspace = workspace
        self._queries = {name: subquery(sql) for name, sql in queries.items()}
        try:
            self._connection = connect_to_read(path)
            self._connection.execute("PRAGMA trusted_schema = OFF")
            self._connection.execute("PRAGMA query_only = ON")
            self._connection.execute("BEGIN")
        except sqlite3.Error as error:
            raise DataError(f"{path}: {error}") from None
        self._connection.set_authorizer(_authorize)
        self._connection.set_progress_handler(_continue, _STEPS)

    def tables(self) -> list[SourceTable]:
        """Return a table for each query."""
        return [self._table(name) for name in self._queries]

    def stage(self, table: SourceTable, columns: Sequence[SourceColumn], target: str) -> None:
        """Copy what a query gives as text; then numbers and dates are found."""
        width = max(len(columns), 1)
        try:
            self._workspace.fill(f"{target}_text", width, self._batches(table, columns), 0, table.name)
        except (sqlite3.Error, UnicodeError) as error:
            raise query_error(table.name, str(error)) from None
        infer_types(self._workspace, f"{target}_text", target, [True] * width, table.name)

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def _table(self, name: str) -> SourceTable:
        try:
            described = self._connection.execute(f"SELECT * FROM {self._queries[name]} LIMIT 0").description  # noqa: S608
        except (sqlite3.Error, UnicodeError) as error:
            raise query_error(name, str(error)) from None
        names = [str(each[0]) for each in described]
        # SQLite calls the second column of a name `id:1`.
        own = [re.sub(r":\d+$", "", each) if re.sub(r":\d+$", "", each) in names else each for each in names]
        return query_table(name, [SourceColumn(each, "", "unknown") for each in own])

    def _batches(self, table: SourceTable, columns: Sequence[SourceColumn]) -> Iterator[Batch]:
        chosen = ", ".join(quoted(column.name) for column in columns) or "NULL"
        cursor = self._connection.execute(f"SELECT {chosen} FROM {self._queries[table.name]}")  # noqa: S608
        while rows := cursor.fetchmany(BATCH):
            yield [texts_of(column) for column in zip(*rows, strict=True)]


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    if action not in _READS or (action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FORBIDDEN):
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


def _continue() -> int:
    """Go on; what a signal raises is raised here, and stops the query."""
    return 0
