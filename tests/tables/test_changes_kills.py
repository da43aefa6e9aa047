"""Whenever a process that fills or undoes is killed, the database is wholly before or wholly after, and can be undone."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from relatum.tables.changes import apply_changes, list_batches, undo_changes
from support.killed_filler import CELLS, ROWS, Act, Aim, KilledFiller, changes
from support.shop_to_fill import ENGINES, Filled, open_filled

TABLES = ("keyed", "loose")
AIMS: tuple[Aim, ...] = ("anywhere", "commit")


def prepare(filled: Filled) -> None:
    counted = f"SELECT 1 AS k UNION ALL SELECT k + 1 FROM r WHERE k < {ROWS}"  # noqa: S608
    for table, key in (("keyed", " PRIMARY KEY"), ("loose", "")):
        filled.run(
            f"CREATE TABLE {table} (k INTEGER{key}, g INTEGER, v TEXT, w DOUBLE PRECISION)",
            f"INSERT INTO {table} WITH RECURSIVE r AS ({counted}) SELECT k, NULLIF(k % 3, 0), NULL, NULL FROM r",  # noqa: S608
        )


def settle(filled: Filled) -> None:
    """Wait until the server has noticed that its client is dead."""
    others = {
        "postgres": "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND pid <> pg_backend_pid() AND backend_type = 'client backend'",
        "mysql": "SELECT count(*) FROM information_schema.processlist WHERE user = 'owner' AND id <> connection_id() "
        "AND db = 'trial'",
    }
    while filled.engine in others and filled.ask(others[filled.engine]) != [(0,)]:
        time.sleep(0.01)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL on Windows")
@pytest.mark.parametrize("engine", ENGINES)
def test_undo_restores_the_content_after_kills(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest, count: Callable[[int, int], int]
) -> None:
    filled = open_filled(engine, tmp_path, request)
    prepare(filled)
    filler, seen = KilledFiller(filled.to, tmp_path), Counter[str]()
    before = filled.content(*TABLES)

    def run(act: Act, aim: Aim) -> str:
        """Return which of the two states the tables are in after a kill; the log has the same."""
        phase = filler.run(act, aim)
        settle(filled)
        found = state()
        reached = "after" if act == "apply" else "before"
        assert (phase, found == reached) not in (("before the commit", True), ("after the commit", False))
        seen[f"{act}, aimed {aim}: {phase}{' it lasted' * (found == reached)}"] += 1
        return found

    def state() -> str:
        content = filled.content(*TABLES)
        assert content in (before, after)
        logged = sum(each.cells - each.undone for each in list_batches(filled.to))
        assert logged == (CELLS if content == after else 0)
        return "after" if content == after else "before"

    filler.run("apply")
    after = filled.content(*TABLES)
    assert after != before
    filler.run("undo")
    assert state() == "before"
    for aim in AIMS:
        for _ in range(count(1, 50)):
            filled.run("DROP TABLE IF EXISTS relatum_changes")
            if run("apply", aim) == "before":
                assert apply_changes(filled.to, changes()).applied == CELLS
            if run("undo", aim) == "after":
                assert undo_changes(filled.to).restored == CELLS
            assert state() == "before"
    print(engine, filler.spans, *sorted(seen.items()), sep="\n")
    assert sum(seen.values()) == 4 * count(1, 50)
