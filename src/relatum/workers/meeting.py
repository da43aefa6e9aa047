"""How workers that were started together find each other in a store that may still hold what earlier ones have left.

A launcher that starts workers again keeps its store, and launchers of several hosts may count restarts differently. So the
first worker draws a name for the group; each other one draws a word, says hello with it, and is welcome when its own word
comes back.
"""

from __future__ import annotations

import secrets
import time

from torch._C._distributed_c10d import PrefixStore, Store

from relatum.errors import RelatumError
from relatum.formatting import duration

_POLL = 0.05  # seconds


class WorkerError(RelatumError):
    """A worker that is lost, slow or ended with an error; `reported` says whether another one has told of it already."""

    def __init__(self, code: str, reason: str, *, remedy: str = "", reported: bool = False) -> None:
        super().__init__(code, reason, remedy=remedy)
        self.reported = reported


def met(store: Store, number: int, count: int, longest: float) -> Store:
    """Return the part of a store that belongs to these workers alone, once all of them are there."""
    end = time.monotonic() + longest
    name = _welcome(store, count, end, longest) if number == 0 else _hello(store, number, end, longest)
    return PrefixStore(name, store)


def _welcome(store: Store, count: int, end: float, longest: float) -> str:
    """Return the name of the group, once every other worker knows it."""
    name = secrets.token_hex(6)
    missing = set(range(1, count))
    while missing:
        for number in sorted(missing):
            if store.check([f"{name}/came/{number}"]):
                missing.remove(number)
            elif store.check([f"hello/{number}"]):
                word = store.get(f"hello/{number}").decode()
                store.set(f"welcome/{number}/{word}", name)
        if missing and time.monotonic() > end:
            listed = " and ".join(f"worker {number}" for number in sorted(missing))
            raise WorkerError("worker-late", f"{listed} of {count} did not come within {duration(longest)}")
        if missing:
            time.sleep(_POLL)
    store.set(f"{name}/complete", "1")
    return name


def _hello(store: Store, number: int, end: float, longest: float) -> str:
    """Return the name of the group that the first worker has drawn."""
    word = secrets.token_hex(6)
    store.set(f"hello/{number}", word)
    welcome = f"welcome/{number}/{word}"
    _wait_for(store, welcome, end, longest)
    name = store.get(welcome).decode()
    store.set(f"{name}/came/{number}", "1")
    _wait_for(store, f"{name}/complete", end, longest)
    return name


def _wait_for(store: Store, key: str, end: float, longest: float) -> None:
    while not store.check([key]):
        if time.monotonic() > end:
            raise WorkerError(
                "worker-late", f"worker 0, or another one that it waits for, did not come within {duration(longest)}"
            )
        time.sleep(_POLL)
