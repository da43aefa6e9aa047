"""What is costly is worked out once for a run, however many ask for it at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from relatum.api import Run

__all__ = ["is_there", "once"]

T = TypeVar("T")

_GUARD = threading.Lock()


class _Kept:
    """The locks of a run, one for each thing, and what was worked out."""

    def __init__(self) -> None:
        self.locks: dict[str, threading.Lock] = {}
        self.values: dict[str, object] = {}


def once(run: Run, name: str, work_out: Callable[[], T]) -> T:
    """Return what was worked out for a run under a name; those who ask meanwhile wait for it."""
    kept = _kept_of(run)
    if name not in kept.values:
        with _GUARD:
            lock = kept.locks.setdefault(name, threading.Lock())
        with lock:
            if name not in kept.values:
                kept.values[name] = work_out()
    return kept.values[name]  # type: ignore[return-value]  # what was worked out under this name


def is_there(run: Run, name: str) -> bool:
    """Return whether something was worked out already."""
    return name in _kept_of(run).values


def _kept_of(run: Run) -> _Kept:
    with _GUARD:
        return run.remembered("resources", _Kept)
