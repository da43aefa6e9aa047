"""Lines of tab-separated text: read from a file in pieces of whole lines, and what one line may hold."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from relatum import memory
from relatum.data.vocabulary import fault_of
from relatum.errors import DataError, FormatError
from relatum.progress import progress

__all__ = ["PLAIN", "Layout", "split_line", "whole_lines"]

CHUNK_BYTES = 4 << 20  # what is read at once; line by line, it becomes about 60 MB of Python strings
LONGEST_LINE = 16 << 20  # a file without line ends must not fill the memory
MOST_UNPACKED = 200  # times its size that a gzip file unpacks to; facts come to about 10, and deflate to 1000 at most
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def whole_lines(path: Path) -> Iterator[bytes]:
    """Yield a file's bytes in pieces of whole lines, each ending in a line feed."""
    size = path.stat().st_size
    with path.open("rb") as raw, progress(f"reading {path.name}", size) as advance:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        source = gzip.GzipFile(fileobj=raw) if packed else raw
        rest, first, reported, unpacked = b"", True, 0, 0
        most = max(MOST_UNPACKED * size, 4 * memory.budget()) if packed else None
        while piece := _read(path, source.read):
            unpacked += len(piece)
            if most is not None and unpacked > most:
                raise FormatError(path, None, f"unpacks to more than {most >> 20} MiB; if these are facts, unpack it first")
            if first:
                piece, first = piece.removeprefix(_BYTE_ORDER_MARK), False
            whole, end, tail = piece.rpartition(b"\n")
            if end:
                yield rest + whole + end
                rest = tail
            else:
                rest += piece
            if len(rest) > LONGEST_LINE:
                raise FormatError(path, None, f"a line is longer than {LONGEST_LINE >> 20} MiB: not a file of facts")
            reported, before = raw.tell(), reported
            advance(reported - before)
        if rest:
            yield rest + b"\n"


def _read(path: Path, read: Callable[[int], bytes]) -> bytes:
    try:
        return read(CHUNK_BYTES)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FormatError(path, None, f"damaged gzip file ({error})") from None


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a line holds what: the relation's column (from 0), columns to pass over, and which odd lines to skip."""

    relation_column: int = 0
    ignored_columns: tuple[int, ...] = ()
    comments: bool = False
    blank_lines: bool = False

    def __post_init__(self) -> None:
        if min(self.relation_column, *self.ignored_columns, 0) < 0:
            raise DataError("layout: columns count from 0")
        if self.relation_column in self.ignored_columns:
            raise DataError(f"layout: column {self.relation_column} cannot be both the relation and ignored")

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
        raise DataError("blank line; Layout(blank_lines=True) skips them")
    if raw.startswith(b"#"):
        if layout.comments:
            return None
        raise DataError("comment; Layout(comments=True) skips them")
    try:
        fields = raw.decode().split("\t")
    except UnicodeDecodeError as error:
        raise DataError(f"not valid UTF-8 at byte {error.start} of the line") from None
    positions = layout.entity_columns(len(fields))
    if not positions and len(fields) <= max(layout.relation_column, *layout.ignored_columns, 0):
        raise DataError(f"{len(fields)} column{'s' * (len(fields) > 1)}, too few for the layout")
    chosen = [fields[position] for position in (layout.relation_column, *positions)]
    if not positions:
        raise DataError(f"relation {chosen[0]!r} has no entities")
    if fault := next((fault for fault in map(fault_of, chosen) if fault), None):
        raise DataError(fault)
    if chosen[0].startswith("#"):
        raise DataError(f"relation {chosen[0]!r} starts with '#'")
    return chosen
