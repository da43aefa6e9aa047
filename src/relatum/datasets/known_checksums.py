"""Checksums of large files, remembered: a file that was not touched since is not read again only to be hashed.

What is remembered is the SHA-256 beside the file's size, inode, and the times of its last change, to the nanosecond: of its
content, which anybody can set, and of its inode, which only the system sets. If all are as they were, and were two seconds
old or more when the file was hashed (so that no later change can bear the same time), the content is taken to be the same.
That rests on the file system: bytes that go bad on a disk, or are changed below the file system, do not show. Small files
are hashed every time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from pathlib import Path
from typing import Any

from relatum.errors import RelatumError
from relatum.files import cache_directory, read_document, sha256_of, write_document

_LARGE = 32 << 20  # bytes; fewer are hashed in 30 ms
_SETTLED = 2 * 10**9  # nanoseconds; some file systems keep times in steps of two seconds
_FORMAT, _VERSION = "relatum-checksum", 1


def is_large(path: Path) -> bool:
    """Return whether a file is worth remembering."""
    return path.stat().st_size >= _LARGE


def checksum_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal: remembered if it is large and was not touched, else worked out."""
    if not is_large(path):
        return sha256_of(path)
    known = known_checksum(path)
    if known is None:
        before = path.stat()
        known = sha256_of(path)
        remember_checksum(path, known, before)
    return known


def known_checksum(path: Path) -> str | None:
    """Return what was remembered of a large file, if it was not touched since."""
    try:
        if not is_large(path):
            return None
        return read_document(_record(path), _FORMAT, _VERSION, lambda found: _same(found, path))
    except (OSError, RelatumError):
        return None


def remember_checksum(path: Path, checksum: str, before: os.stat_result) -> None:
    """Remember the checksum of a large file, unless it was touched since `before` was found out, or only just then."""
    changed = max(before.st_mtime_ns, before.st_ctime_ns)
    with contextlib.suppress(OSError, RelatumError):  # no room or no permission: it is hashed again
        if is_large(path) and _marks(path.stat()) == _marks(before) and time.time_ns() - changed > _SETTLED:
            record = _record(path)
            record.parent.mkdir(parents=True, exist_ok=True)
            write_document(record, _FORMAT, _VERSION, {"path": str(path.resolve()), "checksum": checksum, **_marks(before)})


def _same(found: dict[str, Any], path: Path) -> str | None:
    marks = {"path": str(path.resolve()), **_marks(path.stat())}
    return str(found["checksum"]) if all(found[name] == value for name, value in marks.items()) else None


def _marks(status: os.stat_result) -> dict[str, int]:
    return {
        "size": status.st_size,
        "device": status.st_dev,
        "inode": status.st_ino,
        "content_changed_ns": status.st_mtime_ns,
        "inode_changed_ns": status.st_ctime_ns,
    }


def _record(path: Path) -> Path:
    digest = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]
    return cache_directory() / "checksums" / f"{digest}.json"
