"""Locks between processes: of a file, which stays, and free when the process that holds it dies."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from relatum.closed_folders import open_file

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_PAUSE = 0.05  # seconds between two attempts
_HELD: set[tuple[Path, int, int]] = set()  # file, process and thread


class LockTakenError(Exception):
    """Another process, or thread, holds a lock."""


@contextmanager
def locked(path: Path, patience: float = float("inf")) -> Iterator[None]:
    """Hold the lock of a file, which a thread that holds it may take again; `LockTakenError` after so many seconds."""
    holder = path.absolute(), os.getpid(), threading.get_ident()
    if holder in _HELD:
        yield
        return
    until = time.monotonic() + patience
    with open_file(path, "ab") as file:
        while not _take(file.fileno()):
            if time.monotonic() >= until:
                raise LockTakenError
            time.sleep(_PAUSE)
        _HELD.add(holder)
        try:
            yield
        finally:
            _HELD.discard(holder)
            _give_back(file.fileno())  # a child process may have the file, too


if sys.platform == "win32":

    def _take(file: int) -> bool:
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _give_back(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:

    def _take(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _give_back(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
