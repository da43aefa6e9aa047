"""Downloads: files fetched once, checked against their SHA-256, and unpacked."""

from __future__ import annotations

import gzip
import http.client
import os
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from relatum.errors import DownloadError
from relatum.files import atomic_file, sha256_of
from relatum.progress import progress

__all__ = ["RemoteFile", "download", "fetch", "is_intact", "unpack"]

_ATTEMPTS = 4
_PAUSE = 0.5  # seconds before the second attempt; twice as long before each further one
_TIMEOUT = 30.0  # seconds without a byte
_PIECE = 1 << 16
_RANGE_REFUSED = 416


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file as its authors published it: its name here, where it lives, and what its bytes must be.

    `url` may be that of a tar archive with the file inside, under any path.
    """

    name: str
    url: str
    size: int
    sha256: str

    @property
    def in_archive(self) -> bool:
        """Whether `url` is an archive that holds the file."""
        return self.url.endswith((".tar.gz", ".tgz", ".tar"))


class _NoDowngrade(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but never from https to anything else."""

    def redirect_request(  # type: ignore[no-untyped-def]
        self, req, fp, code, msg, headers, newurl
    ) -> urllib.request.Request | None:
        fp.close()  # else the whole body of the redirect, however long, would be read and thrown away
        if req.full_url.startswith("https:") and not newurl.startswith("https:"):
            raise urllib.error.URLError(f"it redirects to {newurl}, which is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def is_intact(path: Path, file: RemoteFile) -> bool:
    """Return whether `path` holds exactly the published bytes."""
    return path.is_file() and path.stat().st_size == file.size and sha256_of(path) == file.sha256


def download(file: RemoteFile, target: Path) -> None:
    """Fetch one file to `target`; what an earlier, cut attempt left in `target.part` is used."""
    part = target.with_name(target.name + ".part")
    pieced = fetch(file.url, part, file.size, file.size)
    if pieced and not is_intact(part, file):  # the older piece may have been at fault: once more from nothing
        part.unlink(missing_ok=True)
        fetch(file.url, part, file.size, file.size)
    if not is_intact(part, file):
        part.unlink(missing_ok=True)
        raise DownloadError(f"{file.url}: its checksum is not that of {file.name} as published; nothing was kept")
    with part.open("rb") as opened:
        os.fsync(opened.fileno())
    part.replace(target)


def fetch(url: str, part: Path, size: int | None, most: int) -> bool:
    """Fill `part` with what is at `url`, of the given size if that is known and never more than `most` bytes.

    Returns whether it was put together from the answers to more than one request.
    """
    pieced, fault = part.exists(), ""
    for attempt in range(_ATTEMPTS):
        if attempt:
            pieced = True
            time.sleep(_PAUSE * 2 ** (attempt - 1))
        try:
            if _fetch_once(url, part, size, most):
                return pieced
            fault = f"the connection was cut after {part.stat().st_size} bytes"
        except urllib.error.HTTPError as error:
            error.close()
            fault = f"the server answered {error.code} {error.reason}"
            if error.code == _RANGE_REFUSED:
                part.unlink(missing_ok=True)
            elif error.code < 500 and error.code not in (408, 429):
                break
        except urllib.error.URLError as error:
            fault = str(error.reason)
        except (OSError, ArithmeticError, ValueError, http.client.HTTPException) as error:  # also: headers without sense
            fault = str(error) or type(error).__name__
    printable = "".join(character if character.isprintable() else " " for character in fault)
    raise DownloadError(f"could not download {url}: {' '.join(printable.split())}")


def _fetch_once(url: str, part: Path, size: int | None, most: int) -> bool:
    """Fetch what is missing from `part`; return whether it is now complete."""
    have = part.stat().st_size if part.exists() else 0
    if size is not None and have == size and part.exists():
        return True
    if size is None or have > size:
        have = 0
    request = urllib.request.Request(url, headers={"User-Agent": "relatum"})  # noqa: S310  (see _opener)
    if have:
        request.add_header("Range", f"bytes={have}-")
    with _opener().open(request, timeout=_TIMEOUT) as answer:
        if answer.status != 206 or not answer.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            have = 0
        length = answer.headers.get("Content-Length")
        total = size if size is not None else have + int(length) if length else None
        title = f"downloading {url.rpartition('/')[2]}"
        with part.open("r+b" if have else "wb") as file, progress(title, total or most) as advance:
            file.seek(have)
            advance(have)
            while have <= most and (piece := answer.read1(_PIECE)):
                have += len(piece)
                file.write(piece)
                advance(len(piece))
    if have > most:
        part.unlink()
        raise DownloadError(f"{url}: longer than the {most} bytes it should have; nothing was kept")
    return total is None or have == total


def _opener() -> urllib.request.OpenerDirector:
    """Return an opener for web addresses only: no file: or ftp:, neither in a registry entry nor in a redirect."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
        _NoDowngrade(),
    ):
        opener.add_handler(handler)
    return opener


_LARGEST = 1 << 26  # bytes that are fetched, and bytes that are unpacked, at most
_UNPACKED_AT_ONCE = 1 << 16
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
        piece = stream.read(min(size, _UNPACKED_AT_ONCE))
        size -= len(piece)
        if target is not None:
            target.write(piece)
