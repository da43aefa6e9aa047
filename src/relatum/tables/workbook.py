"""Excel workbooks: every sheet is a table, read by calamine."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from relatum.errors import DataError, FormatError
from relatum.extras import optional
from relatum.files import temporary_prefix
from relatum.tables.engine import BATCH, Batch, Workspace
from relatum.tables.source import SourceColumn, SourceTable
from relatum.tables.text_form import header_fault, numbered, with_row_name
from relatum.tables.values import infer_types
from relatum.tables.workbook_copy import checked_copy

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

__all__ = ["WorkbookSource"]

Cell = int | float | str | bool | dt.time | dt.date | dt.datetime | dt.timedelta

_BATCH_CELLS = 1 << 21
_SCAN = 100  # rows that tell whether a first row names all columns
_MOST_WHOLE = 1e17  # floats above are not known to the digit


class WorkbookSource:
    """One .xlsx file; a sheet whose first row cannot be a header is no table, unless it is the only one."""

    def __init__(self, workspace: Workspace, path: Path, name: str, header: bool) -> None:
        with optional("python_calamine", extra="excel"):
            import python_calamine
        self.location = str(path)
        self._workspace, self._path, self._has_header = workspace, path, header
        self._error = python_calamine.CalamineError
        self._nameless: dict[str, str] = {}  # by sheet, what a first column without a name is called
        self._folder = tempfile.TemporaryDirectory(prefix=temporary_prefix(), ignore_cleanup_errors=True)
        try:
            copy = Path(self._folder.name) / "copy.xlsx"
            checked_copy(path, copy)
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
        nameless = [index for index, name in enumerate(names) if not name]
        width = max(len(columns), 1)
        batches = self._batches(sheet, values, indices, nameless)
        with self._guarded():
            self._workspace.fill(f"{target}_text", width, batches, values.height, table.name)
        infer_types(self._workspace, f"{target}_text", target, [True] * width, table.name)

    def close(self) -> None:
        """Close the copy and remove it."""
        self._workbook.close()
        self._folder.cleanup()

    def _check(self) -> None:
        faults = [found for found in self._columns.values() if isinstance(found, FormatError)]
        if not self._columns:
            raise FormatError(self._path, None, "empty: not one sheet has a value")
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

    def _batches(
        self, sheet: str, values: CalamineSheet, indices: Sequence[int], nameless: Sequence[int]
    ) -> Iterator[Batch]:
        filled = _rows(values)
        if self._has_header:
            next(filled)
        size = max(1, min(BATCH, _BATCH_CELLS // max(values.width, 1)))
        while batch := list(islice(filled, size)):
            for number, row in batch:
                if any(row[index] != "" for index in nameless):
                    raise self._fault(sheet, f"row {number}: a value in a column that has no name in the first row")
            yield [[_text(row[index]) for _, row in batch] for index in indices] or [[None] * len(batch)]

    def _fault(self, sheet: str, reason: str) -> FormatError:
        return FormatError(self._path, None, f"sheet {sheet!r}: {reason}")

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
            raise FormatError(self._path, None, f"not an .xlsx file, or a damaged one ({reason})") from None


def _rows(sheet: CalamineSheet) -> Iterator[tuple[int, list[Cell]]]:
    """Yield the rows that hold anything, each with its number, from the first column that holds anything."""
    first = (sheet.start or (0, 0))[1]
    for number, row in enumerate(sheet.iter_rows(), start=1):
        if any(value != "" for value in row):
            yield number, row[first:] if len(row) > sheet.width else row


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
