"""A workbook looked at before it is read: what is claimed in it is counted, and what was counted is what will be read."""

from __future__ import annotations

import errno
import re
import struct
import zlib
from pathlib import Path
from typing import IO
from xml.parsers import expat
from zipfile import ZIP_STORED, BadZipFile, ZipFile

from relatum.errors import FormatError

__all__ = ["checked_copy"]

_MOST_PARTS = 10_000
_MOST_BYTES = 512 << 20  # of all parts, unpacked
_MOST_CELLS = 20_000_000  # from the first cell of a sheet to the last: a reader makes room for all of them
_CHUNK = 1 << 20
_VALUES = ("v", "is", "f")
_PARTS = (".xml", ".rels")
_UNREAD = re.compile(r"(docProps|customXml|xl/(charts|drawings|media|theme|pivot\w*|comments\w*|threadedComments))/")
_REFERENCE = re.compile(r"([A-Za-z]{1,3})([1-9][0-9]{0,6})")
_OLE = b"\xd0\xcf\x11\xe0"  # the container of old formats, and of new ones with a password
_ZIP_ERRORS = (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OverflowError, struct.error, ValueError)


def checked_copy(path: Path, target: Path) -> None:
    """Write the parts of an .xlsx file that hold its values to `target`, none of them packed; refuse what is too large.

    Whoever reads the copy finds what was counted here, however the sizes and names in the file were forged.
    """
    with path.open("rb") as file:
        if file.read(4) == _OLE:
            raise FormatError(path, None, "has a password, or is an old .xls file; save it as .xlsx without a password")
    try:
        with ZipFile(path) as archive, ZipFile(target, "w", ZIP_STORED) as copy:
            _copy_parts(path, archive, copy)
    except FormatError:
        raise
    except (*_ZIP_ERRORS, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # an offset before the file is the file's fault
            raise
        reason = str(error) or type(error).__name__
        raise FormatError(path, None, f"not an .xlsx file, or a damaged one ({reason})") from None


def _copy_parts(path: Path, archive: ZipFile, copy: ZipFile) -> None:
    parts = archive.infolist()
    names = {part.filename.lower() for part in parts}
    if len(parts) > _MOST_PARTS or len(names) < len(parts):
        raise FormatError(path, None, "not an .xlsx file: too many parts, or two of one name")
    if "xl/workbook.xml" not in names:
        raise FormatError(path, None, "not an .xlsx file: no workbook in it")
    read = [part for part in parts if part.filename.lower().endswith(_PARTS) and not _UNREAD.match(part.filename)]
    if sum(part.file_size for part in read) > _MOST_BYTES:  # zipfile reads no part beyond its size
        raise _too_large(path, f"more than {_MOST_BYTES >> 20} MiB unpacked")
    for part in read:
        with archive.open(part) as packed, copy.open(part.filename, "w") as unpacked:
            _copy_part(path, part.filename, packed, unpacked)


def _copy_part(path: Path, name: str, packed: IO[bytes], unpacked: IO[bytes]) -> None:
    part = _Part(path, name)
    try:
        chunk = packed.read(_CHUNK)
        if b"\0" in chunk[:4]:  # UTF-16 and UTF-32, which the parser would find out by itself
            raise FormatError(path, None, f"part {name!r} is not in UTF-8")
        while chunk:
            part.parser.Parse(chunk, False)
            unpacked.write(chunk)
            chunk = packed.read(_CHUNK)
        part.parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise FormatError(path, None, f"part {name!r} is not valid XML ({error})") from None


def _too_large(path: Path, what: str) -> FormatError:
    return FormatError(path, None, f"{what}; save the sheet as CSV, which may be of any size")


class _Part:
    """One part under way: how far its cells with something in them reach."""

    def __init__(self, path: Path, name: str) -> None:
        self._path, self._name = path, name
        self._row = self._column = self._rows = self._columns = 0
        self._cell: tuple[int, int] | None = None  # one that nothing was found in yet
        self.parser = expat.ParserCreate("UTF-8")
        self.parser.XmlDeclHandler = self._declare
        self.parser.StartElementHandler = self._start
        self.parser.StartDoctypeDeclHandler = self._refuse

    def _declare(self, version: str, encoding: str | None, standalone: int) -> None:
        """Refuse other encodings: what one reader takes for a tag may be text to another."""
        if (encoding or "utf-8").lower() not in ("utf-8", "utf8", "us-ascii"):
            raise FormatError(self._path, None, f"part {self._name!r} is not in UTF-8")

    def _refuse(self, *_: object) -> None:
        raise FormatError(self._path, None, f"part {self._name!r} declares a document type, which no spreadsheet has")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = tag.rpartition(":")[2]
        if element == "c":
            self._column += 1
            reference = attributes.get("r")
            self._cell = (self._row, self._column) if reference is None else self._position(reference)
            self._column = self._cell[1]
        elif element == "row":
            number = attributes.get("r")
            self._row, self._column, self._cell = self._row + 1, 0, None
            if number is not None:
                self._row = self._position(f"A{number}")[0]
        elif element in _VALUES and self._cell is not None:  # a cell may be there for its style alone
            self._reach(*self._cell)
            self._cell = None

    def _position(self, reference: str) -> tuple[int, int]:
        """Return row and column, from 1, of a cell called as `AB12`."""
        found = _REFERENCE.fullmatch(reference)
        if found is None:
            raise FormatError(self._path, None, f"part {self._name!r}: there is no cell {reference[:20]!r}")
        column = 0
        for letter in found[1].upper():
            column = 26 * column + ord(letter) - 64
        return int(found[2]), column

    def _reach(self, row: int, column: int) -> None:
        if row > self._rows or column > self._columns:
            self._rows, self._columns = max(row, self._rows), max(column, self._columns)
            if self._rows * self._columns > _MOST_CELLS:
                what = f"{self._rows:,} rows of {self._columns:,} columns in {self._name!r}"
                raise _too_large(self._path, f"{what} are more than {_MOST_CELLS:,} cells")
