"""Files that are whole or absent: atomic writes, checksums and the user's cache directory."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from relatum.errors import RelatumError

__all__ = [
    "atomic_directory",
    "atomic_file",
    "atomic_path",
    "cache_directory",
    "require_empty",
    "sha256_of",
    "stale_temporaries",
    "write_bytes",
]

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{12}\.tmp")  # what `_beside` makes


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
    """Yield a temporary directory that becomes `path` when the block ends well; an existing `path` is refused."""
    if path.exists():
        raise RelatumError(f"{path}: already exists")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _beside(path)
    temporary.mkdir()
    try:
        yield temporary
        for file in temporary.iterdir():
            with file.open("rb") as opened:
                os.fsync(opened.fileno())
        _sync_directory(temporary)
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
