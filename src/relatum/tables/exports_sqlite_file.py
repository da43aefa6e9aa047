"""SQLite files, written by Python's own module."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from relatum.errors import DataError
from relatum.tables.database import listed_columns
from relatum.tables.engine import quoted
from relatum.tables.table import Table

__all__ = ["SqliteTarget", "open_sqlite"]

_PATIENCE = 10.0  # seconds to wait for others who write
_ERRORS = (sqlite3.Error, OverflowError, UnicodeError)


@contextmanager
def open_sqlite(path: Path, origin: Path) -> Iterator[SqliteTarget]:
    """Yield the database in a file, which is made if it is not there; `origin` is what messages call it."""
    try:
        with closing(sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("BEGIN IMMEDIATE")
            yield SqliteTarget(connection, str(origin))
            # What was not committed is rolled back when the connection closes.
    except _ERRORS as error:
        _recover(path)
        raise DataError(f"{origin}: {error}") from None


def _recover(path: Path) -> None:
    """Have a database roll back what was under way when it could not be written, as it does when it is next read."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as connection:
        connection.execute("SELECT count(*) FROM sqlite_schema")


class SqliteTarget:
    """An open SQLite database."""

    def __init__(self, connection: sqlite3.Connection, origin: str) -> None:
        self._connection, self.origin = connection, origin

    def place(self, table: str) -> str:
        """Return the name in quotes; there are no schemas."""
        return quoted(table)

    def columns(self, table: str) -> list[str] | None:
        """Return the columns of a table, whatever the case of its name."""
        query = "SELECT type FROM main.sqlite_schema WHERE lower(name) = lower(?) AND type IN ('table', 'view')"
        found = self._connection.execute(query, (table,)).fetchone()
        if found is None:
            return None
        if found[0] == "view":
            raise DataError(f"{self.origin}: {table!r} is a view, not a table")
        return [str(row[1]) for row in self._connection.execute(f"PRAGMA main.table_info({quoted(table)})")]

    def run(self, sql: str) -> None:
        """Run a statement."""
        self._connection.execute(sql)

    def insert(self, table: Table) -> None:
        """Insert the rows; values are parameters."""
        values = ", ".join("?" * len(table.columns))
        sql = f"INSERT INTO {self.place(table.name)} ({listed_columns(table)}) VALUES ({values})"  # noqa: S608
        self._connection.executemany(sql, table.rows())

    def commit(self) -> None:
        """Make it last."""
        self._connection.execute("COMMIT")
