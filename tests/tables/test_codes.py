"""Numbers that are codes: the same number tells other columns, its neighbours do not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from relatum.arrays import Int64
from relatum.tables import Imported, read
from relatum.tables.codes import is_code
from relatum.tables.columns import is_called_like_code
from support.small_tables import csv_of

ROWS, RNG = 4000, np.random.default_rng(3)
FLIGHTS = RNG.integers(0, 300, ROWS)
ROUTES = RNG.integers(0, 30, 300)  # of each flight number, in no order
AMOUNTS = RNG.integers(0, 300, ROWS)


def noisy(values: Int64, size: int, share: float) -> Int64:
    """Return values of which a share was replaced at random."""
    return np.where(RNG.random(len(values)) < share, RNG.integers(0, size, len(values)), values)


def test_a_number_whose_neighbours_say_nothing_is_a_code() -> None:
    others = {
        "dest": noisy(ROUTES[FLIGHTS], 30, 0.2),
        "carrier": noisy(ROUTES[FLIGHTS] % 7, 7, 0.2),
        "gate": ROUTES[FLIGHTS] % 11,
    }
    found = is_code(FLIGHTS, others)
    assert found is not None
    assert found.same > 0.75
    assert found.neighbours < 0.25
    assert str(found).startswith(f"a code: the same number tells {found.column} in ")
    several = {name: values for name, values in others.items() if name != "gate"}
    assert is_code(FLIGHTS, several) is None  # two columns may do so by accident
    gaps = np.where(RNG.random(ROWS) < 0.3, -1, FLIGHTS)
    assert is_code(gaps, others) is not None


def test_amounts_are_no_codes_even_if_each_has_a_single_value() -> None:
    steps = {"band": AMOUNTS // 30, "class": AMOUNTS // 100, "half": AMOUNTS // 150}
    assert is_code(AMOUNTS, steps) is None
    # as the distance of a route does: it determines where to, and yet the time in the air goes by its size
    routes = {"dest": ROUTES[AMOUNTS], "origin": ROUTES[AMOUNTS] % 3, "carrier": ROUTES[AMOUNTS] % 7, "time": AMOUNTS // 15}
    assert is_code(AMOUNTS, routes) is None
    assert is_code(AMOUNTS, {name: RNG.integers(0, 9, ROWS) for name in "abcd"}) is None


def test_what_too_few_rows_share_shows_nothing() -> None:
    assert is_code(np.arange(ROWS), {name: np.arange(ROWS) % 30 for name in "abcd"}) is None
    assert is_code(np.full(ROWS, -1), {name: np.arange(ROWS) % 30 for name in "abcd"}) is None
    assert is_code(FLIGHTS, {}) is None


def shop(tmp_path: Path, **options: object) -> Imported:
    names = ("flight", "dest", "carrier", "gate", "age")
    carriers = [f"c{ROUTES[n] % 7}" for n in FLIGHTS]
    gates = [f"g{ROUTES[n] % 11}" for n in FLIGHTS]
    rows = zip(FLIGHTS.tolist(), [f"d{ROUTES[n]}" for n in FLIGHTS], carriers, gates, AMOUNTS.tolist(), strict=True)
    return read(csv_of(tmp_path / "flights.csv", names, rows), **options)


def test_an_import_takes_codes_as_entities_and_says_why(tmp_path: Path) -> None:
    records = {one.column: one for one in shop(tmp_path).columns}
    assert records["flight"].outcome == "entities"
    assert records["flight"].why.startswith("a code: the same number tells dest in 100% of rows, its neighbours in ")
    assert records["age"].outcome == "bins"
    assert shop(tmp_path, bins={"flight": 5}).columns[0].outcome == "bins"


CODES = ["zip", "ZipCode", "ship_postal_code", "sku", "ISBN", "item_id", "plz", "billing.phone"]
AMOUNTS_BY_NAME = ["year", "height", "price", "unzip", "phones", "seats", "distance"]


@pytest.mark.parametrize("name", CODES + AMOUNTS_BY_NAME)
def test_codes_have_names_and_amounts_have_others(name: str) -> None:
    assert is_called_like_code(name) == (name in CODES)


def test_numbers_that_are_called_like_codes_are_not_cut_into_groups(tmp_path: Path) -> None:
    rows = [(10_000 + n * 37 % 90, n % 90, f"x{n % 4}") for n in range(900)]
    records = {one.column: one for one in read(csv_of(tmp_path / "t.csv", ("zip", "age", "x"), rows)).columns}
    assert (records["zip"].outcome, records["zip"].why) == ("entities", "called like a code: 90 values in 900 rows")
    assert records["age"].outcome == "bins"
