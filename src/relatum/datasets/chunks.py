"""A text file, plain or gzipped, in chunks of whole lines: however large it is, little of it is in memory at a time."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from relatum.errors import FormatError
from relatum.progress import progress

__all__ = ["whole_lines"]

CHUNK_BYTES = 4 << 20  # about 60 MB of Python strings while a chunk is taken apart
LONGEST_LINE = 16 << 20  # a file without line ends must not fill the memory
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def whole_lines(path: Path) -> Iterator[bytes]:
    """Yield a file's bytes in pieces of whole lines, each ending in a line feed."""
    size = path.stat().st_size
    with path.open("rb") as raw, progress(f"reading {path.name}", size) as advance:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        source = gzip.GzipFile(fileobj=raw) if packed else raw
        rest, first, told = b"", True, 0
        while piece := _read(path, source.read):
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
            told, before = raw.tell(), told
            advance(told - before)
        if rest:
            yield rest + b"\n"


def _read(path: Path, read: Callable[[int], bytes]) -> bytes:
    try:
        return read(CHUNK_BYTES)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FormatError(path, None, f"damaged gzip file ({error})") from None
