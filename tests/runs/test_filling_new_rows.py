"""Cells of rows that came after the import: what was imported still counts."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import relatum
from relatum import Run

MAKERS = ("Fiat", "Opel", "Seat")
TABLES = """
CREATE TABLE models (model TEXT PRIMARY KEY, maker TEXT);
CREATE TABLE trips (driver TEXT, model TEXT REFERENCES models (model), city TEXT);
"""


def write(path: Path, models: list[tuple[object, ...]], trips: list[tuple[object, ...]]) -> str:
    """Make a database of car models and trips."""
    with sqlite3.connect(path) as database:
        database.executescript(TABLES)
        database.executemany("INSERT INTO models VALUES (?, ?)", models)
        database.executemany("INSERT INTO trips VALUES (?, ?, ?)", trips)
    database.close()
    return str(path)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a run on 200 trips: a driver has a city, and always the same model."""
    models = [(f"m{n}", MAKERS[n % 3]) for n in range(20)]
    trips: list[tuple[object, ...]] = [(f"d{n % 20}", f"m{n % 20}", f"c{n % 4}") for n in range(200)]
    path = write(tmp_path_factory.mktemp("cars") / "cars.db", list(models), trips)
    return relatum.fit(relatum.read(path), dim=10, epochs=2, evidence=False, progress=False)


def test_a_whole_table_that_is_read_again_counts_once(run: Run, tmp_path: Path) -> None:
    trips: list[tuple[object, ...]] = [(f"d{n % 20}", f"m{n % 20}", f"c{n % 4}") for n in range(200)]
    gap: list[tuple[object, ...]] = [("d5", "m5", None)]
    models: list[tuple[object, ...]] = [(f"m{n}", MAKERS[n % 3]) for n in range(20)]
    whole = run.fill(write(tmp_path / "whole.db", models, trips + gap), columns=["city"])[0]
    alone = run.fill(write(tmp_path / "alone.db", [], gap), columns=["city"])[0]
    assert whole.value == alone.value == "c1"
    assert whole.probability == pytest.approx(alone.probability, abs=1e-6)
