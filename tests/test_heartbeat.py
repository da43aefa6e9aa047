"""Processes that are gone, or silent for too long, count as dead."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

from relatum.heartbeat import is_dead, sign_of_life


def dead_sign() -> dict[str, Any]:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return {**sign_of_life(), "process": child.pid}


def test_who_is_dead() -> None:
    assert is_dead(None)
    assert is_dead(dead_sign())
    assert not is_dead(sign_of_life())
    elsewhere = {"host": "elsewhere", "process": 1, "time": time.time() - 60}
    assert not is_dead(elsewhere)
    assert is_dead(sign_of_life(), released=True)
    assert not is_dead(elsewhere, released=True)  # it may be that the lock binds one host alone
    assert is_dead({**elsewhere, "time": time.time() - 3600})
