"""Decisions are kept, replaced, undone, listed and exported, and none that was acknowledged is lost in a kill."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from relatum.serving.decisions import Decisions
from relatum.serving.errors import RequestError
from support.mistakes import mistake

FACT = ("sold", ("drew", "alex", "book"))


def test_what_was_decided_is_there_when_the_file_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "decisions.db"
    first = Decisions(path)
    kept = first.decide("shop", *FACT, "accept", 0.5)
    first.close()
    again = Decisions(path)
    assert again.standing("shop") == [kept]
    assert again.of_relation("shop", "sold") == {FACT[1]: kept}
    assert again.counts("shop") == {"accept": 1, "reject": 0}
    assert again.standing("other") == []
    assert again.secret == first.secret


def test_a_later_decision_replaces_the_one_that_stood_and_undo_takes_it_back(tmp_path: Path) -> None:
    decisions = Decisions(tmp_path / "decisions.db")
    first = decisions.decide("shop", *FACT, "accept")
    second = decisions.decide("shop", *FACT, "reject")
    assert [one.id for one in decisions.standing("shop")] == [second.id]
    for run, number in (("shop", first.id), ("other", second.id)):
        with mistake("no-such-decision"):
            decisions.undo(run, number)
    assert decisions.undo("shop", second.id) == second
    assert decisions.standing("shop") == []
    third = decisions.decide("shop", *FACT, "accept")
    assert third.id > second.id  # a number is never used twice


def test_the_export_is_what_a_file_of_facts_is(tmp_path: Path) -> None:
    decisions = Decisions(tmp_path / "decisions.db")
    decisions._connection.execute("PRAGMA synchronous = OFF")  # many, and none is to outlive a crash
    names = [f"näme {number} ' \" \\ <b>" for number in range(1010)]  # more than one page
    for name in names:
        decisions.decide("shop", "sold", (name, "x"), "accept")
    decisions.decide("shop", "sold", ("rejected", "x"), "reject")
    undone = decisions.decide("shop", "sold", ("undone", "x"), "accept")
    decisions.undo("shop", undone.id)
    assert "".join(decisions.accepted("shop")) == "".join(f"sold\t{name}\tx\n" for name in names)
    assert len(decisions.standing("shop", limit=10)) == 10
    assert decisions.standing("shop", before=3)[0].id == 2


def test_a_name_that_a_file_of_facts_cannot_hold_is_refused(tmp_path: Path) -> None:
    decisions = Decisions(tmp_path / "decisions.db")
    for name in ("a\tb", "a\nb", "a\rb", "a\0b"):
        with mistake("unwritable-name"):
            decisions.decide("shop", "sold", (name,), "accept")
    assert decisions.standing("shop") == []


def test_a_file_that_holds_something_else_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    before = other.read_bytes()
    with mistake("not-decisions", place=other):
        Decisions(other)
    assert other.read_bytes() == before
    text = tmp_path / "text.db"
    text.write_text("not a database at all, but long enough to be looked at" * 20)
    for path in (text, tmp_path / "nowhere" / "decisions.db"):
        with mistake("not-decisions", place=path):
            Decisions(path)


def test_threads_and_processes_write_beside_each_other(tmp_path: Path) -> None:
    path = tmp_path / "decisions.db"
    two = [Decisions(path), Decisions(path)]  # as two processes have it
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: two[n % 2].decide("shop", "sold", (f"e{n}",), "accept"), range(80)))
    assert two[0].counts("shop") == two[1].counts("shop") == {"accept": 80, "reject": 0}
    assert two[0].secret == two[1].secret


def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "decisions.db"
    decisions = Decisions(path)
    kept = [decisions.decide("shop", "sold", (f"e{n}",), "accept") for n in range(5)]
    decisions._connection.execute("PRAGMA max_page_count = 6")  # as little as there may be
    with pytest.raises(RequestError, match="full"):
        for number in range(10_000):
            kept.append(decisions.decide("shop", "sold", (f"x{number}" * 20,), "accept"))
    decisions._connection.execute("PRAGMA max_page_count = 100000")
    assert decisions.counts("shop")["accept"] == len(kept)
    kept.append(decisions.decide("shop", *FACT, "accept"))
    decisions.close()
    assert Decisions(path).counts("shop")["accept"] == len(kept)


def test_what_is_damaged_while_the_file_is_open_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "decisions.db"
    decisions = Decisions(path)
    for number in range(300):
        decisions.decide("run", "sold", (f"drew {number}", "x" * 200), "accept")
    decisions.decide("other", "sold", ("drew",), "accept")
    for damaged in ("[", "5"):
        with sqlite3.connect(path) as other:
            other.execute("UPDATE decisions SET entities = ? WHERE run = 'other'", (damaged,))
        other.close()
        with pytest.raises(RequestError, match="decision 301 is damaged"):
            decisions.standing("other")
    decisions.close()
    content = bytearray(path.read_bytes())
    content[24576:] = bytes(byte ^ 0x55 for byte in content[24576:])
    path.write_bytes(content)
    opened = Decisions(path)
    accepted, of_relation = lambda run: list(opened.accepted(run)), lambda run: opened.of_relation(run, "sold")
    for ask in (opened.standing, opened.counts, accepted, of_relation):
        with pytest.raises(RequestError, match="decisions cannot be read"):
            ask("run")


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
