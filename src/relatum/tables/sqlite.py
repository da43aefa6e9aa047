"""SQLite files, read and written by Python's own module."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import cast

import numpy as np

from relatum.data.row_store import TableReference
from relatum.errors import DataError
from relatum.tables.engine import BATCH, Batch, Texts, Workspace, quoted
from relatum.tables.source import (
    Kind,
    Source,
    SourceColumn,
    SourceTable,
    other_keys,
    query_error,
    query_table,
    same_name,
    subquery,
)
from relatum.tables.table import Column, Database, Table, Value, listed_columns
from relatum.tables.value_types import affinity
from relatum.tables.values import stage_text

_TEXTS = ("CHAR", "CLOB", "TEXT", "BOOL", "UUID")
_READS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
_FORBIDDEN = ("load_extension", "fts3_tokenizer", "readfile", "writefile", "edit")  # functions that reach further
_TYPES = {int: "BIGINT", float: "DOUBLE", str: "VARCHAR", bytes: "VARCHAR"}
_STEPS = 100_000  # of SQLite's machine between looks at whether somebody wants to stop


class SqliteSource(Source):
    """One SQLite database; its virtual tables are not run, and its views, which are programs too, if they are wanted."""

    database = "sqlite"

    def __init__(self, workspace: Workspace, path: Path, views: bool = False) -> None:
        self.location = str(path)
        self._workspace = workspace
        try:
            self._connection = connect_to_read(path)
            self._connection.execute("PRAGMA trusted_schema = OFF")
            self._connection.execute("PRAGMA query_only = ON")
            self._connection.execute("BEGIN")  # one state of the database, whoever writes meanwhile
            self._queries: dict[str, str] = {}
            self._read: dict[str, list[str]] = {}
            self._classes: dict[str, list[set[type]]] = {}  # of the values of each column that was read
            wanted = ("table", "view") if views else ("table",)
            self._listed = {
                str(row[1]): row[2] == "view"
                for row in self._connection.execute("PRAGMA main.table_list")
                if row[2] in wanted and not str(row[1]).startswith("sqlite_")
            }
        except sqlite3.Error as error:
            raise DataError("database-refused", str(error), place=path) from None

    def tables(self) -> list[SourceTable]:
        """Return the tables in the order of their names."""
        try:
            columns = {name: self._columns(name) for name in sorted(self._listed)}
            return [self._table(name, columns) for name in columns]
        except sqlite3.Error as error:
            raise DataError("database-refused", str(error), place=self.location) from None

    def stage(self, table: SourceTable, columns: Sequence[SourceColumn], target: str) -> None:
        """Copy a table as text; then numbers and dates are found."""
        rows, total = self._queries.get(table.name), 0
        self._classes[table.name] = [set() for _ in columns]
        self._read[table.name] = [column.name for column in columns]
        try:
            if rows is None:
                rows = quoted(table.name)
                total = self._connection.execute(f"SELECT count(*) FROM {rows}").fetchone()[0]  # noqa: S608
            batches = self._batches(rows, columns, self._classes[table.name])
            stage_text(self._workspace, table.name, columns, batches, total, target)
        except (sqlite3.Error, UnicodeError) as error:
            if table.name in self._queries:
                raise query_error(table.name, str(error)) from None
            raise DataError("database-refused", str(error), place=f"{self.location}, table {table.name!r}") from None

    def query(self, name: str, sql: str) -> SourceTable:
        """Return a query as one more table; from now on nothing but reading is let happen."""
        self._connection.set_authorizer(_authorize)
        self._connection.set_progress_handler(lambda: 0, _STEPS)  # what a signal raises is raised there, and stops it
        self._queries[name] = subquery(sql)
        try:
            described = self._connection.execute(f"SELECT * FROM {self._queries[name]} LIMIT 0").description  # noqa: S608
        except (sqlite3.Error, UnicodeError) as error:
            raise query_error(name, str(error)) from None
        names = [str(each[0]) for each in described]
        # SQLite calls the second column of a name `id:1`.
        own = [re.sub(r":\d+$", "", each) if re.sub(r":\d+$", "", each) in names else each for each in names]
        return query_table(name, [SourceColumn(each, "", "unknown") for each in own])

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def value_types(self, table: SourceTable) -> Mapping[str, str]:
        """Return the types of columns by the classes of their values: in SQLite each value has its own."""
        found = {}
        for column, classes in self._found(table):
            word = affinity(column.type)
            if not classes:
                found[column.name] = {"integer": "BIGINT", "real": "DOUBLE"}.get(word, "VARCHAR")
            elif classes == {int, float}:
                found[column.name] = "DOUBLE"
            else:
                found[column.name] = _TYPES[next(iter(classes))] if len(classes) == 1 else "VARCHAR"
        return found

    def losses(self, table: SourceTable) -> Mapping[str, str]:
        """Return what is lost of values of several classes in a column that takes all of them as they are."""
        found = {}
        for column, classes in self._found(table):
            if bytes in classes:
                found[column.name] = "binary values are kept as hexadecimal text"
            elif len(classes) > 1 and affinity(column.type) == "blob":
                numbers = classes == {int, float}
                found[column.name] = (
                    f"{'whole numbers' if numbers else 'numbers'} are kept as {'fractions' if numbers else 'text'}"
                )
        return found

    def _found(self, table: SourceTable) -> Iterator[tuple[SourceColumn, set[type]]]:
        """Yield each column that was read with the classes of its values."""
        for name, classes in zip(self._read[table.name], self._classes[table.name], strict=True):
            yield table.column(name), classes

    def _batches(self, source: str, columns: Sequence[SourceColumn], classes: Sequence[set[type]]) -> Iterator[Batch]:
        chosen = ", ".join(quoted(column.name) for column in columns) or "NULL"
        cursor = self._connection.execute(f"SELECT {chosen} FROM {source}")  # noqa: S608
        while rows := cursor.fetchmany(BATCH):
            found = list(zip(*rows, strict=True))
            for seen, column in zip(classes, found, strict=False):
                seen.update(set(map(type, column)) - {type(None)})
            yield [texts_of(column) for column in found]

    def _columns(self, table: str) -> dict[str, tuple[SourceColumn, int]]:
        """Return the columns by name, each with its position in the primary key, from 1, or 0."""
        try:
            rows = self._connection.execute(f"PRAGMA table_xinfo({quoted(table)})").fetchall()
        except sqlite3.Error:
            if self._listed[table]:
                return {}  # a view of what is no longer there
            raise
        seen = (row for row in rows if row[6] != 1)  # 1 is hidden; generated columns are 2 and 3
        found = {}
        for _, name, declared, _, _, position, hidden in seen:
            column = SourceColumn(str(name), str(declared).lower(), _kind(str(declared)), is_generated=hidden in (2, 3))
            found[column.name] = column, position
        return found

    def _table(self, name: str, known: dict[str, dict[str, tuple[SourceColumn, int]]]) -> SourceTable:
        keys: dict[int, list[tuple[str, str, str | None]]] = {}
        for number, _, target, own, other, *_ in self._connection.execute(f"PRAGMA foreign_key_list({quoted(name)})"):
            keys.setdefault(number, []).append((target, own, other))
        references = []
        for _, parts in sorted(keys.items()):
            # Names in SQLite do not care about case, and a key that names no columns means the primary key.
            table = same_name(parts[0][0], known)
            primary = dict(enumerate(_primary_key(known.get(table, {}))))
            others = (primary.get(n, "") if other is None else other for n, (_, _, other) in enumerate(parts))
            targets = tuple(same_name(other, known.get(table, {})) for other in others)
            references.append(TableReference(tuple(same_name(own, known[name]) for _, own, _ in parts), table, targets))
        primary_key = _primary_key(known[name])
        return SourceTable(
            name,
            tuple(column for column, _ in known[name].values()),
            primary_key,
            tuple(references),
            is_readable=bool(known[name]),
            unique_keys=other_keys(self._unique_keys(name), primary_key),
        )

    def _unique_keys(self, table: str) -> Iterator[tuple[str, ...]]:
        """Yield the columns of each unique index on columns and on all rows."""
        for _, index, is_unique, _, is_partial in self._connection.execute(
            f"PRAGMA main.index_list({quoted(table)})"
        ).fetchall():
            if is_unique and not is_partial:
                names = [row[2] for row in self._connection.execute(f"PRAGMA main.index_info({quoted(index)})")]
                if None not in names:  # which stands for an expression
                    yield tuple(map(str, names))


def _primary_key(columns: dict[str, tuple[SourceColumn, int]]) -> tuple[str, ...]:
    return tuple(sorted((name for name, (_, position) in columns.items() if position), key=lambda name: columns[name][1]))


def _kind(declared: str) -> Kind:
    if "BLOB" in declared.upper():
        return "unreadable"
    return "text" if any(word in declared.upper() for word in _TEXTS) else "unknown"


def _text_of(value: object) -> str | None:
    """Return a value of SQLite, which may be of any type in any column, as text; numbers as they were."""
    if value is None or isinstance(value, str):
        return value
    return value.hex() if isinstance(value, bytes) else repr(value)


def texts_of(values: Sequence[object]) -> Texts:
    """Return values of SQLite as text; a column whose values are all of one type is not looked at value by value."""
    types = set(map(type, values))
    if types <= {str, type(None)}:
        return cast("Sequence[str | None]", values)
    if types == {int}:
        return np.array(values, np.int64)
    if types == {int, type(None)}:
        numbers = np.array(values, object)
        gaps = np.array([value is None for value in values])
        numbers[gaps] = 0
        return np.ma.array(numbers.astype(np.int64), mask=gaps)
    return list(map(repr, values)) if types <= {int, float} else list(map(_text_of, values))


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """Return whether a query may do something."""
    if action not in _READS or (action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FORBIDDEN):
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


_PATIENCE = 10.0  # seconds to wait for others who write
_ERRORS = (sqlite3.Error, OverflowError, UnicodeError)


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Return a connection that can change nothing.

    A process that was killed while it wrote leaves a change half done, which SQLite rolls back for whoever comes next; but
    only who may write can do that, so it is done first.
    """
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=_PATIENCE, isolation_level=None)
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema")
    except sqlite3.Error as error:
        if error.sqlite_errorname != "SQLITE_READONLY_ROLLBACK":
            connection.close()
            raise
        _recover(path)
    return connection


