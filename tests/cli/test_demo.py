"""The demo runs to its end, step by step, recovers the row that was taken out, and leaves a page to open."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

from relatum.api import Run
from relatum.cli.demo_tables import LEFT_OUT, demo_tables, write_demo_tables
from support.command_line import Relatum


def test_the_demo_shows_every_step_and_recovers_the_row_that_was_taken_out(run: Relatum, tmp_path: Path) -> None:
    folder = tmp_path / "the demo"
    code, out, _ = run("demo", "--out", str(folder), "--seed", "3")
    assert code == 0
    for verb in ("import", "train", "complete", "similar", "rules", "report"):
        assert f"$ relatum {verb} " in out
    assert "visits = project[away, city](matches)" in out
    assert "relatum import shop.db" in out
    page = folder / "run" / "report.html"
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert str(page) in out

    trained = Run.load(folder / "run")
    assert ("matches", *LEFT_OUT) not in set(trained.facts)
    first, *others = trained.complete("matches(Real Madrid, FC Barcelona, ?, ?, ?)", k=5)
    assert first.entities == LEFT_OUT[2:]
    assert first.probability is not None
    assert first.probability > 0.6
    stadiums, cities, leagues = (set(column) for column in list(zip(*demo_tables()["matches"][1:], strict=True))[2:])
    for answer in (first, *others):  # nothing but stadiums, cities and leagues, though nobody said what these are
        assert answer.entities[0] in stadiums
        assert answer.entities[1] in cities
        assert answer.entities[2] in leagues


def test_the_tables_hold_what_they_promise(tmp_path: Path) -> None:
    matches, visits, derbies = (rows[1:] for rows in demo_tables().values())
    whole = {*matches, LEFT_OUT}
    assert LEFT_OUT not in matches
    assert len(whole) == len(matches) + 1 == 5 * 10 * 9
    assert Counter(league for *_, league in whole) == dict.fromkeys({row[4] for row in whole}, 90)
    assert {(away, city) for _, away, _, city, _ in whole} == set(visits)
    assert {(rival, club, city) for club, rival, city in derbies} == set(derbies)
    clubs, others = {row[0] for row in whole}, {name for row in whole for name in row[2:]}
    assert not clubs & others  # no name means two things
    for path in write_demo_tables(tmp_path):
        with path.open(newline="") as file:
            assert [tuple(row) for row in csv.reader(file)] == demo_tables()[path.stem]


def test_the_demo_does_not_write_into_what_is_there(run: Relatum, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    code, _, err = run("demo", "--out", str(tmp_path))
    assert code == 2
    assert str(tmp_path) in err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
