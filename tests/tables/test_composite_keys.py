"""Keys of several columns, found in the values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from relatum.tables import Imported, read
from relatum.tables.composite_keys import find_key
from support.small_tables import csv_of


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
    assert imported.split.rows is not None
    assert imported.split.rows["t"].schema.keys == (("station", "time_hour"),)
    assert imported.split.rows.keys == {}  # groups of hours tell no rows apart
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
    assert called.split.rows is not None
    assert called.split.rows.keys == {"t": ((0, 1),)}
