"""PostgreSQL, written through psycopg."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from relatum.errors import DataError
from relatum.extras import optional
from relatum.tables.database import listed_columns, split_name
from relatum.tables.engine import quoted
from relatum.tables.postgres import without_password
from relatum.tables.table import Table

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresTarget", "open_postgres"]

_PATIENCE = 10  # seconds to wait for a connection
_LONGEST = 63  # bytes of a name; the server cuts longer ones off without a word

_COLUMNS = """
    SELECT c.relkind, a.attname FROM pg_catalog.pg_class c
    LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.oid = pg_catalog.to_regclass(%s) ORDER BY a.attnum"""


@contextmanager
def open_postgres(url: str) -> Iterator[PostgresTarget]:
    """Yield the database at a URL, with a transaction under way."""
    with optional("psycopg", extra="postgres"):
        import psycopg
    origin = without_password(url)
    try:
        with closing(psycopg.connect(url, connect_timeout=_PATIENCE)) as connection:
            yield PostgresTarget(connection, origin)
            # What was not committed is rolled back when the connection closes.
    except (psycopg.Error, UnicodeError) as error:
        # As one sentence; psycopg puts no password into it.
        raise DataError(f"{origin}: {' '.join(str(error).split()) or type(error).__name__}") from None


class PostgresTarget:
    """An open PostgreSQL database."""

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]], origin: str) -> None:
        self._connection, self.origin = connection, origin

    def place(self, table: str) -> str:
        """Return the name in quotes, with its schema if it has one; else it is found as the server finds names."""
        names = [name for name in split_name(table, None) if name is not None]
        for name in names:
            self._check_length(name)
        return ".".join(map(quoted, names))

    def columns(self, table: str) -> list[str] | None:
        """Return the columns of a table."""
        found = self._connection.execute(_COLUMNS.encode(), (self.place(table),)).fetchall()
        if found and found[0][0] not in ("r", "p"):
            raise DataError(f"{self.origin}: {table!r} is not a table")
        return [str(name) for _, name in found if name is not None] if found else None

    def run(self, sql: str) -> None:
        """Run a statement; a percent sign in a name is one."""
        self._connection.execute(sql.encode())

    def insert(self, table: Table) -> None:
        """Copy the rows; the server reads each value as the type of its column."""
        for name in table.names:
            self._check_length(name)
        sql = f"COPY {self.place(table.name)} ({listed_columns(table)}) FROM STDIN"
        with self._connection.cursor() as cursor, cursor.copy(sql.encode()) as copy:
            for row in table.rows():
                copy.write_row(row)

    def commit(self) -> None:
        """Make it last."""
        self._connection.commit()

    def _check_length(self, name: str) -> None:
        if len(name.encode()) > _LONGEST:
            raise DataError(f"{self.origin}: names have at most {_LONGEST} bytes there, and {name!r} has more")
