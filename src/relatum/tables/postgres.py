"""PostgreSQL, read in one read-only snapshot and written in one transaction, through psycopg."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from relatum.errors import DataError
from relatum.extras import optional
from relatum.tables.engine import BATCH, Batch, Workspace, literal, quoted
from relatum.tables.source import Kind, Reference, SourceColumn, SourceTable
from relatum.tables.table import Table, Value, listed_columns, split_name, value_text
from relatum.tables.values import infer_types

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresSource", "PostgresTarget", "open_postgres", "without_password"]

_USUAL = "public"
_PATIENCE = 10  # seconds to wait for a connection

# Base tables only: a view is a program. Partitions are read through their parent.
_TABLES = """
    SELECT c.oid, n.nspname, c.relname, c.relkind,
      has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't'
      AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%'
    ORDER BY n.nspname, c.relname"""
_COLUMNS = """
    SELECT a.attrelid, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), t.typcategory, t.typname
    FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attrelid = ANY(%s) ORDER BY a.attrelid, a.attnum"""
_KEYS = """
    SELECT conrelid, contype, conkey, confrelid, confkey FROM pg_catalog.pg_constraint
    WHERE contype IN ('p', 'f') AND conrelid = ANY(%s) ORDER BY conrelid, conname"""

_KIND_BY_CATEGORY: dict[str, Kind] = {"N": "unknown", "D": "unknown", **dict.fromkeys("BEIRSTV", "text")}


def without_password(url: str) -> str:
    """Return the URL of a database with user, host, port and name, and nothing that could be a secret."""
    scheme, user, rest = _parts(url)
    return f"{scheme}://{user}@{rest}" if user else f"{scheme}://{rest}"


def _parts(url: str) -> tuple[str, str, str]:
    """Return scheme, user, and host with all that follows it but the parameters."""
    scheme, _, whole = url.partition("://")
    main = re.split("[?#]", whole)[0]
    before, at, rest = main.rpartition("@")
    user = before.partition(":")[0]
    # A password whose odd characters are not escaped would be read as part of the host, and so shown in messages.
    if set("/@") & set(before) or (not at and "@" in whole):
        raise DataError(f"{scheme}://...: in a URL, write / as %2F, @ as %40, ? as %3F and # as %23 in user and password")
    return scheme, user, rest


class PostgresSource:
    """One database; what is read is its state at one moment."""

    def __init__(self, workspace: Workspace, url: str) -> None:
        with optional("psycopg", extra="postgres"):
            import psycopg
        self.location = without_password(url)
        self._workspace, self._error = workspace, psycopg.Error
        try:
            self._connection: psycopg.Connection[tuple[Any, ...]] = psycopg.connect(url, connect_timeout=_PATIENCE)
            self._connection.read_only = True
            self._connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            self._connection.execute("SET LOCAL datestyle = 'ISO, YMD'")
            self._connection.execute("SET LOCAL timezone = 'UTC'")
        except (psycopg.Error, UnicodeError) as error:
            raise self._error_of(error) from None
        self._sql_names: dict[str, str] = {}

    def tables(self) -> list[SourceTable]:
        """Return the tables in the order of their names."""
        found = {row[0]: row[1:] for row in self._ask(_TABLES)}
        names = {number: table if schema == _USUAL else f"{schema}.{table}" for number, (schema, table, *_) in found.items()}
        for number, (schema, table, kind, _) in found.items():
            only = "ONLY " if kind == "r" else ""  # a table that others inherit from has its own rows alone
            self._sql_names[names[number]] = f"{only}{quoted(schema)}.{quoted(table)}"
        columns: dict[int, dict[int, SourceColumn]] = {number: {} for number in found}
        for number, position, name, declared, category, base in self._ask(_COLUMNS, list(found)):
            kind = "text" if base == "uuid" else _KIND_BY_CATEGORY.get(category, "unreadable")
            columns[number][position] = SourceColumn(name, declared, kind)
        keys: dict[int, tuple[str, ...]] = {}
        references: dict[int, list[Reference]] = {}
        for number, kind, own, other, targets in self._ask(_KEYS, list(found)):
            mine = tuple(columns[number][position].name for position in own)
            if kind == "p":
                keys[number] = mine
            elif other in found:
                theirs = tuple(columns[other][position].name for position in targets)
                references.setdefault(number, []).append(Reference(mine, names[other], theirs))
        return [
            SourceTable(
                name,
                tuple(columns[number].values()),
                keys.get(number, ()),
                tuple(references.get(number, ())),
                is_readable=found[number][-1],
            )
            for number, name in names.items()
        ]

    def stage(self, table: SourceTable, columns: Sequence[SourceColumn], target: str) -> None:
        """Copy a table as text; then numbers and dates are found."""
        sql_name = self._sql_names[table.name]
        total = self._ask(f"SELECT count(*) FROM {sql_name}")[0][0]  # noqa: S608
        self._workspace.fill(f"{target}_text", max(len(columns), 1), self._batches(sql_name, columns), total, table.name)
        unknown = [column.kind == "unknown" for column in columns] or [False]
        infer_types(self._workspace, f"{target}_text", target, unknown, table.name)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _batches(self, sql_name: str, columns: Sequence[SourceColumn]) -> Iterator[Batch]:
        chosen = ", ".join(f"{quoted(column.name)}::text" for column in columns) or "NULL"
        try:
            with self._connection.cursor(name="relatum") as cursor:
                cursor.execute(f"SELECT {chosen} FROM {sql_name}".encode())  # noqa: S608
                while rows := cursor.fetchmany(BATCH):
                    yield list(zip(*rows, strict=True))
        except self._error as error:
            raise self._error_of(error) from None

    def _ask(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        try:
            # Every name in it is quoted; without parameters a percent sign is one.
            return self._connection.execute(sql.encode(), parameters or None).fetchall()
        except self._error as error:
            raise self._error_of(error) from None

    def _error_of(self, error: Exception) -> DataError:
        """Return an error of the server as one sentence; psycopg puts no password into it."""
        return DataError(f"{self.location}: {' '.join(str(error).split()) or type(error).__name__}")


_LOCK_PATIENCE = 10  # seconds to wait for a connection, and for others who write
_LOCAL = {
    "lock_timeout": f"{_LOCK_PATIENCE}s",
    "datestyle": "ISO, YMD",
    "timezone": "UTC",
    "intervalstyle": "postgres",
    "extra_float_digits": "1",
}
_LONGEST = 63  # bytes of a name; the server cuts longer ones off without a word

_TYPES = """
    SELECT c.relkind, a.attname FROM pg_catalog.pg_class c
    LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.oid = pg_catalog.to_regclass(%s) ORDER BY a.attnum"""


@contextmanager
def open_postgres(url: str) -> Iterator[PostgresTarget]:
    """Yield the database at a URL, with a transaction under way."""
    with optional("psycopg", extra="postgres"):
        import psycopg
    location = without_password(url)
    try:
        with closing(psycopg.connect(url, connect_timeout=_LOCK_PATIENCE)) as connection:
            yield PostgresTarget(connection, location)
            # What was not committed is rolled back when the connection closes.
    except (psycopg.Error, UnicodeError) as error:
        # As one sentence; psycopg puts no password into it.
        raise DataError(f"{location}: {' '.join(str(error).split()) or type(error).__name__}") from None


class PostgresTarget:
    """An open PostgreSQL database."""

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]], location: str) -> None:
        self._connection, self.location = connection, location

    def sql_name(self, table: str) -> str:
        """Return the name in quotes, with its schema if it has one; else it is found as the server finds names."""
        names = [name for name in split_name(table, None) if name is not None]
        for name in names:
            self._check_length(name)
        return ".".join(map(quoted, names))

    def columns(self, table: str) -> list[str] | None:
        """Return the columns of a table."""
        found = self._connection.execute(_TYPES.encode(), (self.sql_name(table),)).fetchall()
        if found and found[0][0] not in ("r", "p"):
            raise DataError(f"{self.location}: {table!r} is not a table")
        return [str(name) for _, name in found if name is not None] if found else None

    def run(self, sql: str) -> None:
        """Run a statement; a percent sign in a name is one."""
        self._connection.execute(sql.encode())

    def insert(self, table: Table) -> None:
        """Copy the rows; the server reads each value as the type of its column."""
        for name in table.names:
            self._check_length(name)
        sql = f"COPY {self.sql_name(table.name)} ({listed_columns(table)}) FROM STDIN"
        with self._connection.cursor() as cursor, cursor.copy(sql.encode()) as copy:
            for row in table.rows():
                copy.write_row(row)

    def commit(self) -> None:
        """Make it last."""
        self._connection.commit()

    def rows_of(self, table: str) -> str:
        """Return the name in quotes; a table that others inherit from has its own rows alone, as they are read."""
        found = self._connection.execute(_TYPES.encode(), (self.sql_name(table),)).fetchone()
        return f"ONLY {self.sql_name(table)}" if found and found[0] == "r" else self.sql_name(table)

    def lock(self, tables: Sequence[str]) -> None:
        """Keep others from writing to these tables, not from reading them, and have values as text in one form."""
        for setting, value in _LOCAL.items():
            self.run(f"SET LOCAL {setting} = {literal(value)}")
        for table in tables:
            self.run(f"LOCK TABLE {self.rows_of(table)} IN SHARE ROW EXCLUSIVE MODE")

    def temporary(self, name: str) -> str:
        """Return the name of a temporary table."""
        return f"pg_temp.{quoted(name)}"

    def stage(self, name: str, query: str, rows: Iterable[tuple[Value, ...]], keys: Sequence[str]) -> None:
        """Make a temporary table that ends with the transaction; the server reads each value as the type of its column."""
        self.run(f"CREATE TEMP TABLE {quoted(name)} ON COMMIT DROP AS {query}")
        with self._connection.cursor() as cursor, cursor.copy(f"COPY {self.temporary(name)} FROM STDIN".encode()) as copy:
            for row in rows:
                copy.write_row([value_text(value) for value in row])
        self.run(f"ANALYZE {self.temporary(name)}")

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return self._connection.execute(sql.encode()).fetchall()

    def change(self, sql: str) -> int:
        """Run an UPDATE and return how many rows it has changed."""
        return self._connection.execute(sql.encode()).rowcount

    def same(self, left: str, right: str) -> str:
        """Return the test that two values are equal or both NULL; its first half, unlike the second, can be hashed."""
        texts = " = ".join(f"coalesce({self.text(value)}, '')" for value in (left, right))
        return f"({texts} AND {left} IS NOT DISTINCT FROM {right})"

    def exact(self, value: str) -> str:
        """Return a text that no other value of a column has."""
        return self.text(value)

    def text(self, value: str) -> str:
        """Return a value as text."""
        return f"CAST({value} AS TEXT)"

    def type(self, value: str) -> str:
        """Return the type of a value."""
        return f"CAST(pg_typeof({value}) AS TEXT)"

    def value(self, text: str, kind: str) -> Value:
        """Return the text: it becomes the type of its column."""
        return text

    def _check_length(self, name: str) -> None:
        if len(name.encode()) > _LONGEST:
            raise DataError(f"{self.location}: names have at most {_LONGEST} bytes there, and {name!r} has more")
