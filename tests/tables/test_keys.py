"""Keys and codes that no source declares, found in the values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from relatum.arrays import Int64
from relatum.tables import Imported, read
from relatum.tables.columns import is_called_like_code
from relatum.tables.keys import find_key, is_code
from support.small_tables import all_facts, csv_of, relations, sqlite_of, store_of


def keys(imported: Imported) -> dict[str, str]:
    return {record.table: record.column for record in imported.columns if record.outcome == "key"}


def key_of(tmp_path: Path, heads: tuple[str, ...], rows: list[tuple[object, ...]]) -> str | None:
    path = csv_of(tmp_path / "t.csv", (*heads, "x", "y"), [(*row, n % 3, n % 4) for n, row in enumerate(rows)])
    return keys(read(path)).get("t")


def test_a_column_with_a_value_of_its_own_in_every_row_is_the_key_if_it_looks_like_one(tmp_path: Path) -> None:
    rows = range(24)
    assert key_of(tmp_path, ("a", "id"), [(n, n + 50) for n in rows]) == "id"
    assert key_of(tmp_path, ("a", "t_id"), [(n, n + 50) for n in rows]) == "t_id"
    assert key_of(tmp_path, ("a", "b"), [(f"a{n}", n + 50) for n in rows]) == "a"
    assert key_of(tmp_path, ("a", "b", "plate_no"), [(n % 5, n * 3, f"P{n}") for n in rows]) == "plate_no"
    assert (
        key_of(tmp_path, ("a", "b"), [(n % 5, n * 3) for n in rows]) is None
    )  # b is first in nothing, and called so by no one
    assert key_of(tmp_path, ("a", "b"), [(n / 7, n % 5) for n in rows]) is None  # a fraction is a measure
    assert key_of(tmp_path, ("id", "b"), [(n or None, n % 5) for n in rows]) is None  # a gap
    assert key_of(tmp_path, ("id", "b"), [(max(n, 1), n % 5) for n in rows]) is None  # twice
    assert key_of(tmp_path, ("a", "b"), [(f"this is not {n}", n % 5) for n in rows]) is None  # many words
    assert key_of(tmp_path, ("day", "b"), [(f"2024-01-{n + 1:02}", n % 5) for n in rows]) is None


def test_what_refers_to_another_table_is_no_key_by_accident(tmp_path: Path) -> None:
    items = csv_of(tmp_path / "items.csv", ("id", "kind"), [(n, f"k{n % 3}") for n in range(30)])
    sales = csv_of(tmp_path / "sales.csv", ("item", "buyer"), [(n, f"b{n % 4}") for n in range(24)])
    assert keys(read([items, sales])) == {"items": "id", "sales": "item"}
    linked = read([items, sales], links={"sales.item": "items.id"})
    assert keys(linked) == {"items": "id"}
    assert relations(linked) == ["items.kind(id, kind)", "sales(item, buyer)"]
    script = """CREATE TABLE items (id INTEGER PRIMARY KEY, kind TEXT);
        CREATE TABLE sales (item INTEGER REFERENCES items (id), buyer TEXT);
        CREATE TABLE extras (id INTEGER REFERENCES items (id), colour TEXT);"""
    some = [(n, f"k{n % 3}") for n in range(20)]
    declared = read(sqlite_of(tmp_path / "s.db", script, items=some, sales=some, extras=some))
    assert keys(declared) == {"items": "id", "extras": "id"}
    assert ("extras.colour", "items:7", "extras.colour:k1") in all_facts(declared)


def grid(*sizes: int) -> list[np.ndarray]:
    """Return columns in which every combination comes once, in no order."""
    columns = [one.reshape(-1) for one in np.meshgrid(*(np.arange(size) for size in sizes), indexing="ij")]
    order = np.random.default_rng(0).permutation(len(columns[0]))
    return [one[order] for one in columns]


def note(imported: Imported) -> str:
    return imported.tables[0].note


def test_the_fewest_columns_that_no_two_rows_are_alike_in_are_the_key() -> None:
    first, second, third = grid(12, 9, 5)
    other = np.random.default_rng(1).integers(0, 3, len(first))
    assert find_key([other, first, second, third]) == (1, 2, 3)
    assert find_key([first, 10 * second + third, other]) == (0, 1)
    assert find_key([first, second]) == ()
    twice = [np.append(one, one[:1]) for one in (first, second, third)]
    assert find_key(twice) == ()


def test_columns_that_happen_never_to_be_alike_are_no_key() -> None:
    rng = np.random.default_rng(2)
    many = [rng.integers(0, 5000, 200) for _ in range(4)]  # by accident no two rows are alike in any two
    assert len(np.unique(np.stack(many[:2]), axis=1).T) == 200
    assert find_key(many) == ()


@pytest.mark.parametrize("seed", range(5))
def test_what_is_found_is_a_key_and_none_of_its_columns_can_be_spared(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, size, 300) for size in rng.integers(2, 60, 6)]
    found = find_key(columns)
    for spared in (None, *found):
        kept = [columns[index] for index in found if index != spared]
        assert not kept or (np.unique(np.stack(kept), axis=1).shape[1] == 300) == (spared is None)


def test_readings_are_known_by_station_and_hour(tmp_path: Path) -> None:
    levels = np.random.default_rng(0).integers(0, 7, 1200)
    heads = ("station", "month", "temp", "level", "time_hour")
    rows = [
        (
            f"s{n % 3}",
            1 + n // 300,
            11 + n * 37 % 101,
            int(levels[n]),
            f"2024-{1 + n // 300:02}-{1 + n // 72 % 28:02} {n // 3 % 24:02}:00:00",
        )
        for n in range(1200)
    ]
    imported = read(csv_of(tmp_path / "t.csv", heads, rows))
    assert note(imported) == "its key is station and time_hour, found in its values"
    why = {one.column: (one.outcome, one.why) for one in imported.columns}
    assert why["time_hour"][0] == "bins"
    assert why["time_hour"][1].endswith("part of the key, in groups")
    assert store_of(imported.split)["t"].schema.keys == (("station", "time_hour"),)
    assert store_of(imported.split).keys == {}  # groups of hours tell no rows apart
    gap = [(None, *row[1:]) if n == 7 else row for n, row in enumerate(rows)]
    assert note(read(csv_of(tmp_path / "t.csv", heads, gap))) == "no column is a key"
    assert note(read(csv_of(tmp_path / "t.csv", heads, [*rows, rows[5]]))) == "no column is a key"
    assert note(read(csv_of(tmp_path / "t.csv", heads, rows[:99]))) == "no column is a key"  # too few rows say nothing


def test_measures_are_no_part_of_a_key(tmp_path: Path) -> None:
    rows = [(f"s{n % 3}", 7 * n % 401, 0.25 * (n * 3 % 401), f"k{n % 5}") for n in range(1200)]
    imported = read(csv_of(tmp_path / "t.csv", ("station", "pressure", "humid", "kind"), rows))
    assert note(imported) == "no column is a key"
    called = read(csv_of(tmp_path / "t.csv", ("station", "pressure_id", "humid", "kind"), rows))
    assert note(called) == "its key is station and pressure_id, found in its values"
    assert store_of(called.split).keys == {"t": ((0, 1),)}


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
