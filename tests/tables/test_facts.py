"""Every cell is in the part of the split that its fact is in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from relatum.tables import Imported, read
from support.small_tables import csv_of, rows_of, sqlite_of, store_of

SCRIPT = """
CREATE TABLE items (id INTEGER PRIMARY KEY, category TEXT, weight REAL);
CREATE TABLE buyers (id INTEGER PRIMARY KEY, town TEXT, age INTEGER);
CREATE TABLE sales (id INTEGER PRIMARY KEY, item INTEGER REFERENCES items, buyer INTEGER REFERENCES buyers, channel TEXT,
    day TEXT, price REAL);
CREATE TABLE likes (buyer INTEGER REFERENCES buyers, item INTEGER REFERENCES items, PRIMARY KEY (buyer, item));
"""
PARTS = ("train", "valid", "test")


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    rng = np.random.default_rng(9)
    pairs = sorted({(int(a), int(b)) for a, b in zip(rng.integers(0, 40, 300), rng.integers(0, 50, 300), strict=True)})
    path = sqlite_of(
        tmp_path_factory.mktemp("facts") / "shop.db",
        SCRIPT,
        items=[(n, None if n % 7 == 0 else f"c{n % 4}", n * 0.3) for n in range(50)],
        buyers=[(n, f"t{n % 5}", 20 + n % 9) for n in range(40)],
        sales=[
            (n, int(rng.integers(50)), int(rng.integers(40)), f"h{n % 3}", f"2024-{1 + n % 12:02}-{1 + n % 28:02}", n * 0.7)
            for n in range(500)
        ],
        likes=pairs,
    )
    return read(path, valid=0.15, test=0.2, seed=3)


def test_a_cell_is_where_its_fact_is(imported: Imported) -> None:
    split = imported.split
    where = {fact: number for number, part in enumerate(PARTS) for fact in split.parts[part]}
    seen = {0: 0, 1: 0, 2: 0}
    for name, table in store_of(split).tables.items():
        for number, row in enumerate(rows_of(split, name)):
            for index, column in enumerate(table.schema.columns):
                if column.relation is None or column.part_of is not None or row[column.name] is None:
                    continue
                if column.name == table.schema.row_key:
                    assert table.parts[index, number] == 0
                    continue
                roles = split.schema[column.relation].roles
                assert roles is not None
                assert roles[column.position or 0] == column.name
                part = where[column.relation, *(str(row[role]) for role in roles)]
                assert table.parts[index, number] == part
                seen[part] += 1
    assert min(seen.values()) > 100


def test_a_measure_in_no_fact_is_held_out_in_the_same_shares_and_a_gap_never_is(tmp_path: Path) -> None:
    rows = [(f"a{n % 9}", f"b{n % 7}", None if n % 4 == 0 else n * 0.13) for n in range(4000)]
    path = csv_of(tmp_path / "met.csv", ("who", "whom", "minutes"), rows)
    split = read(path, valid=0.1, test=0.3).split
    met = store_of(split)["met"]
    parts, cells = met.parts[met.schema.index("minutes")], met.column("minutes")
    assert not parts[cells < 0].any()
    shares = np.bincount(parts[cells >= 0], minlength=3) / np.count_nonzero(cells >= 0)
    assert shares == pytest.approx([0.6, 0.1, 0.3], abs=0.03)
    again = read(path, valid=0.1, test=0.3).split.rows
    other = read(path, valid=0.1, test=0.3, seed=1).split.rows
    assert again is not None
    assert other is not None
    assert np.array_equal(again["met"].parts, met.parts)
    assert not np.array_equal(other["met"].parts, met.parts)
