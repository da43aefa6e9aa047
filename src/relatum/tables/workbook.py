"""Excel workbooks: every sheet is a table, read by calamine."""

from __future__ import annotations

import datetime as dt
import errno
import re
import struct
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING
from xml.parsers import expat
from zipfile import ZIP_STORED, BadZipFile, ZipFile

from relatum.errors import DataError, FormatError
from relatum.extras import optional
from relatum.files import temporary_prefix
from relatum.tables.engine import BATCH, Batch, Workspace
from relatum.tables.source import Source, SourceColumn, SourceTable
from relatum.tables.text_form import header_fault, numbered, with_row_name
from relatum.tables.values import infer_types

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

Cell = int | float | str | bool | dt.time | dt.date | dt.datetime | dt.timedelta

_TYPES = {
    int: "BIGINT",
    float: "DOUBLE",
    str: "VARCHAR",
    bool: "BOOLEAN",
    dt.time: "TIME",
    dt.date: "DATE",
    dt.datetime: "TIMESTAMP",
    dt.timedelta: "INTERVAL",
}
_BATCH_CELLS = 1 << 21
_SCAN = 100  # rows that tell whether a first row names all columns
_MOST_WHOLE = 1e17  # floats above are not known to the digit

_MOST_BYTES = 512 << 20  # of all parts, unpacked
_MOST_CELLS = 20_000_000  # from the first cell of a sheet to the last: a reader makes room for all of them
_CHUNK = 1 << 20  # bytes
_VALUES = ("v", "is", "f")
_UNREAD = re.compile(r"(docProps|customXml|xl/(charts|drawings|media|theme|pivot\w*|comments\w*|threadedComments))/")
_REFERENCE = re.compile(r"([A-Za-z]{1,3})([1-9][0-9]{0,6})")
_OLE = b"\xd0\xcf\x11\xe0"  # the container of old formats, and of new ones with a password
_DAMAGES = (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, struct.error, ValueError, expat.ExpatError)


