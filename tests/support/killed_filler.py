"""Processes that fill a database, or undo that, and can be killed at a random moment of their work."""

from __future__ import annotations

import multiprocessing
import random
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Literal

from relatum.tables.changes import Change, apply_changes, undo_changes
from relatum.tables.table import Value

ROWS = 1500
CELLS = 4 * ROWS

Act = Literal["apply", "undo"]


def changes() -> list[Change]:
    """Return changes of two cells in every row of two tables, one of which has no key."""
    given = []
    for k in range(1, ROWS + 1):
        rows: dict[str, dict[str, Value]] = {
            "keyed": {"k": k},
            "loose": {"k": k, "g": k % 3 or None, "v": None, "w": None},
        }
        for table, row in rows.items():
            given.append(Change(table, row, "v", f"v{k}", 0.5, "because"))
            given.append(Change(table, row, "w", k / 7, 0.5, "because"))
    return given


class KilledFiller:
    """Processes that fill or undo at `to`; the first of each ends by itself, so that it is known how long they last."""

    def __init__(self, to: str, folder: Path) -> None:
        self._to, self._folder, self._rng = to, str(folder), random.Random(5)
        # Its processes are forked from one that has loaded all modules and nothing else.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["support.killed_filler", "duckdb", "psycopg"])
        self.spans: dict[Act, float] = {}

    def run(self, act: Act) -> None:
        """Let a process do it and kill it meanwhile."""
        here, there = self._context.Pipe()
        child = self._context.Process(target=_work, args=(act, self._to, self._folder, there))
        child.start()
        there.close()
        assert here.recv() == "ready"
        if act in self.spans:
            time.sleep(self._rng.uniform(0, 1.5 * self.spans[act]))
            child.kill()
        else:
            started = time.perf_counter()
            assert here.recv() == "done"
            self.spans[act] = time.perf_counter() - started
        child.join()


def _work(act: Act, to: str, folder: str, pipe: Connection) -> None:
    tempfile.tempdir = folder
    given = changes()
    pipe.send("ready")
    if act == "apply":
        apply_changes(to, given)
    else:
        undo_changes(to)
    pipe.send("done")