@contextmanager
def open_sqlite(path: Path, location: Path) -> Iterator[SqliteTarget]:
    """Yield the database in a file, which is made if it is not there; `location` is what messages call it."""
    try:
        with closing(sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield SqliteTarget(connection, str(location))
            finally:
                # A connection that an error still refers to would not let go of its lock by being closed.
                with suppress(sqlite3.Error):
                    connection.rollback()
    except _ERRORS as error:
        _recover(path)
        raise DataError("database-refused", str(error), place=location) from None


def _recover(path: Path) -> None:
    """Have a database roll back what was under way when it could not be written, as it does when it is next read."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as connection:
        connection.execute("SELECT count(*) FROM sqlite_schema")


def _spelled(column: Column) -> Sequence[Value]:
    """Return values as SQLite takes them: a number that does not fit in 64 bits as text."""
    if column.type != "UBIGINT":
        return column.values
    return [None if value is None else str(value) for value in column.values]


class SqliteTarget(Database):
    """An open SQLite database."""

    kind = "sqlite"

    def __init__(self, connection: sqlite3.Connection, location: str) -> None:
        self._connection, self.location = connection, location

    def sql_name(self, table: str) -> str:
        """Return the name in quotes; there are no schemas."""
        return quoted(table)

    def columns(self, table: str) -> list[str] | None:
        """Return the columns of a table, whatever the case of its name."""
        query = "SELECT type FROM main.sqlite_schema WHERE lower(name) = lower(?) AND type IN ('table', 'view')"
        found = self._connection.execute(query, (table,)).fetchone()
        if found is None:
            return None
        if found[0] == "view":
            raise self.refusal("view-not-table", f"{table!r} is a view, not a table")
        return [str(row[1]) for row in self._connection.execute(f"PRAGMA main.table_info({quoted(table)})")]

    def execute(self, sql: str) -> sqlite3.Cursor:
        """Run a statement."""
        return self._connection.execute(sql)

    def insert(self, table: Table) -> None:
        """Insert the rows; values are parameters."""
        values = ", ".join("?" * len(table.columns))
        sql = f"INSERT INTO {self.sql_name(table.name)} ({listed_columns(table)}) VALUES ({values})"  # noqa: S608
        self._connection.executemany(sql, table.rows(_spelled))

    def commit(self) -> None:
        """Make it last."""
        self._connection.execute("COMMIT")

    def rows_of(self, table: str) -> str:
        """Return the name in quotes, with its database: a temporary table may have the same name."""
        return f"main.{quoted(table)}"

    def temporary(self, name: str) -> str:
        """Return the name of a temporary table."""
        return f"temp.{quoted(name)}"

    def stage(self, name: str, query: str, rows: Iterable[tuple[Value, ...]], keys: Sequence[str]) -> None:
        """Make a temporary table; the affinity of its columns is that of the query's, so values are stored alike."""
        columns = self._connection.execute(f"CREATE TABLE {self.temporary(name)} AS {query}")
        width = len(self._connection.execute(f"SELECT * FROM {self.temporary(name)}").description)  # noqa: S608
        sql = f"INSERT INTO {self.temporary(name)} VALUES ({', '.join('?' * width)})"  # noqa: S608
        columns.executemany(sql, rows)
        if keys:
            columns.execute(f"CREATE INDEX {self.temporary(f'{name}_keys')} ON {quoted(name)} ({', '.join(keys)})")
            columns.execute(f"ANALYZE {self.temporary(name)}")

    def same(self, left: str, right: str) -> str:
        """Return the test that two values are equal or both NULL."""
        return f"{left} IS {right}"

    def identical(self, left: str, right: str) -> str:
        """Return the test that two values are the same; a number of another type is not."""
        return f"quote({left}) = quote({right})"

    def stored(self, table: str, column: str) -> tuple[str, str]:
        """Return values as text, in which quote() keeps all digits of a fraction, and their own type, not the column's."""
        value = f"t.{quoted(column)}"
        return f"CASE typeof({value}) WHEN 'real' THEN quote({value}) ELSE CAST({value} AS TEXT) END", f"typeof({value})"

    def value(self, text: str, kind: str) -> Value:
        """Return the value that has a text and a type."""
        return int(text) if kind == "integer" else float(text) if kind == "real" else text


def copy_sqlite(path: Path, target: Path) -> None:
    """Copy a database, as it is at one moment, to a file that is not there yet."""
    try:
        with closing(connect_to_read(path)) as connection, closing(sqlite3.connect(target)) as copy:
            connection.execute("BEGIN")
            connection.execute("SELECT count(*) FROM sqlite_schema")  # from here on nobody else's changes are seen
            connection.backup(copy)
    except sqlite3.Error as error:
        raise DataError("database-refused", str(error), place=path) from None
