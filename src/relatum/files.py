"""Files that are whole or absent: atomic writes, JSON documents, checksums and the user's cache directory."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from relatum.errors import FormatError, RelatumError

__all__ = [
    "atomic_directory",
    "atomic_file",
    "atomic_path",
    "cache_directory",
    "document",
    "drop_torn_line",
    "find_file",
    "read_document",
    "read_json",
    "require_empty",
    "sha256_of",
    "stale_temporaries",
    "write_bytes",
    "write_document",
]

_Built = TypeVar("_Built")

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{12}\.tmp")  # what `_beside` makes
_PIECE = 1 << 16  # bytes


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a binary file that becomes `path` when the block ends well, and vanishes when it does not."""
    with atomic_path(path) as temporary, temporary.open("xb") as file:
        yield file


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, atomically."""
    with atomic_file(path) as file:
        file.write(content)


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield the name of a file to make, which becomes `path` when the block ends well, and vanishes when it does not."""
    if path.exists() and not path.is_file():
        raise RelatumError(f"{path}: is not a file that could be replaced")
    if not path.parent.is_dir():
        raise RelatumError(f"{path.parent}: no such directory")
    temporary = _beside(path)
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


@contextmanager
def atomic_directory(path: Path) -> Iterator[Path]:
    """Yield a temporary directory that becomes `path` when the block ends well; `path` must be new, or empty."""
    require_empty(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _beside(path)
    temporary.mkdir()
    try:
        yield temporary
        for file in temporary.iterdir():
            with file.open("rb") as opened:
                os.fsync(opened.fileno())
        _sync_directory(temporary)
        require_empty(path)  # once more: something may have come there since
        if path.exists():
            path.rmdir()
        temporary.rename(path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    _sync_directory(path.parent)


def require_empty(directory: Path) -> None:
    """Refuse a path that is taken: anything but an empty directory."""
    if directory.exists() and not (directory.is_dir() and not any(directory.iterdir())):
        raise RelatumError(f"{directory}: already exists and is not an empty directory")


def stale_temporaries(folder: Path) -> list[Path]:
    """Return the temporary files in a folder; where nobody is writing, these are what killed writers have left."""
    return [path for path in folder.iterdir() if _TEMPORARY.fullmatch(path.name) and path.is_file()]


def find_file(folder: Path, *names: str) -> Path | None:
    """Return the first of these files that is there, the name of today before older ones; None if there is none."""
    return next((folder / name for name in names if (folder / name).is_file()), None)


def document(format_name: str, version: int, content: Mapping[str, Any]) -> bytes:
    """Return JSON that says first which format and version it has."""
    whole = {"format": format_name, "version": version, **content}
    return (json.dumps(whole, indent=1, ensure_ascii=False) + "\n").encode()


def write_document(path: Path, format_name: str, version: int, content: Mapping[str, Any]) -> None:
    """Write a document, atomically."""
    write_bytes(path, document(format_name, version, content))


def read_document(path: Path, format_name: str, version: int, build: Callable[[dict[str, Any]], _Built]) -> _Built:
    """Return what `build` makes of the content of a document; whatever is wrong with either is one error with the path."""

    def checked(whole: Any) -> _Built:
        if not isinstance(whole, dict):
            raise TypeError(f"{type(whole).__name__} where an object should be")
        found = whole.pop("format"), whole.pop("version")
        if found != (format_name, version):
            raise ValueError(f"format {found[0]!r}, version {found[1]!r}; this reads {format_name!r}, {version}")
        return build(whole)

    return read_json(path, format_name.removeprefix("relatum-").replace("-", " "), checked)


def read_json(path: Path, what: str, build: Callable[[Any], _Built]) -> _Built:
    """Return what `build` makes of a JSON file that should hold `what`; whatever is wrong is one error with the path."""
    try:
        return build(json.loads(path.read_text(encoding="utf-8")))
    except (RelatumError, LookupError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
        raise FormatError(path, None, f"damaged or foreign {what}: {reason}") from None


def drop_torn_line(path: Path) -> None:
    """Cut off what follows the last line feed of a file: a line that a killed process has left half written.

    The file is cut, not written anew, so that a second kill or a full disk cannot take whole lines as well.
    """
    if not path.exists():
        return
    with path.open("rb+") as file:
        size = end = file.seek(0, os.SEEK_END)
        while end:
            start = max(end - _PIECE, 0)
            file.seek(start)
            line_feed = file.read(end - start).rfind(b"\n")
            end = start
            if line_feed >= 0:
                end = start + line_feed + 1
                break
        if end < size:
            file.truncate(end)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cache_directory() -> Path:
    """Return where relatum keeps what it can make again: `RELATUM_CACHE`, or the platform's cache directory."""
    if chosen := os.environ.get("RELATUM_CACHE"):
        return Path(chosen).expanduser().absolute()
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "relatum"


def _beside(path: Path) -> Path:
    """Return a fresh name in the directory of `path`, so that a rename stays on one file system."""
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")


def _sync_directory(path: Path) -> None:
    """Make a rename inside `path` survive a power cut (directories cannot be opened on Windows)."""
    if sys.platform != "win32":
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
