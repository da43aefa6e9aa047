"""The twin of a split by time: whole rows held out at random, with what refers to them, and all else as it was."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from relatum.data.hypergraph import Split
from relatum.tables import read
from relatum.tables.time_split import random_twin
from support.mistakes import mistake
from support.small_tables import csv_of, sqlite_of, store_of

SCRIPT = """CREATE TABLE people (id INTEGER PRIMARY KEY, city TEXT);
    CREATE TABLE orders (id INTEGER PRIMARY KEY, buyer INTEGER REFERENCES people, year INTEGER, shop TEXT, price REAL);
    CREATE TABLE lines (order_id INTEGER REFERENCES orders, item TEXT, colour TEXT, PRIMARY KEY (order_id, item));"""


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Split:
    rng = random.Random(2)
    people = [(n, f"town {n % 4}") for n in range(30)]
    orders = [(n, rng.randrange(30), 1900 + n // 4, f"s{n % 5}" if n % 7 else None, n * 0.7) for n in range(400)]
    lines = {(rng.randrange(400), f"i{rng.randrange(9)}"): rng.choice(("red", "blue")) for _ in range(900)}
    rows = [(*key, colour) for key, colour in lines.items()]
    path = sqlite_of(tmp_path_factory.mktemp("shop") / "shop.db", SCRIPT, people=people, orders=orders, lines=rows)
    return read(path, time="orders.year").split


def test_the_same_facts_and_as_many_rows_are_held_out(split: Split) -> None:
    twin = random_twin(split, 3)
    assert twin == random_twin(split, 3) != random_twin(split, 4)
    assert set.union(*map(set, twin.parts.values())) == set.union(*map(set, split.parts.values()))
    assert sum(map(len, twin.parts.values())) == sum(map(len, split.parts.values()))
    before, now = (one["orders"].parts.max(axis=0) for one in (store_of(split), store_of(twin)))
    assert np.bincount(before).tolist() == np.bincount(now).tolist()
    assert before.tolist() == sorted(before.tolist())  # the orders are in the order of their years
    assert now.tolist() != sorted(now.tolist())
    assert np.corrcoef(np.arange(400), before)[0, 1] - abs(np.corrcoef(np.arange(400), now)[0, 1]) > 0


def test_a_row_is_held_out_whole_with_what_refers_to_it(split: Split) -> None:
    twin = random_twin(split, 3)
    orders, lines, names = store_of(twin)["orders"], store_of(twin)["lines"], store_of(twin).names
    part_of = {names[cell]: part for cell, part in zip(orders.column("id"), orders.parts.max(axis=0), strict=True)}
    assert not orders.parts[orders.schema.index("id")].any()
    for index, column in enumerate(orders.schema.columns):
        if column.name != "id":
            there = orders.cells[index] >= 0
            assert (orders.parts[index][there] == orders.parts.max(axis=0)[there]).all(), column.name
            assert not orders.parts[index][~there].any()
    for cell, parts in zip(lines.column("order_id"), lines.parts.T, strict=True):
        assert set(parts.tolist()) == {part_of[names[cell]]}
    for number, part in enumerate(twin.parts.values()):
        for fact in part:
            if not fact[0].startswith("people"):
                assert part_of[fact[1]] == number


def test_what_was_not_split_by_time_stays(split: Split) -> None:
    twin = random_twin(split)
    for part, graph in split.parts.items():
        assert set(graph.table("people.city")) == set(twin.parts[part].table("people.city"))


def test_facts_that_were_not_split_by_time_are_refused(tmp_path: Path) -> None:
    path = csv_of(tmp_path / "t.csv", ("id", "a", "b"), [(n, n % 3, f"x{n % 4}") for n in range(40)])
    with mistake("no-time-split"):
        random_twin(read(path).split)
