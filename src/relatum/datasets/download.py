"""Downloads by pooch, which retries, checks the SHA-256 and gives a file its name last; and what pooch lacks.

That is a limit on size, the bar that all commands show, no second request after a refusal, and the files of an archive taken
by name, each with a checksum of its own.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from relatum.errors import DownloadError
from relatum.files import sha256_of, write_bytes
from relatum.progress import progress

_RETRIES = 3  # after one second, two and three
_TIMEOUT = 30.0  # seconds without a byte
_PIECE = 1 << 16
_LARGEST = 1 << 26  # bytes of an archive, packed and unpacked, at most
_PASSING = (408, 429, 500, 502, 503, 504)  # statuses after which the same request may succeed
# What `tarfile` raises at damaged archives; besides its own errors, those of the conversions that it trusts.
_DAMAGE = (tarfile.TarError, zlib.error, OSError, EOFError, ValueError, LookupError, OverflowError, RecursionError)


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file as its authors published it: its name here, where it lives, and what its bytes must be.

    `url` may be that of a gzipped tar archive with the file inside, under any path.
    """

    name: str
    url: str
    size: int
    sha256: str

    @property
    def in_archive(self) -> bool:
        """Whether `url` is an archive that holds the file."""
        return self.url.endswith(".tar.gz")


def is_intact(path: Path, file: RemoteFile) -> bool:
    """Return whether `path` holds exactly the published bytes."""
    return path.is_file() and path.stat().st_size == file.size and sha256_of(path) == file.sha256


def download(file: RemoteFile, folder: Path) -> None:
    """Fetch one file into a folder, under its name."""
    _fetch(file.url, folder / file.name, file.size, f"sha256:{file.sha256}")


def unpack(url: str, files: Iterable[RemoteFile], folder: Path) -> None:
    """Fetch a tar archive and take the named files out of it.

    Nothing in the archive decides where anything is written: regular files are found by their base name and size, and are
    written under the names of the registry once their checksum is right. All else is passed over.
    """
    wanted = {file.name: file for file in files}
    place = Path(tempfile.mkdtemp(dir=folder))
    try:
        packed = place / "archive"
        _fetch(url, packed, _LARGEST, None)
        with gzip.open(packed) as stream:
            content = stream.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise ValueError(f"it unpacks to more than {_LARGEST:,} bytes")
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for member in archive:
                file = wanted.get(PurePosixPath(member.name).name)
                if file is None or not member.isreg() or member.size != file.size:
                    continue
                body = archive.extractfile(member)
                if body is not None and hashlib.sha256(taken := body.read()).hexdigest() == file.sha256:
                    write_bytes(folder / file.name, taken)
                    del wanted[file.name]
    except _DAMAGE as error:
        raise DownloadError("damaged-archive", f"damaged archive ({_printable(error)})", place=url) from None
    finally:
        shutil.rmtree(place)
    if wanted:
        raise DownloadError("not-as-published", f"holds no {' or '.join(wanted)} with the published checksum", place=url)


def _fetch(url: str, path: Path, most: int, checksum: str | None) -> None:
    """Have pooch bring what is at `url`, of at most so many bytes, to `path`, unless that is there and right."""
    import pooch  # here: it brings `requests`
    from urllib3.exceptions import HTTPError  # some of which `requests` passes on

    pooch.get_logger().setLevel("WARNING")
    place = pooch.Pooch(path.parent, "", {path.name: checksum}, {path.name: url}, retry_if_failed=_RETRIES)
    try:
        place.fetch(path.name, downloader=_bounded(most))
    except (OSError, ValueError, HTTPError) as error:
        raise DownloadError("download-failed", f"could not download {url}: {_printable(error)}") from None


def _bounded(most: int) -> Callable[..., None]:
    """Return a downloader for pooch that takes at most so many bytes, and hangs up after them."""
    import requests

    def downloader(url: str, output_file: str, _: object, check_only: bool = False) -> None:
        title, left = f"downloading {url.rpartition('/')[2]}", most
        with (
            requests.get(url, stream=True, timeout=_TIMEOUT, headers={"User-Agent": "relatum"}) as answer,
            Path(output_file).open("wb") as file,
            progress(title, most) as advance,
        ):
            if answer.status_code != 200 and answer.status_code not in _PASSING:
                raise DownloadError(
                    "download-failed", f"the server answered {answer.status_code} {_printable(answer.reason)}", place=url
                )
            answer.raise_for_status()
            for piece in answer.iter_content(_PIECE):
                left -= len(piece)
                if left < 0:
                    raise DownloadError(
                        "not-as-published", f"longer than the {most:,} bytes it should have; nothing was kept", place=url
                    )
                file.write(piece)
                advance(len(piece))

    return downloader


def _printable(error: Any) -> str:
    """Return the text of an error, which may quote a server, as one line without control characters."""
    text = "".join(character if character.isprintable() else " " for character in str(error) or type(error).__name__)
    return " ".join(text.split())
