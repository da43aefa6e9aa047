"""Decisions are kept, replaced, undone, listed and exported; a file that is not theirs is refused."""

from __future__ import annotations

import sqlite3
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
