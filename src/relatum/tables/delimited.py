"""CSV and TSV files with a header, plain or gzipped."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Sequence
from glob import escape
from pathlib import Path

from relatum.data.vocabulary import fault_of
from relatum.errors import FormatError
from relatum.tables.engine import Workspace, WorkspaceError, literal
from relatum.tables.narrowing import narrow
from relatum.tables.source import SourceColumn, SourceTable

__all__ = ["DelimitedSource"]

_DELIMITERS = ",;\t|"
_LONGEST_HEADER = 1 << 20


class DelimitedSource:
    """A text file whose first line names its columns; the delimiter is the one of comma, semicolon, tab and bar in it."""

    def __init__(self, workspace: Workspace, path: Path, name: str) -> None:
        self.origin = str(path)
        self._workspace, self._path, self._name = workspace, path, name
        self._delimiter, self._header = _read_header(path)

    def tables(self) -> list[SourceTable]:
        """Return the only table."""
        return [SourceTable(self._name, tuple(SourceColumn(name, "", "unknown") for name in self._header))]

    def stage(self, table: SourceTable, columns: Sequence[SourceColumn], target: str) -> None:
        """Read the whole file as text; then numbers and dates are found."""
        places = [table.columns.index(column) for column in columns]
        declared = ", ".join(f"'f{place}': 'VARCHAR'" for place in range(len(self._header)))
        chosen = ", ".join(f"f{place} AS c{number}" for number, place in enumerate(places))
        file = literal(escape(str(self._path.resolve())))
        sql = f"""CREATE TABLE {target}_text AS SELECT {chosen or "NULL AS c0"} FROM read_csv({file},
            auto_detect = false, header = false, skip = 1, delim = '{self._delimiter}', quote = '"', escape = '"',
            columns = {{{declared}}}, strict_mode = true, null_padding = false, ignore_errors = false,
            hive_partitioning = false, compression = '{"gzip" if _is_packed(self._path) else "none"}')"""  # noqa: S608
        try:
            self._workspace.run(sql, self._path.name)
        except WorkspaceError as error:
            raise _explained(self._path, error.message) from None
        narrow(self._workspace, f"{target}_text", target, [True] * len(columns), self._path.name)

    def close(self) -> None:
        """Nothing is held open."""


def _read_header(path: Path) -> tuple[str, list[str]]:
    """Return the delimiter and the names of the columns."""
    try:
        with path.open("rb") as raw:
            file = gzip.GzipFile(fileobj=raw) if _is_packed(path) else raw
            start = file.read(_LONGEST_HEADER)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FormatError(path, None, f"damaged gzip file ({error})") from None
    if not start.strip():
        raise FormatError(path, None, "empty: not even a header")
    line = start.replace(b"\r\n", b"\n").replace(b"\r", b"\n").partition(b"\n")[0]
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(path, 1, f"not valid UTF-8 at byte {error.start}; save the file as UTF-8") from None
    if "\0" in text:
        raise FormatError(path, 1, "holds NUL bytes: not a text file in UTF-8")
    delimiter = max(_DELIMITERS, key=text.count)
    try:
        names = next(csv.reader([text], delimiter=delimiter, strict=True), [])
    except csv.Error as error:
        raise FormatError(path, 1, f"header: {error}") from None
    _check(path, names)
    return delimiter, names


def _check(path: Path, names: list[str]) -> None:
    if len(names) < 2:
        raise FormatError(path, 1, "only one column: the columns of a header are set apart by comma, semicolon, tab or bar")
    for place, name in enumerate(names, start=1):
        if fault := fault_of(name):
            raise FormatError(path, 1, f"column {place} of the header: {fault}")
        if re.fullmatch(r"[-+]?[0-9][0-9.,eE+-]*", name.strip()):
            raise FormatError(path, 1, f"column {place} is called {name!r}, a number: is there no header?")
        if name in names[: place - 1]:
            raise FormatError(path, 1, f"two columns are called {name!r}")


def _explained(path: Path, message: str) -> FormatError:
    """Return DuckDB's error, which runs over many lines, as one sentence with its place."""
    found = re.search(r"CSV Error on Line: (\d+)", message)
    line = int(found[1]) if found else None
    if counts := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message):
        return FormatError(path, line, f"{counts[2]} fields, but the header names {counts[1]} columns")
    if "nvalid unicode" in message or "not utf-8" in message:
        return FormatError(path, line, "not valid UTF-8; save the file as UTF-8")
    if "unterminated quote" in message:
        return FormatError(path, line, "a quote is opened and never closed")
    first, *more = message.split("\n")
    return FormatError(path, line, more[1] if line and len(more) > 1 else first.partition(" Error: ")[2] or first)


def _is_packed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"
