"""Whether the process that runs a trial is still there.

A process writes its host, its number and the time into its trial, and while it trains again every minute, between two
steps. It counts as dead

- at once for processes on the same host, where its number is no longer that of any process;
- everywhere after a quarter of an hour without a sign of life, so clocks of machines must agree to some minutes.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["BEAT", "is_dead", "sign_of_life"]

BEAT = 60.0  # seconds between signs of life
_PATIENCE = 900.0  # seconds without one


def sign_of_life() -> dict[str, Any]:
    """Return what a process writes into its trial."""
    return {"host": _host(), "process": os.getpid(), "time": time.time()}


def is_dead(sign: Mapping[str, Any] | None) -> bool:
    """Return whether the process that wrote this is gone; without any sign it was killed before it could write one."""
    if sign is None or time.time() - sign["time"] > _PATIENCE:
        return True
    return bool(sign["host"] == _host()) and not _exists(sign["process"])


def _host() -> str:
    """Return the name of this host; containers on it that number their processes anew are hosts of their own."""
    try:
        numbering = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        numbering = ""
    return f"{platform.node()} {numbering}".strip()


def _exists(process: int) -> bool:
    if sys.platform == "win32":
        return True  # asking by signal would end it there: only time tells
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
