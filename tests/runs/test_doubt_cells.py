"""Doubtful cells: a wrong cell comes first, with what is expected and why."""

from __future__ import annotations

import pytest

import relatum
from relatum import Run
from support.mistakes import mistake
from support.small_tables import sqlite_of


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
