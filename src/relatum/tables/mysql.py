"""MySQL and MariaDB, read in one read-only snapshot, through PyMySQL.

The snapshot covers tables of InnoDB; those of an engine without transactions, such as MyISAM, are read as they are by then.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import numpy as np

from relatum.data.row_store import TableReference
from relatum.errors import DataError
from relatum.extras import optional
from relatum.tables.engine import CsvRows, Workspace, quoted
from relatum.tables.servers import PATIENCE, ServerSource, as_sentence, gathered, without_password
from relatum.tables.source import Kind, SourceColumn, SourceTable, other_keys, same_name

_PARAMETERS = ("ssl_ca", "unix_socket")

# Quotes that stand around names everywhere else do so here too, and what does not fit is an error, not cut off.
_SESSION = "SET SESSION sql_mode = 'ANSI_QUOTES,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00'"

_REMOTE = ("FEDERATED", "CONNECT", "SPIDER")  # engines of tables that are elsewhere
_TABLES = """
    SELECT table_name, table_type, engine FROM information_schema.tables
    WHERE table_schema = DATABASE() AND table_type IN ('BASE TABLE', 'SYSTEM VERSIONED', 'VIEW') ORDER BY table_name"""
_COLUMNS = """
    SELECT table_name, column_name, data_type, column_type, privileges,
      coalesce(generation_expression, '') <> '' FROM information_schema.columns
    WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position"""
_INDEXES = """
    SELECT table_name, index_name, column_name FROM information_schema.statistics
    WHERE table_schema = DATABASE() AND non_unique = 0 ORDER BY table_name, index_name, seq_in_index"""
_REFERENCES = """
    SELECT table_name, constraint_name, column_name, referenced_table_name, referenced_column_name
    FROM information_schema.key_column_usage
    WHERE table_schema = DATABASE() AND referenced_table_schema = DATABASE()
    ORDER BY table_name, constraint_name, ordinal_position"""
# MariaDB has no type for JSON: such a column is text with a check.
_JSON = """
    SELECT table_name, constraint_name FROM information_schema.check_constraints
    WHERE constraint_schema = DATABASE() AND level = 'Column' AND check_clause LIKE 'json_valid(%'"""

_DATES = ("date", "datetime", "timestamp")
_NUMBERS = ("tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "float", "double", "year", "bit")
_TEXTS = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set", "uuid", "inet4", "inet6")
_KIND: dict[str, Kind] = {**dict.fromkeys((*_DATES, "time", *_NUMBERS), "unknown"), **dict.fromkeys(_TEXTS, "text")}


def connect(url: str) -> Any:
    """Return a connection to the database at a URL, whose password may be in MYSQL_PWD instead."""
    with optional("pymysql", extra="mysql"):
        import pymysql
    settings = {"charset": "utf8mb4", "connect_timeout": PATIENCE, "init_command": _SESSION}
    return pymysql.connect(**_where(url), **settings, conv=pymysql.converters.encoders)


def _where(url: str) -> dict[str, Any]:
    """Return what PyMySQL takes for a URL."""
    location = without_password(url)
    try:
        parts = urlsplit(url)
        given: dict[str, Any] = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
        port = parts.port or 0
    except ValueError:
        raise DataError(
            "bad-url", "not the URL of a database", place=location, remedy="write mysql://USER@HOST:PORT/DATABASE"
        ) from None
    database = unquote(parts.path[1:])
    if not database or "/" in database:
        raise DataError("bad-url", "name one database, as in mysql://USER@HOST:PORT/DATABASE", place=location)
    for name in given:
        if name not in _PARAMETERS:
            raise DataError("bad-url", f"a parameter of the URL is not one of {', '.join(_PARAMETERS)}", place=location)
    password = os.environ.get("MYSQL_PWD", "") if parts.password is None else unquote(parts.password)
    if "ssl_ca" in given:  # then the server is who it says it is
        given |= {"ssl_verify_cert": True, "ssl_verify_identity": True}
    user = unquote(parts.username or "") or None
    where: dict[str, Any] = {"host": parts.hostname, "port": port, "user": user, "password": password.encode()}
    return {**where, "database": database, **given}


class MysqlSource(ServerSource):
    """One database; what is read is its state at one moment."""

    database = "mysql"

    def __init__(self, workspace: Workspace, url: str, views: bool = False) -> None:
        with optional("pymysql", extra="mysql"):
            import pymysql
        super().__init__(workspace, without_password(url), (pymysql.Error, OSError, UnicodeError))
        self._views = views
        self._floats: list[bool] = []  # which of the columns that are being read are of single precision
        self._zeros: dict[str, dict[str, int]] = {}  # by table and column, how many dates are 0000-00-00
        self._connection: Any = None
        try:
            self._connection = connect(url)
            self.rows("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            self.rows("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
        except self._errors as error:
            self.close()
            raise as_sentence(self.location, error) from None

    def tables(self) -> list[SourceTable]:
        """Return the tables in the order of their names."""
        found = [
            name
            for name, kind, engine in self._ask(_TABLES)
            if self._views or (kind != "VIEW" and str(engine).upper() not in _REMOTE)
        ]
        json = set(self._ask(_JSON)) if "MariaDB" in self._connection.get_server_info() else set()
        columns: dict[str, dict[str, SourceColumn]] = {name: {} for name in found}
        readable = dict.fromkeys(found, True)
        for table, name, base, declared, rights, generated in self._ask(_COLUMNS):
            if table in columns:
                kind: Kind = "unreadable" if (table, name) in json else _KIND.get(base.lower(), "unreadable")
                columns[table][name] = SourceColumn(name, declared, kind, is_generated=bool(int(generated)))
                readable[table] = readable[table] and "select" in rights.split(",")
        keys = self._keys()
        references = self._references(columns)
        tables = []
        for table in found:
            self._sql_names[table] = quoted(table)
            primary, *unique = keys.get(table, [()])
            tables.append(
                SourceTable(
                    table,
                    tuple(columns[table].values()),
                    primary,
                    tuple(references.get(table, ())),
                    is_readable=readable[table] and bool(columns[table]),  # a view of what is not there has no columns
                    unique_keys=other_keys(unique, primary),
                )
            )
        return tables

    def _keys(self) -> dict[str, list[tuple[str, ...]]]:
        """Return the keys of each table that has one, the primary key first, which may be empty."""
        indexes: dict[str, dict[str, list[str | None]]] = {}
        for table, index, column in self._ask(_INDEXES):
            indexes.setdefault(table, {"PRIMARY": []}).setdefault(index, []).append(column)
        return {
            table: [tuple(map(str, key)) for key in mine.values() if None not in key]  # None is an expression
            for table, mine in indexes.items()
        }

    def _references(self, columns: dict[str, dict[str, SourceColumn]]) -> dict[str, list[TableReference]]:
        parts: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
        for table, constraint, *part in self._ask(_REFERENCES):
            parts.setdefault((table, constraint), []).append((part[0], part[1], part[2]))
        references: dict[str, list[TableReference]] = {}
        for (table, _), mine in parts.items():
            other = same_name(mine[0][1], columns)
            if table in columns and other in columns:
                own = tuple(same_name(name, columns[table]) for name, _, _ in mine)
                targets = tuple(same_name(name, columns[other]) for _, _, name in mine)
                references.setdefault(table, []).append(TableReference(own, other, targets))
        return references

    def text_of(self, column: SourceColumn) -> str:
        """Return the SQL for a column's value, which the protocol sends as text; 0000-00-00 is no date."""
        name, base = quoted(column.name), column.type.partition("(")[0]
        if base == "bit":
            return f"{name} + 0"
        if base == "float":  # which is shown with six digits
            return f"{name} + 0e0"
        if base in _DATES:
            return f"CASE WHEN CAST({name} AS CHAR) NOT LIKE '0000-00-00%' THEN {name} END"
        return name

    def stage(self, table: SourceTable, columns: Sequence[SourceColumn], target: str) -> None:
        """Copy a table as text, and count the dates in it that are none."""
        self._floats = [column.type.partition("(")[0].split()[0] == "float" for column in columns]
        super().stage(table, columns, target)
        dates = [column.name for column in columns if column.type.partition("(")[0] in _DATES]
        tests = ", ".join(f"sum(CAST({quoted(name)} AS CHAR) LIKE '0000-00-00%')" for name in dates)
        if dates:
            found = self._ask(f"SELECT {tests} FROM {self._sql_names[table.name]}")[0]  # noqa: S608
            self._zeros[table.name] = {name: int(count or 0) for name, count in zip(dates, found, strict=True)}

    def losses(self, table: SourceTable) -> Mapping[str, str]:
        """Return how many dates are no values."""
        found = self._zeros.get(table.name, {})
        return {name: f"0000-00-00 is no value, {count:,} times" for name, count in found.items() if count}

    def rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query; without parameters a percent sign is one."""
        with self._connection.cursor() as cursor:
            cursor.execute(sql, parameters or None)
            return list(cursor.fetchall())

    def batches(self, sql: str) -> Iterator[CsvRows]:
        """Yield the rows of a query, all text, in batches; the server keeps what has not been fetched."""
        from pymysql.cursors import SSCursor

        cursor = SSCursor(self._connection)
        try:
            cursor.execute(sql)
            yield from gathered(map(partial(_csv_of, self._floats), cursor.fetchall_unbuffered()))
        except BaseException:
            self._abandon(cursor)
            raise
        cursor.close()

    def _abandon(self, cursor: Any) -> None:
        """Give up a query together with its connection; else the driver would fetch all rows before it lets go."""
        result, cursor._result, cursor.connection = cursor._result, None, None
        if result is not None:
            result.unbuffered_active, result.connection = False, None
        self.close()

    def is_lost(self) -> bool:
        """Return whether the connection broke."""
        return not self._connection.open

    def close(self) -> None:
        """Close the connection, if it is not closed already."""
        if self._connection is not None and self._connection.open:
            self._connection.close()


def _csv_of(floats: Sequence[bool], row: tuple[str | None, ...]) -> CsvRows:
    """Return a row as a line of CSV, numbers of single precision with as many digits as it takes."""
    if any(floats):
        row = tuple(str(np.float32(one)) if is_float and one else one for one, is_float in zip(row, floats, strict=True))
    text = ",".join("" if value is None else quoted(value) for value in row).encode() + b"\n"
    return CsvRows(text, 1, len(text))