class WorkbookSource(Source):
    """One .xlsx file; a sheet whose first row cannot be a header is no table, unless it is the only one."""

    def __init__(self, workspace: Workspace, path: Path, name: str, header: bool) -> None:
        with optional("python_calamine", extra="excel"):
            import python_calamine
        self.location = str(path)
        self._workspace, self._path, self._has_header = workspace, path, header
        self._error = python_calamine.CalamineError
        self._read: dict[str, list[str]] = {}
        self._classes: dict[str, list[set[type]]] = {}  # of the cells of each column that was read
        self._nameless: dict[str, str] = {}  # by sheet, what a first column without a name is called
        self._folder = tempfile.TemporaryDirectory(prefix=temporary_prefix(), ignore_cleanup_errors=True)
        try:
            copy = Path(self._folder.name) / "copy.xlsx"
            _unpack(path, copy)
            with self._guarded():
                self._workbook = python_calamine.CalamineWorkbook.from_path(str(copy))
                worksheet = python_calamine.SheetTypeEnum.WorkSheet
                listed = [sheet.name for sheet in self._workbook.sheets_metadata if sheet.typ == worksheet]
            self._columns = {sheet: columns for sheet in listed if (columns := self._columns_of(sheet)) is not None}
            self._check()
        except BaseException:
            self._folder.cleanup()
            raise
        # A workbook of one sheet is that table: its sheet is seldom called anything but Sheet1.
        only = len(self._columns) == 1
        self._sheets = {name if only else sheet: sheet for sheet in self._columns}

    def tables(self) -> list[SourceTable]:
        """Return a table for each sheet that holds anything."""
        tables = []
        for name, sheet in self._sheets.items():
            found = self._columns[sheet]
            names = found if isinstance(found, list) else []
            nameless = self._nameless.get(sheet)
            columns = tuple(SourceColumn(column, "", "unknown", column == nameless) for column in names if column)
            tables.append(SourceTable(name, columns, is_readable=isinstance(found, list)))
        return tables

    def stage(self, table: SourceTable, columns: Sequence[SourceColumn], target: str) -> None:
        """Copy a sheet as text; then numbers and dates are found."""
        sheet = self._sheets[table.name]
        names = self._columns[sheet]
        if isinstance(names, FormatError):
            raise names
        with self._guarded():
            values = self._workbook.get_sheet_by_name(sheet)
        indices = [names.index(column.name) for column in columns]
        self._classes[table.name] = [set() for _ in columns]
        nameless = [index for index, name in enumerate(names) if not name]
        width = max(len(columns), 1)
        batches = self._batches(sheet, values, indices, nameless, self._classes[table.name])
        with self._guarded():
            self._workspace.fill(f"{target}_text", width, batches, values.height, table.name)
        infer_types(self._workspace, f"{target}_text", target, [True] * width, table.name)
        self._read[table.name] = [column.name for column in columns]

    def close(self) -> None:
        """Close the copy and remove it."""
        self._workbook.close()
        self._folder.cleanup()

    def _check(self) -> None:
        faults = [found for found in self._columns.values() if isinstance(found, FormatError)]
        if not self._columns:
            raise FormatError("empty-file", self._path, None, "empty: not one sheet has a value")
        if len(faults) == len(self._columns):
            raise faults[0]

    def _columns_of(self, sheet: str) -> list[str] | FormatError | None:
        """Return the columns of a sheet, why it is no table, or None if it is empty; unused columns have no name."""
        with self._guarded():
            rows = self._workbook.get_sheet_by_name(sheet)
        if not rows.height:
            return None
        if not self._has_header:
            return numbered(rows.width)
        with self._guarded():
            first, *others = (row for _, row in islice(_rows(rows), _SCAN))
        names = [(_text(value) or "").strip() for value in first]
        used = [any(row[index] != "" for row in others) for index in range(len(names))]
        if used[0] and with_row_name(names) != names:
            names = with_row_name(names)
            self._nameless[sheet] = names[0]
        for position, (name, is_used) in enumerate(zip(names, used, strict=True), start=1):
            if not name and is_used:
                return self._fault(sheet, f"column {position} has values and no name in the first row")
        fault = header_fault([name for name in names if name])
        return self._fault(sheet, fault) if fault else names

    def value_types(self, table: SourceTable) -> Mapping[str, str]:
        """Return the types of columns by the kinds of their cells."""
        found = {}
        for name, classes in zip(self._read[table.name], self._classes[table.name], strict=True):
            kinds = classes - {int} if float in classes else classes - {dt.date} if dt.datetime in classes else classes
            found[name] = _TYPES[next(iter(kinds))] if len(kinds) == 1 else "VARCHAR"
        return found

    def losses(self, table: SourceTable) -> Mapping[str, str]:
        """Return which columns have cells of several kinds."""
        found = zip(self._read[table.name], self._classes[table.name], strict=True)
        return {
            name: "cells of several kinds are kept as text"
            for name, kinds in found
            if len(kinds) > 1 and kinds not in ({int, float}, {dt.date, dt.datetime})
        }

    def _batches(
        self,
        sheet: str,
        values: CalamineSheet,
        indices: Sequence[int],
        nameless: Sequence[int],
        classes: Sequence[set[type]],
    ) -> Iterator[Batch]:
        filled = _rows(values)
        if self._has_header:
            next(filled)
        size = max(1, min(BATCH, _BATCH_CELLS // max(values.width, 1)))
        while batch := list(islice(filled, size)):
            for number, row in batch:
                if any(row[index] != "" for index in nameless):
                    raise self._fault(sheet, f"row {number}: a value in a column that has no name in the first row")
            for index, seen in zip(indices, classes, strict=True):
                seen.update(_class(row[index]) for _, row in batch if row[index] != "")
            yield [[_text(row[index]) for _, row in batch] for index in indices] or [[None] * len(batch)]

    def _fault(self, sheet: str, reason: str) -> FormatError:
        return FormatError("bad-sheet", self._path, None, f"sheet {sheet!r}: {reason}")

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Yield; what the library cannot read is one sentence, also where it stops as Rust does."""
        try:
            yield
        except DataError:
            raise
        except BaseException as error:
            if not isinstance(error, (self._error, OSError, ValueError)) and type(error).__name__ != "PanicException":
                raise
            reason = " ".join(str(error).split()) or type(error).__name__
            raise FormatError(
                "not-a-workbook", self._path, None, f"not an .xlsx file, or a damaged one ({reason})"
            ) from None


def _unpack(path: Path, target: Path) -> None:
    """Write the parts of an .xlsx file that hold its values to `target`, none of them packed; refuse what is too large.

    Whoever reads the copy finds what was counted here, whatever sizes the file claims to have.
    """
    with path.open("rb") as file:
        if file.read(4) == _OLE:
            raise FormatError(
                "locked-workbook",
                path,
                None,
                "has a password, or is an old .xls file",
                remedy="save it as .xlsx without a password",
            )
    try:
        with ZipFile(path) as archive, ZipFile(target, "w", ZIP_STORED) as copy:
            parts = [each for each in archive.infolist() if each.filename.lower().endswith((".xml", ".rels"))]
            parts = [each for each in parts if not _UNREAD.match(each.filename)]
            if sum(part.file_size for part in parts) > _MOST_BYTES:  # zipfile reads no part beyond its size
                raise _too_large(path, f"more than {_MOST_BYTES >> 20} MiB unpacked")
            for part in parts:
                with archive.open(part) as packed, copy.open(part.filename, "w") as unpacked:
                    _copy_part(path, part.filename, packed, unpacked)
    except (*_DAMAGES, OSError) as error:
        if isinstance(error, FormatError) or (isinstance(error, OSError) and error.errno != errno.EINVAL):
            raise  # an offset before the file, which is EINVAL, is the file's fault
        raise FormatError(
            "not-a-workbook", path, None, f"not an .xlsx file, or a damaged one ({error or type(error).__name__})"
        ) from None


def _copy_part(path: Path, name: str, packed: IO[bytes], unpacked: IO[bytes]) -> None:
    parser, cells = expat.ParserCreate(), _Cells()
    parser.StartElementHandler = cells.start
    parser.StartDoctypeDeclHandler = _refuse
    while chunk := packed.read(_CHUNK):
        parser.Parse(chunk, False)
        unpacked.write(chunk)
        if cells.rows * cells.columns > _MOST_CELLS:
            what = f"{cells.rows:,} rows of {cells.columns:,} columns in {name!r}"
            raise _too_large(path, f"{what} are more than {_MOST_CELLS:,} cells")
    parser.Parse(b"", True)


def _refuse(*_: object) -> None:
    raise ValueError("a document type is declared, which no spreadsheet has")


def _too_large(path: Path, what: str) -> FormatError:
    return FormatError("over-limit", path, None, f"{what}", remedy="save the sheet as CSV, which may be of any size")


class _Cells:
    """How far the cells of a sheet reach that have something in them: one may be there for its style alone."""

    def __init__(self) -> None:
        self.rows = self.columns = self._row = self._column = 0
        self._is_open = False  # there is a cell that nothing was found in yet

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Note where an element begins; rows and cells without a position are beside the last one."""
        element = tag.rpartition(":")[2]
        if element == "row":
            self._row, self._column, self._is_open = int(attributes.get("r", self._row + 1)), 0, False
        elif element == "c":
            self._column, self._is_open = self._column + 1, True
            if (reference := attributes.get("r")) is not None:
                self._row, self._column = _position(reference)
        elif element in _VALUES and self._is_open:
            self.rows, self.columns = max(self.rows, self._row), max(self.columns, self._column)
            self._is_open = False


def _position(reference: str) -> tuple[int, int]:
    """Return row and column, from 1, of a cell called as `AB12`."""
    found = _REFERENCE.fullmatch(reference)
    if found is None:
        raise ValueError(f"there is no cell {reference[:20]!r}")
    column = 0
    for letter in found[1].upper():
        column = 26 * column + ord(letter) - 64
    return int(found[2]), column


def _rows(sheet: CalamineSheet) -> Iterator[tuple[int, list[Cell]]]:
    """Yield the rows that hold anything, each with its number, from the first column that holds anything."""
    first = (sheet.start or (0, 0))[1]
    for number, row in enumerate(sheet.iter_rows(), start=1):
        if any(value != "" for value in row):
            yield number, row[first:] if len(row) > sheet.width else row


def _class(value: object) -> type:
    """Return what kind of cell one is: numbers that are whole are told from others, though a workbook does not."""
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _MOST_WHOLE
    return int if is_whole else type(value)


def _text(value: object) -> str | None:
    """Return the value of a cell: numbers in their shortest form, dates as ISO 8601 writes them; empty is no value."""
    match value:
        case str():
            return value or None
        case bool():
            return "true" if value else "false"
        case float():
            return str(int(value)) if value.is_integer() and abs(value) < _MOST_WHOLE else repr(value)
        case dt.datetime():
            return value.isoformat(" ")
        case dt.date() | dt.time():
            return value.isoformat()
        case dt.timedelta():
            minutes, seconds = divmod(round(value.total_seconds()), 60)
            return f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"
        case _:
            return str(value)
