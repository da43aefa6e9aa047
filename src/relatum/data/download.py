"""Fetching files: resumed when cut, bounded in size, and never visible before their checksum is right."""

from __future__ import annotations

import http.client
import os
import tarfile
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

__all__ = ["RemoteFile", "download", "is_intact", "unpack"]

_ATTEMPTS = 4
_PAUSE = 0.5  # seconds before the second attempt; twice as long before each further one
_TIMEOUT = 30.0  # seconds without a byte
_PIECE = 1 << 16
_LARGEST_ARCHIVE = 1 << 30  # bytes, packed or unpacked


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
        if req.full_url.startswith("https:") and not newurl.startswith("https:"):
            raise urllib.error.URLError(f"it redirects to {newurl}, which is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def is_intact(path: Path, file: RemoteFile) -> bool:
    """Return whether `path` holds exactly the published bytes."""
    return path.is_file() and path.stat().st_size == file.size and sha256_of(path) == file.sha256


def download(file: RemoteFile, target: Path) -> None:
    """Fetch one file to `target`; what an earlier, cut attempt left in `target.part` is used."""
    part = target.with_name(target.name + ".part")
    for fresh in (False, True):
        resumed = part.exists() and not fresh
        if fresh:
            part.unlink(missing_ok=True)
        _fetch(file.url, part, file.size)
        if is_intact(part, file):
            with part.open("rb") as opened:
                os.fsync(opened.fileno())
            part.replace(target)
            return
        if not resumed:  # what was left from before may have been at fault, so that is tried again from nothing
            break
    part.unlink()
    raise DownloadError(f"{file.url}: its checksum is not that of {file.name} as published; nothing was kept")


def unpack(url: str, files: Iterable[RemoteFile], folder: Path) -> None:
    """Fetch a tar archive and take the named files out of it; paths, links and anything else inside are not followed."""
    wanted = {file.name: file for file in files}
    packed = folder / ".archive.part"
    packed.unlink(missing_ok=True)
    try:
        _fetch(url, packed, None)
        unpacked = 0
        with tarfile.open(packed) as archive:
            for member in archive:
                unpacked += member.size
                if unpacked > _LARGEST_ARCHIVE:
                    raise DownloadError(f"{url}: the archive is larger than {_LARGEST_ARCHIVE >> 20} MiB; nothing was kept")
                file = wanted.get(PurePosixPath(member.name).name)
                if file is not None and member.isreg() and member.size == file.size:
                    content = archive.extractfile(member)
                    if content is not None and _place(content, folder / file.name, file):
                        del wanted[file.name]
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise DownloadError(f"{url}: damaged archive ({error})") from None
    finally:
        packed.unlink(missing_ok=True)
    if wanted:
        raise DownloadError(f"{url}: holds no {' or '.join(wanted)} with the published checksum")


def _place(content: IO[bytes], target: Path, file: RemoteFile) -> bool:
    with atomic_file(target.with_name(target.name + ".part")) as copy:
        while piece := content.read(_PIECE):
            copy.write(piece)
    part = target.with_name(target.name + ".part")
    if is_intact(part, file):
        part.replace(target)
        return True
    part.unlink()
    return False


def _fetch(url: str, part: Path, size: int | None) -> None:
    """Fill `part` with what is at `url`, going on after a cut; stop where it would pass `size`."""
    fault = ""
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE * 2 ** (attempt - 1))
        try:
            if _fetch_once(url, part, size):
                return
            fault = f"the connection was cut after {part.stat().st_size} bytes"
        except urllib.error.HTTPError as error:
            error.close()
            fault = f"the server answered {error.code} {error.reason}"
            if error.code < 500 and error.code not in (408, 429):
                break
        except urllib.error.URLError as error:
            fault = str(error.reason)
        except (OSError, http.client.HTTPException) as error:
            fault = str(error) or type(error).__name__
    raise DownloadError(f"could not download {url}: {' '.join(fault.split())}")


def _fetch_once(url: str, part: Path, size: int | None) -> bool:
    """Fetch what is missing from `part`; return whether it is now complete."""
    have = part.stat().st_size if part.exists() else 0
    if size is not None and have == size:
        return True
    if size is None or have > size:
        have = 0
    # Only web addresses: the opener knows no file: or ftp: scheme, neither in a registry entry nor in a redirect.
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
    request = urllib.request.Request(url, headers={"User-Agent": "relatum"})  # noqa: S310  (see the opener)
    if have:
        request.add_header("Range", f"bytes={have}-")
    with opener.open(request, timeout=_TIMEOUT) as answer:
        if answer.status != 206 or not answer.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            have = 0
        length = answer.headers.get("Content-Length")
        total = size if size is not None else have + int(length) if length else None
        most = total if total is not None else _LARGEST_ARCHIVE
        if most > _LARGEST_ARCHIVE:
            raise DownloadError(f"{url}: larger than {_LARGEST_ARCHIVE >> 20} MiB; nothing was kept")
        with (
            part.open("r+b" if have else "wb") as file,
            progress(f"downloading {url.rpartition('/')[2]}", most) as advance,
        ):
            file.seek(have)
            advance(have)
            while piece := answer.read(_PIECE):
                have += len(piece)
                if have > most:
                    break
                file.write(piece)
                advance(len(piece))
    if have > most:
        part.unlink()
        raise DownloadError(f"{url}: longer than the {most} bytes it should have; nothing was kept")
    return total is None or have == total
