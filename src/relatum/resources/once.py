"""What is costly is worked out once for a run, however many ask for it at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from relatum.errors import RelatumError

if TYPE_CHECKING:
    from relatum.api import Run

__all__ = ["BusyError", "is_there", "once", "one_at_a_time"]

T = TypeVar("T")

_GUARD = threading.Lock()


class BusyError(RelatumError):
    """Others are at work with what is wanted, and it took too long to wait for them."""


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


@contextmanager
def one_at_a_time(run: Run, name: str, seconds: float) -> Iterator[None]:
    """Let one thread at a time do something with a run; others wait, and are refused after so many seconds."""
    with _GUARD:
        lock = run.remembered("resources", _Kept).locks.setdefault(name, threading.Lock())
    if not lock.acquire(timeout=seconds):
        raise BusyError(f"other {name} are at work; try again in a moment")
    try:
        yield
    finally:
        lock.release()


def is_there(run: Run, name: str) -> bool:
    """Return whether something was worked out already."""
    return name in _kept_of(run).values


def _kept_of(run: Run) -> _Kept:
    with _GUARD:
        return run.remembered("resources", _Kept)
