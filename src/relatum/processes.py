"""Which process has made something: a mark of this one, and whether the one that a mark is of has ended."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from functools import cache
from pathlib import Path

MARK = "[0-9a-f]{12}"  # what a mark looks like: six digits for the machine, and six for the number of the process
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def host() -> str:
    """Return the name of this host; containers on it that number their processes anew are hosts of their own."""
    try:
        numbering = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        numbering = ""
    return f"{platform.node()} {numbering}".strip()


def exists(process: int) -> bool:
    """Return whether there is a process of this number on this host."""
    if sys.platform == "win32":
        return True  # asking by signal would end it there: only time tells
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def mark() -> str:
    """Return twelve digits that stand for this process, to be part of the names of what it leaves if it is killed."""
    return f"{_machine()}{os.getpid() & 0xFFFFFF:06x}"


def has_ended(marked: str) -> bool:
    """Return whether the process of a mark has surely ended: it was of this machine, and is gone."""
    return is_of_here(marked) and not exists(int(marked[6:], 16))


def is_of_here(marked: str) -> bool:
    """Return whether a mark is of a process of this machine since its last start; elsewhere only time tells."""
    return marked[:6] == _machine() and sys.platform != "win32"


@cache
def _machine() -> str:
    """Return six digits for whatever numbers processes here: this host, as long as it is not started again."""
    try:
        started = _BOOT.read_text(encoding="ascii")
    except OSError:
        started = ""
    return hashlib.sha256(f"{host()} {started}".encode()).hexdigest()[:6]
