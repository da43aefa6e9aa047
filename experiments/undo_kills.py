"""Processes killed while they fill a real database or undo that: undo always restores the content of the tables.

    python experiments/undo_kills.py RUN DATABASE [--kills 50] [--min-probability 0.5] [--seed 0] [--out results.json]

RUN fills the gaps of DATABASE, a copy of what it was trained on: a SQLite or DuckDB file, or the URL of a server's database.
Processes write them and undo that, and are killed with SIGKILL at moments drawn over one and a half times as long as they
take; half of them at moments drawn over their commit. After each kill the tables are as before or as after, in all
of their cells, and the log says which; then the act is done again if it did not last. In the end nothing has changed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from ctypes import c_int
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import relatum
from relatum.datasets.file_types import database_in, is_mysql, is_postgres
from relatum.runs.fills import Fills
from relatum.tables.duckdb import DuckdbTarget, open_duckdb
from relatum.tables.mysql_target import MysqlTarget, open_mysql
from relatum.tables.postgres import PostgresTarget, open_postgres
from relatum.tables.servers import without_password
from relatum.tables.sqlite import SqliteTarget, open_sqlite
from relatum.tables.table import Database

PHASES = ("before the commit", "within the commit", "after the commit")
WAIT = 60.0  # seconds for a server to notice that its client is dead


def opened(to: str) -> AbstractContextManager[Database]:
    """Return a database to look at."""
    if is_postgres(to):
        return open_postgres(to)
    if is_mysql(to):
        return open_mysql(to)
    path = Path(to)
    return open_sqlite(path, path) if database_in(path) == "sqlite" else open_duckdb(path, path)


def content(to: str, tables: list[str]) -> str:
    """Return a checksum of all cells of tables; it waits until nobody writes to them."""
    with opened(to) as database:
        database.lock(tables)
        rows = {table: sorted(map(repr, database.ask(f"SELECT * FROM {database.rows_of(table)}"))) for table in tables}  # noqa: S608
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def logged(to: str) -> int:
    """Return how many cells are filled, by the log."""
    return sum(each.cells - each.undone for each in relatum.list_fills(to))


def work(act: str, to: str, found: Fills, least: float, pipe: Connection, phase: Any) -> None:
    """Fill or undo, in a process of its own, and show when the commit begins and ends."""
    spans: list[float] = []

    def watched(commit: Callable[[Any], None]) -> Callable[[Any], None]:
        def run(database: Any) -> None:
            phase.value, started = 1, time.perf_counter()
            commit(database)
            phase.value = 2
            spans.append(time.perf_counter() - started)

        return run

    for target in (SqliteTarget, DuckdbTarget, PostgresTarget, MysqlTarget):
        target.commit = watched(target.commit)  # type: ignore[attr-defined]
    pipe.send("ready")
    if act == "apply":
        found.apply(to, min_probability=least)
    else:
        relatum.undo_fill(to)
    pipe.send(sum(spans))


def check(is_right: bool, what: str) -> None:
    """End with an error where something is not as it was."""
    if not is_right:
        raise SystemExit(f"not as it should be: {what}")


class Killer:
    """Processes that fill or undo, killed at random moments."""

    def __init__(self, to: str, found: Fills, least: float, seed: int) -> None:
        self._to, self._found, self._least, self._rng = to, found, least, random.Random(seed)  # noqa: S311
        self._context = multiprocessing.get_context("fork")
        self.spans: dict[str, tuple[float, float]] = {}

    def run(self, act: str, at_commit: bool = False) -> str:
        """Let a process do it, and kill it unless it is the first one; return the phase that it was in."""
        here, there = self._context.Pipe()
        phase = self._context.RawValue(c_int, 0)
        child = self._context.Process(target=work, args=(act, self._to, self._found, self._least, there, phase))
        child.start()
        here.recv()
        if act not in self.spans:
            started = time.perf_counter()
            commit = here.recv()
            self.spans[act] = time.perf_counter() - started, commit
        else:
            while at_commit and not phase.value:
                time.sleep(1e-4)
            time.sleep(self._rng.uniform(0, 1.5 * self.spans[act][at_commit]))
            child.kill()
        child.join()
        return PHASES[phase.value]


def main() -> None:
    """Run it and print how many kills fell where."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("database")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--min-probability", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    to, least = given.database, given.min_probability
    found = relatum.open(given.run).fill(to)
    tables = sorted({one.table for one in found})
    before = content(to, tables)
    killer, seen = Killer(to, found, least, given.seed), Counter[str]()
    killer.run("apply")
    after, cells = content(to, tables), logged(to)
    killer.run("undo")
    check(content(to, tables) == before != after, "undo without a kill")
    state, kills = "before", 0
    while kills < given.kills:
        act, wanted = ("apply", "after") if state == "before" else ("undo", "before")
        phase = killer.run(act, at_commit=kills % 4 > 1)
        kills += 1
        now = settled(to, tables, {before: "before", after: "after"})
        check(logged(to) == (cells if now == "after" else 0), "the log")
        seen[f"{act} killed {phase}, {'lasted' if now == wanted else 'did not last'}"] += 1
        state = now
    if state == "after":
        relatum.undo_fill(to)
    check(content(to, tables) == before, "the content in the end")
    where = without_password(to) if "://" in to else to
    result = {"database": where, "cells": cells, "kills": kills, "seconds": killer.spans, **dict(sorted(seen.items()))}
    print(json.dumps(result, indent=1))
    if given.out is not None:
        given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def settled(to: str, tables: list[str], states: dict[str, str]) -> str:
    """Return the state of the tables, as soon as the database lets anybody look; any other content is an error."""
    end = time.monotonic() + WAIT
    while True:
        try:
            return states[content(to, tables)]
        except relatum.DataError:
            if time.monotonic() > end:
                raise


if __name__ == "__main__":
    main()
