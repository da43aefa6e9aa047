"""Lines of tab-separated text: read from a file in pieces of whole lines, and what one line may hold."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from relatum import memory
from relatum.closed_folders import open_file
from relatum.data.vocabulary import fault_of
from relatum.errors import DataError, FormatError
from relatum.files import require_file
from relatum.progress import progress

CHUNK_BYTES = 4 << 20  # what is read at once; line by line, it becomes about 60 MB of Python strings
LONGEST_LINE = 16 << 20  # a file without line ends must not fill the memory
MOST_UNPACKED = 200  # times its size that a gzip file unpacks to; facts come to about 10, and deflate to 1000 at most
MOST_LISTED = 1000  # skipped lines that are kept with their reasons; the rest are counted
MOST_COLUMNS = 500  # of a fact or a table; work on wide ones grows with the square of their columns
_NULS = bytes(64)  # a line with a NUL is a bad line; so many at the end are no line
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def whole_lines(path: Path) -> Generator[bytes, None, None]:
    """Yield a file's bytes in pieces of whole lines, each ending in a line feed."""
    size = path.stat().st_size
    with open_file(path) as raw, progress(f"reading {path.name}", size) as advance:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        rest, first = b"", True
        for piece in _pieces(path, raw, packed, advance):
            if first:
                piece, first = piece.removeprefix(_BYTE_ORDER_MARK), False
            whole, end, tail = piece.rpartition(b"\n")
            if end:
                yield rest + whole + end
                rest = tail
            else:
                rest += piece
            if len(rest) > LONGEST_LINE:
                raise FormatError(
                    "line-too-long", path, None, f"a line is longer than {LONGEST_LINE >> 20} MiB: not a file of facts"
                )
        if rest:
            yield rest + b"\n"


def only_file(folder: Path, part: str, names: Iterable[str]) -> Path | None:
    """Return the only one of these files that is in a folder, or None; two are refused, and what is there but no file."""
    found = [folder / name for name in names if os.path.lexists(folder / name)]
    if len(found) > 1:
        raise DataError(
            "two-train-files", f"both {found[0].name} and {found[1].name} are there; which is {part}?", place=folder
        )
    for path in found:
        require_file(path)
    return found[0] if found else None


def require_text_end(path: Path) -> None:
    """Refuse a file that ends in many NUL bytes, as a crash may leave one, before it is read for a long time."""
    with open_file(path) as file:
        file.seek(max(path.stat().st_size - len(_NULS), 0))
        if file.read() == _NULS:
            raise FormatError("cut-off-file", path, None, "ends in NUL bytes: cut off by a crash, or no text file")


def require_unpacked(path: Path) -> None:
    """Refuse a gzip file that unpacks to far too much, without keeping any of it."""
    with open_file(path) as raw, progress(f"unpacking {path.name}", path.stat().st_size) as advance:
        for _ in _pieces(path, raw, True, advance):
            pass


def _pieces(path: Path, raw: BinaryIO, packed: bool, advance: Callable[[int], None]) -> Iterator[bytes]:
    """Yield what a file holds, unpacked where it is packed, and tell how much of the file has been read."""
    source = gzip.GzipFile(fileobj=raw) if packed else raw
    reported = unpacked = 0
    while True:
        try:
            piece = source.read(CHUNK_BYTES)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise FormatError("damaged-gzip", path, None, f"damaged gzip file ({error})") from None
        if not piece:
            return
        unpacked += len(piece)
        if packed and unpacked > (most := max(MOST_UNPACKED * path.stat().st_size, memory.budget())):
            raise FormatError(
                "unpacks-too-large",
                path,
                None,
                f"unpacks to more than {most >> 20} MiB; if these are facts, unpack it first",
            )
        yield piece
        reported, before = raw.tell(), reported
        advance(reported - before)


def require_columns(columns: int, what: str = "") -> None:
    """Refuse a line or a table of more columns than can be worked on in time.

    `what` is said before it, such as the name of a table.
    """
    if columns > MOST_COLUMNS:
        raise DataError("over-limit", f"{what}{columns:,} columns, and {MOST_COLUMNS} are the most")


class SkippedLines:
    """The bad lines of files: each is passed over and noted or, where nothing is to be skipped, the error that names it."""

    def __init__(self, skip_bad: bool) -> None:
        self.skip_bad, self.count = skip_bad, 0
        self._listed: list[str] = []

    def add(self, path: Path, line: int, error: DataError, lines: int = 1) -> None:
        """Note a bad line, or several from it on that are bad alike, or raise what is wrong."""
        if not self.skip_bad:
            raise FormatError.of(path, line, error) from None
        listed = range(line, line + min(lines, MOST_LISTED - len(self._listed)))
        self._listed += [f"{path.name}:{number}: {error}" for number in listed]
        self.count += lines

    @property
    def listed(self) -> tuple[str, ...]:
        """The lines passed over so far, each with its reason; the last entry counts those that are not listed."""
        more = self.count - len(self._listed)
        return (*self._listed, *([f"... and {more} more lines"] if more else []))


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a line holds what: the relation's column (from 0), columns to pass over, and which odd lines to skip."""

    relation_column: int = 0
    ignored_columns: tuple[int, ...] = ()
    comments: bool = False
    blank_lines: bool = False

    def __post_init__(self) -> None:
        if min(self.relation_column, *self.ignored_columns, 0) < 0:
            raise DataError("bad-layout", "columns count from 0", place="layout")
        if self.relation_column in self.ignored_columns:
            raise DataError(
                "bad-layout", f"column {self.relation_column} cannot be both the relation and ignored", place="layout"
            )

    def entity_columns(self, fields: int) -> list[int]:
        """Return the columns that hold entities in a line of so many fields; none if a promised column is missing."""
        if max(self.relation_column, *self.ignored_columns, 0) >= fields:
            return []
        return [c for c in range(fields) if c != self.relation_column and c not in self.ignored_columns]


PLAIN = Layout()


def split_line(raw: bytes, layout: Layout) -> list[str] | None:
    """Return the relation and the entities of a line, None for a line to pass over, or raise a `DataError`."""
    if not raw.strip():
        if layout.blank_lines:
            return None
        raise DataError("blank-line", "blank line; Layout(blank_lines=True) skips them")
    if raw.startswith(b"#"):
        if layout.comments:
            return None
        raise DataError("comment-line", "comment; Layout(comments=True) skips them")
    require_columns(raw.count(b"\t"))  # beside the relation
    try:
        fields = raw.decode().split("\t")
    except UnicodeDecodeError as error:
        raise DataError("not-utf8", f"not valid UTF-8 at byte {error.start} of the line") from None
    positions = layout.entity_columns(len(fields))
    if not positions and len(fields) <= max(layout.relation_column, *layout.ignored_columns, 0):
        raise DataError("too-few-columns", f"{len(fields)} column{'s' * (len(fields) > 1)}, too few for the layout")
    chosen = [fields[position] for position in (layout.relation_column, *positions)]
    if not positions:
        raise DataError("no-entities", f"relation {chosen[0]!r} has no entities")
    if fault := next((fault for fault in map(fault_of, chosen) if fault), None):
        raise DataError("unusable-name", fault)
    if chosen[0].startswith("#"):
        raise DataError("relation-like-comment", f"relation {chosen[0]!r} starts with '#'")
    return chosen
