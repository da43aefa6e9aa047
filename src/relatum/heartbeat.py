"""Which of the processes that share work are alive.

A process writes its host, its number and the time into what it has claimed, and while it works again every minute. It counts
as dead

- at once for processes on the same host, where its number is no longer that of any process;
- everywhere after a quarter of an hour without a sign of life, so clocks of machines must agree to some minutes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

from relatum.processes import exists, host

__all__ = ["BEAT", "PATIENCE", "is_dead", "sign_of_life"]

BEAT = 60.0  # seconds between signs of life
PATIENCE = 900.0  # seconds without one


def sign_of_life() -> dict[str, Any]:
    """Return what a process writes into what it has claimed."""
    return {"host": host(), "process": os.getpid(), "time": time.time()}


def is_dead(sign: Mapping[str, Any] | None, *, released: bool = False) -> bool:
    """Return whether the process that wrote this is gone; without any sign it was killed before it could write one.

    `released` says that a lock which it held while it worked is free: on the same host it is gone then, even if another
    process has its number by now.
    """
    if sign is None or time.time() - sign["time"] > PATIENCE:
        return True
    return bool(sign["host"] == host()) and (released or not exists(sign["process"]))
