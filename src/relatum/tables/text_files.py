"""CSV, TSV and JSON lines, read and written."""

from __future__ import annotations

import csv
import json
import math
import re
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from glob import escape
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from relatum.datasets.text_lines import require_columns, require_unpacked, whole_lines
from relatum.errors import DataError, FormatError, RelatumWarning
from relatum.files import temporary_prefix
from relatum.tables.engine import BATCH, Workspace, WorkspaceError, literal
from relatum.tables.source import Source, SourceColumn, SourceTable
from relatum.tables.table import Column, Table, Value, free_name
from relatum.tables.text_form import TextForm, header_fault, is_gzip, numbered, opened, text_chunks, with_row_name
from relatum.tables.values import infer_types

_DELIMITERS = ",;\t|"
_LONGEST_HEADER = 1 << 20
# Text that a spreadsheet takes for a formula when it opens a CSV file, and may run.
_STARTS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class DelimitedSource(Source):
    """A text file of one table; the delimiter is the one given, or that of comma, semicolon, tab and bar in its header."""

    def __init__(self, workspace: Workspace, path: Path, name: str, form: TextForm | None = None) -> None:
        self.location = str(path)
        self._workspace, self._path, self._name = workspace, path, name
        self._form = form or TextForm()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._delimiter, header = _read_header(path, self._form)
        self._header = with_row_name(header)
        self._nameless = self._header[:1] if header != self._header else []

    def tables(self) -> list[SourceTable]:
        """Return the only table."""
        columns = (SourceColumn(name, "", "unknown", name in self._nameless) for name in self._header)
        return [SourceTable(self._name, tuple(columns))]

    def stage(self, table: SourceTable, columns: Sequence[SourceColumn], target: str) -> None:
        """Read the whole file as text; then numbers and dates are found."""
        indices = [table.columns.index(column) for column in columns]
        declared = ", ".join(f"'f{index}': 'VARCHAR'" for index in range(len(self._header)))
        chosen = ", ".join(f"f{index} AS c{number}" for number, index in enumerate(indices))
        path = self._in_utf8()
        if is_gzip(path):
            require_unpacked(path)  # what DuckDB reads has no end of its own
        sql = f"""CREATE TABLE {target}_text AS SELECT {chosen or "NULL AS c0"} FROM read_csv(
            {literal(escape(str(path.resolve())))}, auto_detect = false, header = false, skip = {int(self._form.header)},
            delim = {literal(self._delimiter)}, quote = '"', escape = '"',
            columns = {{{declared}}}, strict_mode = true, null_padding = false, ignore_errors = false,
            hive_partitioning = false, compression = '{"gzip" if is_gzip(path) else "none"}')"""  # noqa: S608
        try:
            self._workspace.run(sql, self._path.name)
        except WorkspaceError as error:
            raise _explained(self._path, error.message, self._form.header) from None
        infer_types(self._workspace, f"{target}_text", target, [True] * len(columns), self._path.name)

    def close(self) -> None:
        """Remove the copy in UTF-8, if there is one."""
        if self._folder is not None:
            self._folder.cleanup()

    def _in_utf8(self) -> Path:
        """Return the file, or a copy of it in UTF-8, which is all that DuckDB reads without an extension."""
        if self._form.is_utf8:
            return self._path
        if self._folder is None:
            folder = tempfile.TemporaryDirectory(prefix=temporary_prefix())
            self._folder = folder
            with (Path(folder.name) / "copy.csv").open("w", encoding="utf-8", newline="") as copy:
                copy.writelines(text_chunks(self._path, self._form))
        return Path(self._folder.name) / "copy.csv"


