"""Taking known files out of a tar archive that may be hostile."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import IO

from relatum.datasets.download import RemoteFile, fetch, is_intact
from relatum.errors import DownloadError
from relatum.files import atomic_file

__all__ = ["unpack"]

_LARGEST = 1 << 26  # bytes that are fetched, and bytes that are unpacked, at most
_PIECE = 1 << 16
_BLOCK = 512  # what a tar archive is made of
_REGULAR, _WITHOUT_CONTENT = b"0\0", b"123456"  # types of members: files; links, devices and folders


def unpack(url: str, files: Iterable[RemoteFile], folder: Path) -> None:
    """Fetch a tar archive and take the named files out of it.

    Nothing in the archive decides where anything is written: files are found by their base name, written under the names
    of the registry, and visible only once their checksum is right. Paths, links and all else are passed over.
    """
    wanted = {file.name: file for file in files}
    packed = folder / ".archive.part"
    packed.unlink(missing_ok=True)
    try:
        fetch(url, packed, None, _LARGEST)
        with packed.open("rb") as stored:
            _take(_Stream(stored), wanted, folder)
    except (_DamagedError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DownloadError(f"{url}: damaged archive ({error})") from None
    finally:
        packed.unlink(missing_ok=True)
    if wanted:
        raise DownloadError(f"{url}: holds no {' or '.join(wanted)} with the published checksum")


class _DamagedError(Exception):
    """An archive that breaks the format, or is larger than any that is registered."""


class _Stream:
    """The unpacked bytes of an archive, plain or gzipped; it ends in an error once it has given too much."""

    def __init__(self, stored: IO[bytes]) -> None:
        packed = stored.read(2) == b"\x1f\x8b"
        stored.seek(0)
        self._file = gzip.GzipFile(fileobj=stored) if packed else stored
        self._left = _LARGEST

    def read(self, size: int) -> bytes:
        """Return exactly so many bytes."""
        self._left -= size
        if self._left < 0:
            raise _DamagedError(f"it unpacks to more than {_LARGEST >> 20} MiB")
        piece = self._file.read(size)
        if len(piece) < size:
            raise _DamagedError("it ends too early")
        return piece


def _take(stream: _Stream, wanted: dict[str, RemoteFile], folder: Path) -> None:
    """Go through the archive's members and place those that are wanted, until none is.

    The format is read here, not by `tarfile`: of its many extensions none is needed, and each is a way to make a reader
    loop or fill the memory. A member is a block with a name, a size in octal digits and a type, and then its content.
    """
    while wanted:
        header = stream.read(_BLOCK)
        if not any(header):  # the end
            return
        digits = header[124:136].strip(b"\0 ")
        if not digits.isdigit() or b"8" in digits or b"9" in digits:
            raise _DamagedError("a member's size is not an octal number")
        kind = header[156]
        size = 0 if kind in _WITHOUT_CONTENT else int(digits, 8)
        name = PurePosixPath(header[:100].partition(b"\0")[0].decode("utf-8", "replace")).name
        file = wanted.get(name)
        if file is not None and kind in _REGULAR and size == file.size:
            if _place(stream, folder / file.name, file):
                del wanted[name]
        else:
            _copy(stream, size, None)
        stream.read(-size % _BLOCK)


def _place(stream: _Stream, target: Path, file: RemoteFile) -> bool:
    """Write a member's content, and let it be seen if it is the published file; return whether it is."""
    part = target.with_name(target.name + ".part")
    with atomic_file(part) as copy:
        _copy(stream, file.size, copy)
    if is_intact(part, file):
        part.replace(target)
        return True
    part.unlink()
    return False


def _copy(stream: _Stream, size: int, target: IO[bytes] | None) -> None:
    while size:
        piece = stream.read(min(size, _PIECE))
        size -= len(piece)
        if target is not None:
            target.write(piece)
