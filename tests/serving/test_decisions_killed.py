"""A process that is killed while decisions are written loses none that it acknowledged, and never leaves a torn file."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from relatum.serving.decisions import Decisions

WRITER = """
import sys
from pathlib import Path
from relatum.serving.decisions import Decisions
decisions, name = Decisions(Path(sys.argv[1])), sys.argv[2]
number = 0
while True:
    one = decisions.decide("shop", "sold", (name, str(number)), "accept" if number % 3 else "reject")
    print(one.id, flush=True)  # only now it is acknowledged
    if number % 5 == 4:
        decisions.undo("shop", one.id)
        print(-one.id, flush=True)
    number += 1
"""


def whole(path: Path) -> set[int]:
    """Return the numbers of the decisions that stand; the file must be whole."""
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        found = {number for (number,) in connection.execute("SELECT id FROM decisions WHERE undone IS NULL")}
    connection.close()
    return found


def acknowledged(lines: list[str]) -> tuple[set[int], set[int]]:
    """Return which decisions were acknowledged and stand, and which were undone; a last line without its end is none."""
    numbers = [int(line) for line in lines if line.endswith("\n")]
    undone = {-number for number in numbers if number < 0}
    return {number for number in numbers if number > 0} - undone, undone


def test_a_writer_that_is_killed_at_a_random_moment(tmp_path: Path, count: Callable[[int, int], int]) -> None:
    path, rng = tmp_path / "decisions.db", random.Random(7)
    standing: set[int] = set()
    undone: set[int] = set()
    for number in range(count(5, 50)):
        command = [sys.executable, "-c", WRITER, str(path), f"writer {number}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            first = writer.stdout.readline()
            time.sleep(rng.uniform(0, 0.05))
            writer.send_signal(signal.SIGKILL)
            more, taken = acknowledged([first, *writer.stdout.readlines()])
        standing |= more
        undone |= taken
        found = whole(path)
        # What was written but not acknowledged may be there: the kill came between the two.
        lost, back = standing - found, undone & found
        late = {max(standing)}  # undone on disk, not acknowledged yet
        assert lost <= late
        assert not back
        standing -= lost
    assert len(standing) >= count(5, 50)  # the first of each writer
    reopened = Decisions(path)
    assert sum(reopened.counts("shop").values()) == len(whole(path))