def _read_header(path: Path, form: TextForm) -> tuple[str, list[str]]:
    """Return the delimiter and the names of the columns: those of the first line, or numbered ones."""
    text = _start(path) if form.is_utf8 else next(text_chunks(path, form), "")[:_LONGEST_HEADER]
    if not text.strip():
        raise FormatError("empty-file", path, None, "empty: not even a header" if form.header else "empty: not one row")
    lines = [f"{line}\n" for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    if "\0" in lines[0]:
        raise FormatError(
            "nul-bytes", path, 1, "holds NUL bytes: not a text file in UTF-8" if form.is_utf8 else "holds NUL bytes"
        )
    delimiter = form.character or max(_DELIMITERS, key=lines[0].count)
    try:
        # A value of the first row may hold line ends, a name of the header may not.
        names = next(csv.reader(lines[:1] if form.header else lines, delimiter=delimiter, strict=True), [])
    except csv.Error as error:
        raise FormatError("unreadable-text", path, 1, f"{'header' if form.header else 'first row'}: {error}") from None
    if len(names) < 2:
        by = f"{delimiter!r}" if form.character else "comma, semicolon, tab or bar"
        what = "the columns of a header" if form.header else "columns"
        raise FormatError(
            "one-column", path, 1, f"only one column: {what} are set apart by {by}", remedy="set delimiter to another"
        )
    if not form.header:
        return delimiter, numbered(len(names))
    if fault := header_fault(with_row_name(names)):
        raise FormatError("unusable-name", path, 1, fault)
    return delimiter, names


def _start(path: Path) -> str:
    """Return the first line in UTF-8 whole, and after it what is valid of a megabyte."""
    with opened(path) as file:
        start = file.read(_LONGEST_HEADER)
    try:
        return start.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        valid = start[: error.start]
        if b"\n" not in valid and b"\r" not in valid:
            hint = "save the file as UTF-8, or set encoding to its own"
            raise FormatError("not-utf8", path, 1, f"not valid UTF-8 at byte {error.start}; {hint}") from None
        return valid.decode("utf-8-sig", "ignore")


def _explained(path: Path, message: str, header: bool) -> FormatError:
    """Return DuckDB's error, which runs over many lines, as one sentence with its line."""
    found = re.search(r"CSV Error on Line: (\d+)", message)
    line = int(found[1]) if found else None
    if counts := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message):
        expected = f"the header names {counts[1]} columns" if header else f"the first row has {counts[1]}"
        return FormatError("too-few-columns", path, line, f"{counts[2]} fields, but {expected}")
    if "nvalid unicode" in message or "not utf-8" in message:
        return FormatError(
            "wrong-encoding", path, line, "not valid UTF-8", remedy="save the file as UTF-8, or set encoding to its own"
        )
    if "unterminated quote" in message:
        return FormatError("open-quote", path, line, "a quote is opened and never closed")
    first, *more = message.split("\n")
    return FormatError(
        "unreadable-text", path, line, more[1] if line and len(more) > 1 else first.partition(" Error: ")[2] or first
    )


Cells = dict[str, str | None]


