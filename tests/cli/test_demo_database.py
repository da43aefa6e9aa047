"""The countries of the world do not contradict themselves, and the demo changes what it says that it changes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from relatum.cli.demo import demo_script, true_value, write_demo_database

TABLES = ("countries", "borders", "languages", "members")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    write_demo_database(tmp_path / "new" / "world.db", changed=False)
    with closing(sqlite3.connect(tmp_path / "new" / "world.db")) as database:
        yield database


def test_the_tables_agree_with_each_other(world: sqlite3.Connection) -> None:
    assert not world.execute("PRAGMA foreign_key_check").fetchall()
    countries = world.execute("SELECT name, continent, region, currency, drives_on FROM countries").fetchall()
    assert len(countries) == 193
    assert all(all(row) for row in countries)
    assert {row[4] for row in countries} == {"left", "right"}
    continents = {(region, continent) for _, continent, region, *_ in countries}
    assert len(continents) == len({region for region, _ in continents}) == 22
    assert len({continent for _, continent in continents}) == 6
    borders = set(world.execute("SELECT country, neighbour FROM borders"))
    assert len(borders) == 618
    assert borders == {(neighbour, country) for country, neighbour in borders}
    assert all(country != neighbour for country, neighbour in borders)
    joined = [year for (year,) in world.execute("SELECT joined FROM members")]
    assert min(joined) >= 1931
    assert max(joined) <= 2024


def test_the_demo_changes_nothing_but_what_it_shows(world: sqlite3.Connection, tmp_path: Path) -> None:
    write_demo_database(tmp_path / "spoiled.db")
    cells = 0
    with closing(sqlite3.connect(tmp_path / "spoiled.db")) as spoiled:
        for table in TABLES:
            query = f"SELECT * FROM {table}"  # noqa: S608
            before, after = (set(database.execute(query)) for database in (world, spoiled))
            cells += len(after - before)
            assert len(before) - len(after) == (table == "borders")
            if table == "borders":
                assert before - after == {("France", "Germany")}
    assert cells == 9  # a cell in each of as many rows: eight are empty, one is wrong
    assert len(demo_script()["changes"]) == 7
    assert true_value("countries", "region", {"name": "Vietnam"}) == "South-eastern Asia"
    assert true_value("members", "joined", {"country": "Estonia", "organisation": "European Union"}) == "2004"
