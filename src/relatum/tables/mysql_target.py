"""MySQL and MariaDB, written to as one step as far as they can.

There a statement that makes or renames a table commits what came before it, and cannot be rolled back. So a new table is
filled under a name that says it is unfinished, and all new tables get their names in one statement, which succeeds or fails
as a whole. Rows for tables that are there already go into one transaction. Each of the two is all or nothing. What cannot
be guaranteed is both as one: whoever is killed between them leaves the rows, but not the new tables.

Cells that are filled are one transaction with their log. Only the log itself, if it is missing, is made before, empty.

What a writer that was killed leaves behind is removed by the next one: a lock, which ends with its connection, tells which
unfinished tables somebody still works on.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any

from relatum.extras import optional
from relatum.tables.engine import literal, quoted
from relatum.tables.mysql import connect
from relatum.tables.servers import as_sentence, without_password
from relatum.tables.table import Column, Database, Table, Value, declared, listed_columns, split_name, value_text

_WAIT = 10  # seconds to wait for others who write
_LETTERS, _INDEXED = 64, 8  # of a text, and columns, that are in an index of a temporary table
_AS_NUMBERS = {"float": "0e0", "bit": "0"}  # what is added to values whose text is not all of them
_MARK = "relatum_unfinished_"
_UNFINISHED = re.compile(f"({_MARK}[0-9a-f]{{16}})_[0-9]+")

_FOUND = """
    SELECT t.table_type, t.engine, e.transactions FROM information_schema.tables t
    LEFT JOIN information_schema.engines e ON e.engine = t.engine
    WHERE t.table_schema = coalesce(%s, DATABASE()) AND t.table_name = %s"""
_COLUMNS = """
    SELECT column_name FROM information_schema.columns
    WHERE table_schema = coalesce(%s, DATABASE()) AND table_name = %s ORDER BY ordinal_position"""
_TYPES = """
    SELECT column_name, data_type, extra FROM information_schema.columns
    WHERE table_schema = coalesce(%s, DATABASE()) AND table_name = %s"""
_STALE = """
    SELECT table_schema, table_name FROM information_schema.tables
    WHERE table_schema = coalesce(%s, DATABASE()) AND table_name LIKE %s"""


@contextmanager
def open_mysql(url: str) -> Iterator[MysqlTarget]:
    """Yield the database at a URL, with a transaction under way."""
    with optional("pymysql", extra="mysql"):
        import pymysql
    location, errors = without_password(url), (pymysql.Error, OSError, UnicodeError)
    try:
        with _opened(url, location) as target:
            with suppress(*errors):  # somebody else may drop it first, or it may not be ours to drop
                target.drop_stale()
            try:
                yield target
            except BaseException:
                # What was not committed is rolled back with the connection, which may be in the middle of anything.
                target.close()
                with suppress(*errors), _opened(url, location) as other:
                    other.drop(target.unfinished())
                raise
    except errors as error:
        raise as_sentence(location, error) from None


@contextmanager
def _opened(url: str, location: str) -> Iterator[MysqlTarget]:
    with closing(MysqlTarget(connect(url), location)) as target:
        target.execute(f"SET SESSION lock_wait_timeout = {_WAIT}, innodb_lock_wait_timeout = {_WAIT}")
        yield target


class MysqlTarget(Database):
    """An open MySQL or MariaDB database."""

    kind = "mysql"
    whole = "CAST(0 AS SIGNED)"

    def __init__(self, connection: Any, location: str) -> None:
        self._connection, self.location = connection, location
        self._is_locking = False
        self._lock = f"{_MARK}{secrets.token_hex(8)}"
        self._new: dict[str, str] = {}  # the SQL name that each new table has until all are filled

    def sql_name(self, table: str) -> str:
        """Return the name in quotes, with its database if it has one."""
        return _joined(*split_name(table, None))

    def columns(self, table: str) -> list[str] | None:
        """Return the columns of a table; one of an engine that cannot roll back is refused."""
        schema, name = split_name(table, None)
        found = self._rows(_FOUND, schema, name)
        if not found:
            return None
        kind, engine, has_transactions = found[0]
        if kind not in ("BASE TABLE", "SYSTEM VERSIONED"):
            raise self.refusal("view-not-table", f"{table!r} is not a table")
        if has_transactions != "YES":
            raise self.refusal(
                "engine-without-undo",
                f"table {table!r} is of engine {engine}, which cannot undo half of a write; ALTER TABLE ... "
                "ENGINE = InnoDB makes it one that can",
            )
        return [str(row[0]) for row in self._rows(_COLUMNS, schema, name)]

    def create(self, table: Table) -> None:
        """Make an empty table, which gets its name when all is committed."""
        if not self._new:
            self._rows("SELECT GET_LOCK(%s, 0)", self._lock)
        schema, _ = split_name(table.name, None)
        if schema is not None:
            self.drop_stale(schema)
        unfinished = _joined(schema, f"{self._lock}_{len(self._new)}")
        self._new[table.name] = unfinished  # before it is there, so that it is dropped whatever happens
        self.execute(f"CREATE TABLE {unfinished} {_declared(table)}")

    def execute(self, sql: str) -> Any:
        """Run a statement; a percent sign in a name is one."""
        cursor = self._connection.cursor()
        cursor.execute(sql)
        return cursor

    def insert(self, table: Table) -> None:
        """Insert the rows, many in one statement; values are parameters."""
        name = self._new.get(table.name) or self.sql_name(table.name)
        into = f"INSERT INTO {name} ({listed_columns(table)})".replace("%", "%%")
        values = ", ".join(["%s"] * len(table.columns))
        with self._connection.cursor() as cursor:
            cursor.executemany(f"{into} VALUES ({values})", map(_plain, table.rows(_spelled)))

    def commit(self) -> None:
        """Make it last: the rows in tables that were there, then the new tables."""
        self._connection.commit()
        if self._new:
            renamed = (f"{unfinished} TO {self.sql_name(name)}" for name, unfinished in self._new.items())
            self.execute(f"RENAME TABLE {', '.join(renamed)}")
            self._new = {}

    def create_log(self, table: Table) -> bool:
        """Make a table at once, for which the transaction is rolled back: it could only be committed otherwise."""
        self._connection.rollback()
        self.execute(f"CREATE TABLE IF NOT EXISTS {self.sql_name(table.name)} {_declared(table)}")
        return False

    def lock(self, tables: Sequence[str]) -> None:
        """Keep others from writing to these tables, not from reading them: each row and each gap between rows is locked."""
        if not self._is_locking:
            self._connection.rollback()  # a query to the catalogue may have begun a transaction, whose level is fixed
            self.execute("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE")  # what is read is what is there now
            self._is_locking = True
        for table in tables:
            self._rows(f"SELECT count(*) FROM {self.rows_of(table)} FOR UPDATE")  # noqa: S608

    def temporary(self, name: str) -> str:
        """Return the name of a temporary table."""
        return quoted(name)

    def stage(self, name: str, query: str, rows: Iterable[tuple[Value, ...]], keys: Sequence[str]) -> None:
        """Make a temporary table, with an index as far as its keys can have one; values are read as its columns' types."""
        table = self.temporary(name)
        self.execute(f"CREATE TEMPORARY TABLE {table} ENGINE = InnoDB AS {query}")
        if indexed := [part for key in keys if (part := self._indexed(table, key))][:_INDEXED]:
            # An index that is added later would commit what is under way.
            self.execute(f"DROP TEMPORARY TABLE {table}")
            self.execute(f"CREATE TEMPORARY TABLE {table} (INDEX ({', '.join(indexed)})) ENGINE = InnoDB AS {query}")
        if plain := [tuple(one if isinstance(one, int) else value_text(one) for one in row) for row in rows]:
            with self._connection.cursor() as cursor:
                cursor.executemany(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(plain[0]))})", plain)  # noqa: S608

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query, whole numbers as such."""
        from pymysql.constants import FIELD_TYPE

        whole = {FIELD_TYPE.TINY, FIELD_TYPE.SHORT, FIELD_TYPE.INT24, FIELD_TYPE.LONG, FIELD_TYPE.LONGLONG}
        cursor = self.execute(sql)
        is_whole = [column[1] in whole for column in cursor.description]
        return [
            tuple(int(value) if one and value is not None else value for one, value in zip(is_whole, row, strict=True))
            for row in cursor.fetchall()
        ]

    def same(self, left: str, right: str) -> str:
        """Return the test that two values are equal or both NULL."""
        return f"{left} <=> {right}"

    def identical(self, left: str, right: str) -> str:
        """Return the test that two values are the same: equal as what they are, and letter by letter, whatever the case."""
        texts = " = ".join(f"CAST({value} AS BINARY)" for value in (left, right))
        return f"({left} = {right} AND {texts})"

    def stored(self, table: str, column: str) -> tuple[str, str]:
        """Return the values of a column of the table `t` as text, a single-precision number with all its digits."""
        types = {name.lower(): str(base).lower() for name, base, _ in self._rows(_TYPES, *split_name(table, None))}
        base = types[column.lower()]
        value = f"t.{quoted(column)}"
        if base in _AS_NUMBERS:
            value = f"({value} + {_AS_NUMBERS[base]})"
        return f"CAST({value} AS CHAR CHARACTER SET utf8mb4)", literal(base)

    def value(self, text: str, kind: str) -> Value:
        """Return the text, which becomes the type of its column; only bits are none."""
        return int(text) if kind == "bit" else text

    def updating(self, table: str, given: str, joined: str, settings: Mapping[str, str], test: str) -> str:
        """Return the UPDATE of a table `t` joined with a temporary one `g`; columns that update themselves do not."""
        kept = [name for name, _, extra in self._rows(_TYPES, *split_name(table, None)) if "on update" in extra.lower()]
        values = {name: f"t.{quoted(name)}" for name in kept if name.lower() not in {each.lower() for each in settings}}
        listed = ", ".join(f"t.{quoted(column)} = {value}" for column, value in {**settings, **values}.items())
        return f"UPDATE {self.rows_of(table)} AS t JOIN {given} AS g ON {joined} SET {listed} WHERE {test}"  # noqa: S608

    def close(self) -> None:
        """Close the connection, if it is not closed already."""
        if self._connection.open:
            self._connection.close()

    def unfinished(self) -> list[str]:
        """Return the SQL names of new tables that do not have their own yet."""
        return list(self._new.values())

    def drop(self, sql_names: list[str]) -> None:
        """Drop tables that are not finished."""
        for name in sql_names:
            self.execute(f"DROP TABLE IF EXISTS {name}")

    def drop_stale(self, schema: str | None = None) -> None:
        """Drop the unfinished tables, in one database, of writers that are no longer there."""
        for found, name in self._rows(_STALE, schema, _MARK.replace("_", r"\_") + "%"):
            mark = _UNFINISHED.fullmatch(name)
            if mark and self._rows("SELECT IS_FREE_LOCK(%s)", mark[1])[0][0] == "1":
                self.drop([_joined(found, name)])

    def _indexed(self, table: str, key: str) -> str:
        """Return a column of a temporary table as an index has it: of a text the first letters."""
        ((_, kind, *_),) = self._rows(f"SHOW COLUMNS FROM {table} LIKE {literal(key)}")
        length = re.fullmatch(r"(?:var)?char\((\d+)\).*", kind)
        if "text" in kind or (length and int(length[1]) > _LETTERS):
            return f"{key}({_LETTERS})"
        return "" if "blob" in kind or "binary" in kind else key

    def _rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql, parameters or None)
            return list(cursor.fetchall())


def _joined(schema: str | None, name: str) -> str:
    return ".".join(quoted(part) for part in (schema, name) if part is not None)


def _declared(table: Table) -> str:
    return f"({declared(table, 'mysql')}) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"


def _spelled(column: Column) -> Sequence[Value]:
    """Return values as the server reads them: moments are in UTC, as the session is, without saying so."""
    if column.type != "TIMESTAMP WITH TIME ZONE":
        return column.values
    return [str(value).removesuffix("+00") if value is not None else None for value in column.values]


def _plain(row: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return a row without the numbers of numpy, which the driver does not know."""
    return tuple(float(value) if isinstance(value, float) else value for value in row)
