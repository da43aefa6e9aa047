"""What every kind of source tells of its tables, what it is asked to do, and queries in SQL that are one more table."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from relatum.data.row_store import TableReference
from relatum.data.vocabulary import fault_of
from relatum.errors import DataError, SettingError
from relatum.tables.value_types import Database

# `unknown` is text whose values tell what it is, once they have been seen; `unreadable` cannot be the name of anything.
Kind = Literal["number", "date", "text", "unknown", "unreadable"]

_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL")
_UNSIGNED = tuple(f"U{name}" for name in _NUMBERS[:5])
_DATES = ("DATE", "TIME")  # and TIMESTAMP, TIMESTAMP WITH TIME ZONE, TIMESTAMP_NS, TIME WITH TIME ZONE, ...
_TEXTS = ("VARCHAR", "BOOLEAN", "UUID", "ENUM", "INTERVAL", "BIT", '"NULL"')


def kind_of(duckdb_type: str) -> Kind:
    """Return what kind of values a column of a DuckDB type holds."""
    if duckdb_type.endswith("]"):  # a list or an array, whatever it is of
        return "unreadable"
    if duckdb_type.startswith((*_NUMBERS, *_UNSIGNED)):
        return "number"
    if duckdb_type.startswith(_DATES):
        return "date"
    return "text" if duckdb_type.startswith(_TEXTS) else "unreadable"


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column as its source declares it; `type` is the source's own word, empty where it has none.

    `is_nameless` says that it is the first of a file whose header has no name for it, and is called `row` instead;
    `is_generated`, that the database works it out from other columns, and lets nobody write it.
    """

    name: str
    type: str
    kind: Kind
    is_nameless: bool = False
    is_generated: bool = False


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table as its source declares it."""

    name: str  # what it is called; its schema stands before it where that is not the usual one
    columns: tuple[SourceColumn, ...]  # all of them, in their order
    primary_key: tuple[str, ...] = ()  # the names of its columns; none where the source knows of none
    references: tuple[TableReference, ...] = ()  # its foreign keys
    is_facts: bool = False  # its rows were written as facts, so that every value is the name of an entity as it stands
    is_positional: bool = False  # its columns have no names but their places
    is_readable: bool = True  # its rows may be read; what refers to it is the same either way
    # columns no two rows have the same values in, but for NULL: each key but the primary one
    unique_keys: tuple[tuple[str, ...], ...] = ()
    is_key_found: bool = False  # the primary key is of several columns, and was found in the values

    def column(self, name: str) -> SourceColumn:
        """Return the column called `name`."""
        return next(column for column in self.columns if column.name == name)


def other_keys(found: Iterable[Sequence[str]], primary_key: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the unique keys among those found, sorted, each set of columns once and the primary key left out."""
    keys: dict[frozenset[str], tuple[str, ...]] = {}
    for key in sorted(map(tuple, found)):
        if frozenset(key) != frozenset(primary_key):
            keys.setdefault(frozenset(key), key)
    return tuple(keys.values())


def same_name(name: str, known: Iterable[str]) -> str:
    """Return the known name that is `name` but for case, or `name` itself where there is none."""
    alike = [other for other in known if other.lower() == name.lower()]
    return alike[0] if alike and name not in alike else name


class Source(ABC):
    """Something that holds tables: it tells what they are, and brings one into the workspace.

    `location` says where they come from, without any password; `database`, what kind of database that is, where its
    words for types say more than those that values are kept as.
    """

    location: str
    database: Database | None = None

    @abstractmethod
    def tables(self) -> list[SourceTable]:
        """Return all tables, whether they are wanted or not."""

    @abstractmethod
    def stage(self, table: SourceTable, columns: Sequence[SourceColumn], target: str) -> None:
        """Make `target`, a table or view of the workspace, with these columns as c0, c1, ..., and all rows."""

    def value_types(self, table: SourceTable) -> Mapping[str, str]:
        """Return the types of values of columns that came as text, as DuckDB calls them, by name: once a table is staged.

        Of a column that is not among them its values alone can tell.
        """
        return {}

    def losses(self, table: SourceTable) -> Mapping[str, str]:
        """Return what of the values of columns cannot be kept, in a few words by name: once a table is staged."""
        return {}

    def close(self) -> None:  # noqa: B027
        """Let go of files and connections."""


_FIRST_WORD = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*(\w*)", re.DOTALL)


def check_queries(queries: Mapping[str, str]) -> None:
    """Refuse queries that are not a SELECT by their first word; whether there is more than one, the database knows."""
    if not isinstance(queries, Mapping):
        raise SettingError("setting-out-of-range", "must be queries by the names of their tables", place="sql")
    for name, sql in queries.items():
        if fault := fault_of(name):
            raise SettingError("bad-query", f"the name of a query: {fault}", place="sql")
        found = _FIRST_WORD.match(sql) if isinstance(sql, str) else None
        word = found[1] if found else ""
        if word.upper() not in ("SELECT", "WITH"):
            raise SettingError(
                "bad-query", f"{name}: a query begins with SELECT or WITH, not with {word or 'nothing'}", place="sql"
            )


def query_name(name: str) -> str:
    """Return what messages call a query."""
    return f"query {name!r}"


def query_error(name: str, message: str) -> DataError:
    """Return a database's message about a query as one sentence."""
    # Inside of parentheses a second statement is a semicolon that cannot be.
    if re.search(r"near [\"']?;|multiple commands|one statement at a time", message):
        message = "must be one statement"
    elif "not authorized" in message or "prohibited" in message:
        message = f"{message}: a query cannot write"
    return DataError("bad-query", " ".join(message.split()), place=query_name(name))


def subquery(sql: str) -> str:
    """Return a query as what can follow FROM; a comment at its end does not swallow the parenthesis."""
    return f"(\n{sql.strip().rstrip(';')}\n)"


def query_table(name: str, columns: Sequence[SourceColumn]) -> SourceTable:
    """Return a query as a table; columns without a name of their own are refused."""
    names = [column.name for column in columns]
    for position, column in enumerate(names):
        if column in names[:position]:
            raise DataError(
                "two-columns-one-name",
                f"two columns are called {column!r}",
                place=query_name(name),
                remedy="give one another name with AS",
            )
        if fault := fault_of(column):
            raise DataError(
                "unusable-name", fault, place=f"{query_name(name)}, column {position + 1}", remedy="give it a name with AS"
            )
    return SourceTable(name, tuple(columns))
