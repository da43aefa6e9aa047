"""Queries in SQL that are tables of an import: what they have to look like, and the columns that they give."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from relatum.data.vocabulary import fault_of
from relatum.errors import DataError, SettingError
from relatum.tables.source import SourceColumn, SourceTable

__all__ = ["check_queries", "query_error", "query_name", "query_table", "subquery"]

_FIRST_WORD = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*(\w*)", re.DOTALL)


def check_queries(queries: Mapping[str, str]) -> None:
    """Refuse queries that are not a SELECT by their first word; whether there is more than one, the database knows."""
    if not isinstance(queries, Mapping):
        raise SettingError("sql: must be queries by the names of their tables")
    for name, sql in queries.items():
        if fault := fault_of(name):
            raise SettingError(f"sql: the name of a query: {fault}")
        found = _FIRST_WORD.match(sql) if isinstance(sql, str) else None
        word = found[1] if found else ""
        if word.upper() not in ("SELECT", "WITH"):
            raise SettingError(f"sql: {name}: a query begins with SELECT or WITH, not with {word or 'nothing'}")


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
    return DataError(f"{query_name(name)}: {' '.join(message.split())}")


def subquery(sql: str) -> str:
    """Return a query as what can follow FROM; a comment at its end does not swallow the parenthesis."""
    return f"(\n{sql.strip().rstrip(';')}\n)"


def query_table(name: str, columns: Sequence[SourceColumn]) -> SourceTable:
    """Return a query as a table; columns without a name of their own are refused."""
    names = [column.name for column in columns]
    for position, column in enumerate(names):
        if column in names[:position]:
            raise DataError(f"{query_name(name)}: two columns are called {column!r}; give one another name with AS")
        if fault := fault_of(column):
            raise DataError(f"{query_name(name)}, column {position + 1}: {fault}; give it a name with AS")
    return SourceTable(name, tuple(columns))