class JsonFactsSource(Source):
    """One file; a relation is a table, and every value in it names an entity.

    A fact is `["sold", "drew", "alex", "book"]`, `{"relation": "sold", "entities": ["drew", "alex", "book"]}` or
    `{"relation": "sold", "seller": "drew", "buyer": "alex", "item": "book"}`. A role that a line lacks is NULL there.
    """

    def __init__(self, workspace: Workspace, path: Path, relation_key: str, number: int) -> None:
        self.location = str(path)
        self._workspace, self._path, self._key, self._number = workspace, path, relation_key, number
        self._relations: dict[str, list[str]] = {}  # the columns of each
        self._positional: dict[str, bool] = {}
        waiting: dict[str, list[Cells]] = {}
        for relation, cells in self._facts():
            rows = waiting.setdefault(relation, [])
            rows.append(cells)
            if len(rows) >= BATCH:
                self._store(relation, waiting.pop(relation))
        for relation, rows in waiting.items():
            self._store(relation, rows)
        if not self._relations:
            raise FormatError("empty-file", path, None, "empty: not one fact")

    def tables(self) -> list[SourceTable]:
        """Return a table for each relation, in the order in which they first occur."""
        return [
            SourceTable(
                name, tuple(SourceColumn(role, "json", "text") for role in roles), (), (), True, self._positional[name]
            )
            for name, roles in self._relations.items()
        ]

    def stage(self, table: SourceTable, columns: Sequence[SourceColumn], target: str) -> None:
        """Make a view of what was read."""
        indices = [table.columns.index(column) for column in columns]
        chosen = ", ".join(f"c{index} AS c{number}" for number, index in enumerate(indices)) or "NULL AS c0"
        self._workspace.run(f"CREATE VIEW {target} AS SELECT {chosen} FROM {self._stored(table.name)}")  # noqa: S608

    def _stored(self, relation: str) -> str:
        return f"json_{self._number}_{list(self._relations).index(relation)}"

    def _store(self, relation: str, rows: list[Cells]) -> None:
        table, roles = self._stored(relation), self._relations[relation]
        self._workspace.run(f"CREATE TABLE IF NOT EXISTS {table} (c0 VARCHAR)")
        for index in range(len(roles)):
            self._workspace.run(f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS c{index} VARCHAR")
        self._workspace.append(table, [[row.get(role) for row in rows] for role in roles], self.location)

    def _facts(self) -> Iterator[tuple[str, Cells]]:
        line = 0
        for chunk in whole_lines(self._path):
            for raw in chunk.split(b"\n")[:-1]:
                line += 1
                if not raw.strip():
                    continue
                try:
                    yield self._fact(raw)
                except UnicodeDecodeError as error:
                    raise FormatError("not-utf8", self._path, line, f"not valid UTF-8 at byte {error.start}") from None
                except RecursionError:
                    raise FormatError("bad-json-line", self._path, line, "nested too deeply") from None
                except json.JSONDecodeError as error:
                    raise FormatError(
                        "not-json", self._path, line, f"not JSON: {error.msg} at character {error.pos}"
                    ) from None
                except DataError as error:
                    raise FormatError.of(self._path, line, error) from None
                except ValueError as error:
                    raise FormatError("bad-json-line", self._path, line, str(error)) from None

    def _fact(self, raw: bytes) -> tuple[str, Cells]:
        value = json.loads(raw.decode(), object_pairs_hook=_object, parse_constant=_refuse)
        if isinstance(value, dict) and self._key not in value:
            raise DataError(
                "no-relation-key",
                f"no key {self._key!r} for the relation",
                remedy="set relation_key to the key that names it",
            )
        relation: Any
        rest: Any
        if isinstance(value, list) and value:
            relation, rest = value[0], value[1:]
        elif isinstance(value, dict):
            relation, rest = value.pop(self._key), value
            if len(rest) == 1 and isinstance(only := next(iter(rest.values())), list):
                rest = only
        else:
            raise DataError("not-a-fact", "a fact is a list that begins with its relation, or an object")
        if not isinstance(relation, str):
            raise DataError("bad-json-line", f"relation {relation!r} is not a text")
        if not rest:
            raise DataError("no-entities", f"relation {relation!r} has no entities")
        is_list = isinstance(rest, list)
        cells = {str(role): _text(relation, role, entity) for role, entity in (enumerate(rest) if is_list else rest.items())}
        return self._known(relation, cells, is_list)

    def _known(self, relation: str, cells: Cells, positional: bool) -> tuple[str, Cells]:
        """Return the fact; its roles are those of the relation from now on."""
        roles = self._relations.setdefault(relation, list(cells))
        if self._positional.setdefault(relation, positional) != positional:
            raise DataError("bad-json-line", f"relation {relation!r} has roles in some lines and none in others")
        if positional and len(cells) != len(roles):
            raise DataError(
                "two-arities", f"relation {relation!r} has {len(cells)} entities here but {len(roles)} in an earlier line"
            )
        known = set(roles)
        roles.extend(role for role in cells if role not in known)
        require_columns(len(roles), f"relation {relation!r} has ")
        return relation, cells


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise DataError("bad-json-line", "an object names a key twice")
    return found


def _refuse(constant: str) -> None:
    raise DataError("bad-json-line", f"{constant} is not JSON")


def _text(relation: str, role: object, value: object) -> str | None:
    """Return a value as the name of an entity: numbers in their shortest form."""
    if value is None:
        return None
    if isinstance(value, str):
        value.encode()  # half of a surrogate pair is no character
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    raise DataError("nested-entity", "a nested value cannot name an entity", place=f"{relation!r}, {role!r}")


def write_json_lines(tables: Iterable[Table], path: Path) -> None:
    """Write tables as one object a row, which says what relation it is of."""
    with path.open("x", encoding="utf-8", newline="\n") as file:
        for table in tables:
            names = [free_name("relation", table.names), *table.names]
            for row in table.rows(_in_json):
                file.write(json.dumps(dict(zip(names, (table.relation, *row), strict=True)), ensure_ascii=False) + "\n")


def write_delimited(tables: Iterable[Table], path: Path, delimiter: str, *, escape_formulas: bool = False) -> None:
    """Write one table, or its parts as they come, with a header; no value is an empty field."""
    parts = iter(tables)
    first = next(parts)
    rows = (row for part in chain([first], parts) for row in part.rows(_in_text))
    with path.open("x", encoding="utf-8", newline="") as file:
        writer = csv.writer(_LineFeeds(file), delimiter=delimiter, lineterminator="\r\n")
        writer.writerows(_without_formulas([tuple(first.names)]) if escape_formulas else [first.names])
        writer.writerows(_without_formulas(rows) if escape_formulas else _noticed(rows))


def _in_json(column: Column) -> Sequence[Value]:
    """Return values as JSON has them, which knows no number that is not finite."""
    if column.form != "number":
        return column.values
    return [value if value is None or math.isfinite(float(value)) else str(value) for value in column.values]


def _in_text(column: Column) -> Sequence[Value]:
    """Return values as text files have them, truths in words."""
    if column.type != "BOOLEAN":
        return column.values
    return [None if value is None else str(value).lower() for value in column.values]


class _LineFeeds:
    """A file that ends lines with a line feed, where the writer says carriage return too, so that it quotes both."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, row: str) -> None:
        """Write a row, which comes as a whole."""
        self._file.write(row.removesuffix("\r\n") + "\n")


def _without_formulas(rows: Iterable[tuple[Value, ...]]) -> Iterator[tuple[Value, ...]]:
    """Yield rows whose texts no spreadsheet takes for formulas: an apostrophe stands before those that it would."""
    for row in rows:
        yield tuple(f"'{value}" if _is_formula(value) else value for value in row)


def _noticed(rows: Iterable[tuple[Value, ...]]) -> Iterator[tuple[Value, ...]]:
    """Yield rows as they are; at the end warn of the texts that a spreadsheet would take for formulas."""
    found = 0
    for row in rows:
        found += sum(map(_is_formula, row))
        yield row
    if found:
        warnings.warn(
            f"texts written that a spreadsheet would take for formulas: {found:,}; set escape_formulas to disarm them",
            RelatumWarning,
            stacklevel=2,
        )


def _is_formula(value: Value) -> bool:
    return isinstance(value, str) and value.startswith(_STARTS) and not _NUMBER.fullmatch(value)
