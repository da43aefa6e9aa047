"""Processes that fill a database, or undo that, and can be killed at a random moment of their work."""

from __future__ import annotations

import multiprocessing
import random
import tempfile
import time
from collections.abc import Callable
from ctypes import c_int
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

from relatum.tables.changes import Change, apply_changes, undo_changes
from relatum.tables.duckdb import DuckdbTarget
from relatum.tables.mysql_target import MysqlTarget
from relatum.tables.postgres import PostgresTarget
from relatum.tables.sqlite import SqliteTarget
from relatum.tables.table import Value

ROWS = 600
CELLS = 4 * ROWS

Act = Literal["apply", "undo"]
Aim = Literal["anywhere", "commit"]
PHASES = ("before the commit", "within the commit", "after the commit")


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
        self._context.set_forkserver_preload(["support.killed_filler", "duckdb", "psycopg", "pymysql"])
        self.spans: dict[Act, tuple[float, float]] = {}  # seconds of all of it, and of its commit

    def run(self, act: Act, aim: Aim = "anywhere") -> str:
        """Let a process do it and kill it meanwhile; return the phase that it was in."""
        here, there = self._context.Pipe()
        phase = self._context.RawValue(c_int, 0)
        child = self._context.Process(target=_work, args=(act, self._to, self._folder, there, phase))
        child.start()
        there.close()
        assert here.recv() == "ready"
        if act in self.spans:
            whole, commit = self.spans[act]
            while aim == "commit" and not phase.value:
                time.sleep(1e-4)
            time.sleep(self._rng.uniform(0, 1.5 * (whole if aim == "anywhere" else commit)))
            child.kill()
        else:
            started = time.perf_counter()
            commit = here.recv()
            self.spans[act] = time.perf_counter() - started, commit
        child.join()
        return PHASES[phase.value]


def _work(act: Act, to: str, folder: str, pipe: Connection, phase: Any) -> None:
    tempfile.tempdir = folder
    spans: list[float] = []
    for target in (SqliteTarget, DuckdbTarget, PostgresTarget, MysqlTarget):
        target.commit = _watched(target.commit, phase, spans)  # type: ignore[attr-defined]
    given = changes()
    pipe.send("ready")
    if act == "apply":
        apply_changes(to, given)
    else:
        undo_changes(to)
    pipe.send(sum(spans))


def _watched(commit: Callable[[Any], None], phase: Any, spans: list[float]) -> Callable[[Any], None]:
    """Return a commit that shows when it begins and ends."""

    def watched(database: Any) -> None:
        phase.value, started = 1, time.perf_counter()
        commit(database)
        phase.value = 2
        spans.append(time.perf_counter() - started)

    return watched
