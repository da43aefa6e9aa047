"""What databases on servers have in common: URLs without secrets, connections that fail, and rows that come as text."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from relatum.errors import DataError
from relatum.tables.engine import CsvRows, Workspace
from relatum.tables.source import Kind, Source, SourceColumn, SourceTable
from relatum.tables.value_types import Database, value_type
from relatum.tables.values import stage_text

PATIENCE = 10  # seconds to wait for a connection
PIECE = 1 << 24  # bytes of rows that are brought into the workspace together
_KNOWN: dict[Kind, str] = {"text": "VARCHAR"}


def without_password(url: str) -> str:
    """Return the URL of a database with user, host, port and name, and nothing that could be a secret."""
    scheme, _, whole = url.partition("://")
    main = re.split("[?#]", whole)[0]
    before, at, rest = main.rpartition("@")
    # A password whose odd characters are not escaped would be read as part of the host, and so shown in messages.
    if set("/@") & set(before) or (not at and "@" in whole):
        raise DataError(
            "url-characters",
            f"{scheme}://...: in a URL, write / as %2F, @ as %40, ? as %3F and # as %23 in user and password",
        )
    user = before.partition(":")[0]
    return f"{scheme}://{user}@{rest}" if user else f"{scheme}://{rest}"


def as_sentence(what: str, error: Exception) -> DataError:
    """Return an error of a server, which no driver puts a password into, as one sentence."""
    # PyMySQL's have a number before the text.
    text = str(error.args[1] if len(error.args) == 2 and isinstance(error.args[0], int) else error)
    return DataError("database-refused", " ".join(text.split()) or type(error).__name__, place=what)


def gathered(pieces: Iterable[CsvRows]) -> Iterator[CsvRows]:
    """Yield rows in batches of about PIECE bytes."""
    text, rows, longest = bytearray(), 0, 0
    for piece in pieces:
        text += piece.text
        rows, longest = rows + piece.rows, max(longest, piece.longest)
        if len(text) >= PIECE:
            yield CsvRows(text, rows, longest)
            text, rows, longest = bytearray(), 0, 0
    if rows:
        yield CsvRows(text, rows, longest)


class ServerSource(Source):
    """A database on a server, whose tables are copied as text; `errors` are those of its driver."""

    database: Database

    def __init__(self, workspace: Workspace, location: str, errors: tuple[type[Exception], ...]) -> None:
        self.location = location
        self._workspace, self._errors = workspace, errors
        self._sql_names: dict[str, str] = {}

    def stage(self, table: SourceTable, columns: Sequence[SourceColumn], target: str) -> None:
        """Copy a table as text; then numbers and dates are found."""
        sql_name = self._sql_names[table.name]
        chosen = ", ".join(map(self.text_of, columns)) or "NULL"
        try:
            total = self.rows(f"SELECT count(*) FROM {sql_name}")[0][0]  # noqa: S608
            batches = self.batches(f"SELECT {chosen} FROM {sql_name}")  # noqa: S608
            stage_text(self._workspace, table.name, columns, batches, int(total), target)
        except self._errors as error:
            raise self._error_of(error, f"{self.location}, table {table.name!r}") from None

    def value_types(self, table: SourceTable) -> Mapping[str, str]:
        """Return the types that columns are declared with."""
        found = {one.name: value_type(self.database, one.type) or _KNOWN.get(one.kind) for one in table.columns}
        return {name: kind for name, kind in found.items() if kind is not None}

    @abstractmethod
    def text_of(self, column: SourceColumn) -> str:
        """Return the SQL for the text of a column's value."""

    @abstractmethod
    def rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""

    @abstractmethod
    def batches(self, sql: str) -> Iterator[CsvRows]:
        """Yield the rows of a query, all text, in batches of about PIECE bytes."""

    @abstractmethod
    def is_lost(self) -> bool:
        """Return whether the connection broke."""

    def _ask(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query about tables, not of one."""
        try:
            return self.rows(sql, *parameters)
        except self._errors as error:
            raise self._error_of(error, self.location) from None

    def _error_of(self, error: Exception, what: str) -> DataError:
        if self.is_lost():
            return DataError(
                "server-failed",
                "the connection was lost before all was read",
                place=what,
                remedy="try again once the server answers",
            )
        return as_sentence(what, error)
