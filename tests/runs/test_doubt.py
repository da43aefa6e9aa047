"""A run lists doubtful facts and cells, with the rules, facts and cells behind each doubt."""

from __future__ import annotations

import random
import sqlite3
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import relatum
from relatum import Hypergraph, Run, fit
from support.mistakes import mistake
from support.small_tables import sqlite_of

WRONG = ("track", "t3-1", "a3", "g2")


@pytest.fixture(scope="module")
def store() -> Run:
    """Return a run on a store with one wrong genre."""
    facts = [("track", f"t{a}-{t}", f"a{a}", f"g{a % 5}") for a in range(20) for t in range(6)]
    facts[facts.index(("track", "t3-1", "a3", "g3"))] = WRONG
    return fit(Hypergraph.of(facts), dim=10, epochs=2, progress=False)


def test_the_wrong_fact_comes_first_with_what_is_expected_and_why(store: Run) -> None:
    first = store.doubt(k=1)[0]
    assert (first.relation, *first.entities) == WRONG
    assert (str(first), first.role, first.stored, first.expected) == ("track(t3-1, a3, g2)", "position 2", "g2", "g3")
    assert first.source == "train"
    assert all(one.confidence < first.reasons[0].confidence for one in first.support)
    assert first.evidence > 1
    reason = first.reasons[0]
    assert reason.rule == "track(A, B, C) <- track(_, B, C)"
    assert (reason.facts[0], len(reason.facts) + reason.more) == ("track(t3-0, a3, g3)", 5)
    assert len({one.facts for one in first.reasons}) == len(first.reasons)


def test_what_cannot_be_doubted_is_refused(store: Run) -> None:
    with mistake("unknown-name"):
        store.doubt("trakc")
    with mistake("setting-out-of-range"):
        store.doubt(k=0)
    store.define("genre", "project[1, 2](track)")
    with mistake("defined-relation"):
        store.doubt("genre")
    assert store.doubt(k=1)[0].stored == "g2"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a run on 200 cars, whose model determines their maker; one has the wrong maker."""
    makers = ("Fiat", "Opel", "Seat")
    rows = [(n, makers[n % 3], f"m{n % 12}", n % 2) for n in range(200)]
    rows[90] = (90, "Opel", "m6", 0)
    script = "CREATE TABLE cars (id INTEGER PRIMARY KEY, maker TEXT, model TEXT, doors INTEGER)"
    path = sqlite_of(tmp_path_factory.mktemp("cars") / "cars.db", script, cars=rows)
    return relatum.fit(relatum.read(str(path)), dim=10, epochs=2, evidence=False, progress=False)


def test_the_wrong_cell_comes_first_with_what_is_expected_and_why(run: Run) -> None:
    first, second = run.doubt_cells(columns=["maker"], k=2)[0], run.doubt_cells(columns=["maker"], k=2)[1:]
    assert (first.table, dict(first.row), first.column) == ("cars", {"id": 90}, "maker")
    assert (first.stored, first.expected) == ("Opel", "Fiat")
    assert first.probability > 0.9
    assert "model is m6" in first.reason
    assert all(one.doubt < first.doubt - 2 for one in second)


def test_doubtful_cells_are_records_the_most_doubtful_first(run: Run) -> None:
    found = run.doubt_cells(["cars"])
    assert len(found) <= 20
    assert [one.doubt for one in found] == sorted((one.doubt for one in found), reverse=True)
    assert all(one.doubt > 0 and one.stored != one.expected for one in found)
    row = found.to_dicts()[0]
    assert list(row) == ["table", "row", "column", "stored", "expected", "probability", "doubt", "reason"]


def test_what_is_not_there_and_facts_without_tables_are_refused(run: Run) -> None:
    with mistake("unknown-name"):
        run.doubt_cells(["carz"])
    with mistake("unknown-name"):
        run.doubt_cells(columns=["colour"])
    with mistake("no-column-models"):
        relatum.fit([("likes", "ann", "tea"), ("likes", "bob", "tea")], dim=4, epochs=1, progress=False).doubt_cells()


def test_what_a_law_of_the_table_says_is_not_doubted_and_what_breaks_it_is(tmp_path: Path) -> None:
    """Two columns of one moment are cut at other places, for one has gaps; a few rows have another moment."""
    rng = random.Random(4)
    start, wrong = datetime(2005, 1, 1), {60, 120, 180, 240, 300, 360}
    moments = [start + timedelta(hours=number, seconds=rng.randrange(3000)) for number in range(900)]
    with sqlite3.connect(tmp_path / "paid.db") as paid:
        paid.execute("CREATE TABLE paid (id INTEGER PRIMARY KEY, rented TEXT, payed TEXT, clerk TEXT)")
        rows = [
            (number, None if number % 3 == 0 else str(one), str(start if number in wrong else one), "ab"[number % 2])
            for number, one in enumerate(moments)
        ]
        paid.executemany("INSERT INTO paid VALUES (?, ?, ?, ?)", rows)
        paid.execute("UPDATE paid SET rented = ? WHERE id % 3 = 0 AND id % 180 = 0", (str(moments[450]),))
    paid.close()
    run = relatum.fit(relatum.read(str(tmp_path / "paid.db")), dim=10, epochs=1, evidence=False, progress=False)
    held = {number: (rented, payed) for number, rented, payed, _ in rows}
    found = run.doubt_cells(columns=["rented", "payed"], k=900)
    assert found
    for one in found:
        number = one.row["id"]
        assert one.stored in [str(moment) for moment in (*held[number], moments[450])]  # type: ignore[index]
        if number % 60:  # type: ignore[operator]
            assert held[number][0] != held[number][1]  # type: ignore[index]
        low, high = one.expected.partition(" (")[2].rstrip(")").split(" to ")
        assert not low <= one.stored <= high
