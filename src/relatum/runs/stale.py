"""What killed processes have left, in folders that a person names, in the cache and in the system's temporary folders."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relatum.closed_folders import close_folder
from relatum.errors import DataError
from relatum.files import cache_directory, left_behind, left_folders
from relatum.runs.directory import SPEC
from relatum.runs.fit import is_held
from relatum.workers.states import stale_scratch


@dataclass(frozen=True)
class StaleTemporary:
    """A file or folder that a killed process has left: its size in bytes, and for how many seconds nobody has touched it."""

    path: Path
    size: int
    untouched: float

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"path": str(self.path), "bytes": self.size, "untouched_seconds": round(self.untouched)}


def stale_temporaries_in(folders: Iterable[Path]) -> list[StaleTemporary]:
    """Return what killed processes have left in these folders and those directly in them, the cache and among temporaries.

    What a living process uses is not among it, nor what cannot be told from such.
    """
    found: set[Path] = set()
    for folder in folders:
        if not folder.is_dir():
            raise DataError("no-such-directory", "no such folder", place=folder)
        found |= _in_folder(folder)
    found |= _in_folder(cache_directory())
    found |= set(left_folders(Path(tempfile.gettempdir())))
    return [_described(path) for path in sorted(found)]


def _in_folder(folder: Path) -> set[Path]:
    """Return what is left in a folder and in those directly in it; a stale folder is one thing, whatever it holds."""
    found = set(left_behind(folder))
    try:
        inside = [Path(entry.path) for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return found
    for one in (folder, *inside):
        if one in found:
            continue
        found |= set(left_behind(one))
        close_folder(one, within=folder)  # `one` may be exchanged by now
        scratch = stale_scratch(one) if (one / SPEC).exists() and not is_held(one) else None
        found |= {scratch} if scratch is not None else set()
    return found


def _described(path: Path) -> StaleTemporary:
    states = [each.lstat() for each in (path, *(path.rglob("*") if path.is_dir() and not path.is_symlink() else ()))]
    size = sum(one.st_size for one in states)
    return StaleTemporary(path, size, max(0.0, time.time() - max(one.st_mtime for one in states)))
