"""Groups of numbers and dates are cut by train alone: held-out values fall into the groups that there are."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relatum.data.row_store import RowTable
from relatum.tables import Imported, read
from support.small_tables import all_facts, csv_of, store_of

ROWS = 400
PRICES = np.random.default_rng(5).lognormal(3, 1, ROWS).round(2).tolist()
DAYS = [f"20{10 + n % 13:02}-{1 + n % 12:02}-{1 + n % 28:02}" for n in range(ROWS)]


def imported(tmp_path: Path, **options: Any) -> Imported:
    rows = [(n, f"c{n % 9}", PRICES[n] if n % 11 else None, DAYS[n], n % 5) for n in range(ROWS)]
    return read(csv_of(tmp_path / "items.csv", ("id", "category", "price", "day", "size"), rows), **options)


def items(found: Imported) -> RowTable:
    return store_of(found.split)["items"]


def edges(values: list[Any], count: int) -> list[Any]:
    """Return the greatest value of each group but the last, by plain quantiles."""
    ordered = sorted(values)
    cuts = [ordered[math.ceil(len(ordered) * part / count) - 1] for part in range(1, count)]
    return [cut for cut in dict.fromkeys(cuts) if cut != ordered[-1]]


@pytest.mark.parametrize("seed", [0, 1])
def test_edges_are_the_quantiles_of_train_and_every_value_has_its_group(tmp_path: Path, seed: int) -> None:
    found = imported(tmp_path, seed=seed, valid=0.2, test=0.2)
    table, names = items(found), found.split.rows
    assert names is not None
    for column, values in (("price", [PRICES[n] if n % 11 else None for n in range(ROWS)]), ("day", DAYS)):
        index = table.schema.index(column)
        bins = table.schema.columns[index].bins
        assert bins is not None
        seen = [value for value, part in zip(values, table.parts[index], strict=True) if value is not None and part == 0]
        assert 0.5 * ROWS < len(seen) < 0.8 * ROWS
        read_back: list[Any] = [float(edge) for edge in bins.edges] if column == "price" else list(bins.edges)
        assert read_back == edges(seen, 20 if column == "day" else 18)  # 20 rows in a group at least
        assert max(map(float, bins.greatest)) == max(seen) if column == "price" else max(bins.greatest) == max(seen)
        for value, cell in zip(values, table.cells[index].tolist(), strict=True):
            group = None if value is None else sum(value > edge for edge in read_back)
            expected = None if group is None else f"items.{column}:{bins.names[group]}"
            assert (None if cell < 0 else names.names[cell]) == expected


def test_facts_are_those_of_the_rows_and_train_knows_every_entity(tmp_path: Path) -> None:
    found = imported(tmp_path, valid=0.2, test=0.2)
    table, rows = items(found), found.split.rows
    assert rows is not None
    index = table.schema.index("price")
    for number, part in enumerate(found.split.parts.values()):
        expected = {
            (f"items:{row}", rows.names[table.cells[index, row]])
            for row in range(ROWS)
            if table.cells[index, row] >= 0 and table.parts[index, row] == number
        }
        assert {(fact[1], fact[2]) for fact in part if fact[0] == "items.price"} == expected
    assert len(all_facts(found)) == sum(record.facts for record in found.tables)
    assert (found.split.train.degrees() > 0).all()


def test_held_out_values_beyond_all_others_fall_into_the_outer_groups(tmp_path: Path) -> None:
    days = [f"{2000 + n // 20}-01-{1 + n % 20:02}" for n in range(ROWS)]  # the last rows are the last in time
    rows = [(n, f"c{n % 9}", n * n, days[n]) for n in range(ROWS)]
    found = read(csv_of(tmp_path / "items.csv", ("id", "category", "price", "day"), rows), time="day")
    table = items(found)
    bins = table.schema.column("price").bins
    assert bins is not None
    assert float(bins.greatest[-1]) < 0.9**2 * ROWS**2
    assert store_of(found.split).names[int(table.column("price")[-1])] == f"items.price:{bins.names[-1]}"
    assert table.parts[table.schema.index("price"), -1] == 2


def test_facts_that_become_the_same_are_in_one_part(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = [(f"i{rng.integers(6)}", f"b{rng.integers(4)}", int(rng.integers(1, 90))) for _ in range(300)]
    path = csv_of(tmp_path / "sales.csv", ("item", "buyer", "price"), rows)
    found = read(path, columns={"sales": ["item", "buyer", "price"]}, bins={"price": 6}, valid=0.2, test=0.2)
    facts = all_facts(found)  # which refuses one that is in two parts
    table = store_of(found.split)["sales"]
    names = store_of(found.split).names
    assert facts == {("sales", *(names[cell] for cell in row)) for row in table.cells.T.tolist()}
    for number, part in enumerate(found.split.parts.values()):
        chosen = table.cells[:, table.parts[0] == number].T.tolist()
        assert set(part) == {("sales", *(names[cell] for cell in row)) for row in chosen}
    assert (table.parts == table.parts[0]).all()


def test_null_as_a_value_and_nothing_held_out(tmp_path: Path) -> None:
    found = imported(tmp_path, null="value", valid=0.2, test=0.2)
    assert sum(fact[2] == "items.price:NULL" for fact in all_facts(found)) == len(range(0, ROWS, 11))
    whole = items(imported(tmp_path, valid=0.0, test=0.0)).schema.column("day").bins
    assert whole is not None
    assert list(whole.edges) == edges(DAYS, 20)
