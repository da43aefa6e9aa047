"""Downloads: files fetched once, checked against their SHA-256, and unpacked."""

from __future__ import annotations

import gzip
import http.client
import os
import shutil
import tarfile
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, cast

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
    raise DownloadError(f"could not download {url}: {_printable(fault)}")


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
# What `tarfile` raises at damaged archives; besides its own errors, those of the conversions that it trusts.
_DAMAGE = (tarfile.TarError, zlib.error, OSError, EOFError, ValueError, LookupError, OverflowError, RecursionError)


def unpack(url: str, files: Iterable[RemoteFile], folder: Path) -> None:
    """Fetch a tar archive and take the named files out of it.

    Nothing in the archive decides where anything is written: regular files are found by their base name and size, written
    under the names of the registry, and visible only once their checksum is right. All else is passed over.
    """
    wanted = {file.name: file for file in files}
    packed = folder / ".archive.part"
    packed.unlink(missing_ok=True)
    try:
        fetch(url, packed, None, _LARGEST)
        with packed.open("rb") as stored:
            _take(stored, wanted, folder)
    except _DAMAGE as error:
        raise DownloadError(f"{url}: damaged archive ({_printable(str(error))})") from None
    finally:
        packed.unlink(missing_ok=True)
    if wanted:
        raise DownloadError(f"{url}: holds no {' or '.join(wanted)} with the published checksum")


def _take(stored: IO[bytes], wanted: dict[str, RemoteFile], folder: Path) -> None:
    """Go through the members of an archive, plain or gzipped, and keep those that are wanted, until none is."""
    packed = stored.read(2) == b"\x1f\x8b"
    stored.seek(0)
    stream = _Bounded(gzip.GzipFile(fileobj=stored) if packed else stored)
    with tarfile.open(fileobj=cast(IO[bytes], stream), mode="r|") as archive:
        for member in archive:
            file = wanted.get(PurePosixPath(member.name).name)
            content = archive.extractfile(member) if file is not None and member.isreg() else None
            if file is None or content is None or member.size != file.size:
                continue
            part = folder / f"{file.name}.part"
            with atomic_file(part) as copy:
                shutil.copyfileobj(content, copy)
            if is_intact(part, file):
                part.replace(folder / file.name)
                del wanted[file.name]
                if not wanted:
                    return
            part.unlink(missing_ok=True)


class _Bounded:
    """The unpacked bytes of an archive; it ends in an error once it has given too much."""

    def __init__(self, file: IO[bytes] | gzip.GzipFile) -> None:
        self._file, self._left = file, _LARGEST

    def read(self, size: int) -> bytes:
        """Return so many bytes, or fewer at the end."""
        piece = self._file.read(size)
        self._left -= len(piece) or _PIECE  # tarfile reads on past the end, as far as a header says
        if self._left < 0:
            raise ValueError(f"it unpacks to more than {_LARGEST >> 20} MiB")
        return piece


def _printable(text: str) -> str:
    """Return a text from elsewhere as one line without control characters."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())
