"""A split by time: nothing in train is later than what is held out, against a plain loop."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relatum.tables import Imported, read
from relatum.tables.time_split import latest_of_each
from support.mistakes import mistake
from support.small_tables import csv_of, sqlite_of

SCRIPT = """
CREATE TABLE people (id INTEGER PRIMARY KEY, city TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, buyer INTEGER REFERENCES people (id), day {});
CREATE TABLE lines (order_id INTEGER REFERENCES orders (id), item TEXT, colour TEXT)
"""
PARTS = ("train", "valid", "test")


def moment(number: int) -> str:
    return f"20{10 + number // 336:02}-{1 + number // 28 % 12:02}-{1 + number % 28:02}"


def shop(path: Path, form: str) -> tuple[Path, dict[int, object], list[tuple[int, str, str]]]:
    """Make a shop whose order numbers say nothing of their days; return also the days of orders, and the lines."""
    rng = random.Random(3)
    numbers = rng.sample(range(2000), 150)
    days: dict[int, object] = {n: number if form == "INTEGER" else moment(number) for n, number in enumerate(numbers)}
    days[7] = None
    people = [(n, f"city {n % 4}") for n in range(30)]
    orders = [(n, rng.randrange(30), day) for n, day in days.items()]
    lines = [(rng.randrange(150), f"item {rng.randrange(9)}", rng.choice(("red", "blue"))) for _ in range(400)]
    sqlite_of(path, SCRIPT.format(form), people=people, orders=orders, lines=lines)
    return path, days, lines


def parts_of(imported: Imported, relation: str) -> dict[tuple[str, ...], int]:
    found = {}
    for number, part in enumerate(PARTS):
        for fact in imported.split.parts[part].table(relation):
            found[fact] = number
    return found


@pytest.mark.parametrize("form", ["DATE", "INTEGER"])
def test_nothing_in_train_is_later_than_what_is_held_out(tmp_path: Path, form: str) -> None:
    path, days, lines = shop(tmp_path / "shop.db", form)
    imported = read(path, time="orders.day", shapes={"lines": "fact"})
    first: dict[tuple[str, ...], object] = {}
    for order, item, colour in lines:
        fact = (f"orders:{order}", f"lines.item:{item}", f"lines.colour:{colour}")
        if days[order] is not None:
            first[fact] = days[order]
    buyers = {(fact[0],): part for fact, part in parts_of(imported, "orders.buyer").items()}
    by_part: dict[int, list[object]] = defaultdict(list)
    found = parts_of(imported, "lines")
    assert len(found) > 300
    for fact, part in found.items():
        if fact in first:
            by_part[part].append(first[fact])
    for (order,), part in buyers.items():
        if (day := days[int(order.partition(":")[2])]) is not None:
            by_part[part].append(day)
    assert all(len(by_part[part]) > 20 for part in range(3))
    assert max(by_part[0]) <= min(by_part[1])  # type: ignore[type-var]
    assert max(by_part[1]) <= min(by_part[2])  # type: ignore[type-var]
    shares = np.array([len(by_part[part]) for part in range(3)]) / sum(map(len, by_part.values()))
    assert shares == pytest.approx([0.8, 0.1, 0.1], abs=0.04)


def test_a_fact_that_several_rows_say_is_from_the_first_of_them(tmp_path: Path) -> None:
    rows = [(f"b{n % 6}", f"i{n % 4}", n) for n in range(120)]
    late = [("b0", "i1", 500), ("b1", "i1", 501), ("b0", "i0", 502)]
    csv_of(tmp_path / "sold.csv", ("buyer", "item", "hour"), [*rows, *late])
    imported = read(tmp_path / "sold.csv", time="hour", columns={"sold": ["buyer", "item"]}, valid=0.0, test=0.02)
    assert set(imported.split.test) == {("sold", "sold.buyer:b0", "sold.item:i1")}
    assert len(imported.split.train) == 12
    assert len(imported.split.valid) == 0


def test_facts_of_other_tables_are_split_as_usual(tmp_path: Path) -> None:
    path, _, _ = shop(tmp_path / "shop.db", "DATE")
    usual, timed = (parts_of(read(path, **options), "people.city") for options in ({}, {"time": "orders.day"}))
    assert timed.keys() == usual.keys()
    assert {list(timed.values()).count(part) for part in (1, 2)} == {3}


def test_what_cannot_say_when_is_refused(tmp_path: Path) -> None:
    path, _, _ = shop(tmp_path / "shop.db", "DATE")
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("bad-time-column", {"time": "city"}),
        ("unknown-name", {"time": "orders.dya"}),
        ("ambiguous-column", {"time": "id"}),
        ("bad-time-column", {"time": "orders.day", "tables": ["people", "lines"]}),
        ("bad-time-column", {"time_per": "orders.buyer"}),
        ("bad-time-column", {"time": "orders.day", "time_per": "people.city"}),
        ("unknown-name", {"time": "orders.day", "time_per": "orders.byer"}),
    ]
    for code, options in wrong:
        with mistake(code):
            read(path, **options)
    rows = [(n, n % 5, None) for n in range(20)]
    empty = sqlite_of(tmp_path / "empty.db", "CREATE TABLE sold (buyer INTEGER, item INTEGER, day DATE)", sold=rows)
    people, lines = [(n, f"city {n % 3}") for n in range(20)], [(n % 7, f"i{n % 3}", f"c{n % 2}") for n in range(30)]
    bare = sqlite_of(tmp_path / "bare.db", SCRIPT.format("DATE"), people=people, lines=lines)
    for path in (empty, bare):  # a column of times without any
        with mistake("bad-time-column"):
            read(path, time="day")


def test_the_last_of_each_group_are_held_out_against_a_loop() -> None:
    rng = np.random.default_rng(2)
    groups = rng.integers(-1, 12, 300).astype(np.int32)
    moments = np.where(rng.random(300) < 0.05, np.nan, rng.integers(0, 40, 300).astype(np.float64))
    found = latest_of_each(moments, groups, 0.1, 0.2)
    for group in range(12):
        mine = np.flatnonzero((groups == group) & ~np.isnan(moments))
        ordered = sorted(mine.tolist(), key=lambda row: moments[row])
        count = len(ordered)
        last, before = max(1, round(0.2 * count)), max(1, round(0.1 * count))
        expected = (
            dict.fromkeys(ordered, 0) | dict.fromkeys(ordered[-last - before :], 1) | dict.fromkeys(ordered[-last:], 2)
        )
        for row in ordered:
            same = [one for one in ordered if moments[one] == moments[row]]
            first = moments[row] == moments[ordered[0]]
            assert found[row] == (0 if first else max(expected[one] for one in same))
    assert (found[np.isnan(moments)] == -1).all()
    assert (found[(groups < 0) & ~np.isnan(moments)] == 0).all()
    assert set(found.tolist()) == {-1, 0, 1, 2}
    assert not latest_of_each(moments, groups, 0.0, 0.0)[~np.isnan(moments)].any()


def test_by_person_nobody_is_tested_on_what_came_before_what_was_trained_on(tmp_path: Path) -> None:
    path, days, _ = shop(tmp_path / "shop.db", "DATE")
    imported = read(path, time="orders.day", time_per="orders.buyer", shapes={"lines": "fact"})
    found = parts_of(imported, "orders.buyer")
    by_buyer: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for (order, buyer), part in found.items():
        if (day := days[int(order.partition(":")[2])]) is not None:
            by_buyer[buyer][part].append(str(day))
    assert sum(2 in one for one in by_buyer.values()) > 20
    for one in by_buyer.values():
        for part in (0, 1):
            assert not one[part] or not one[part + 1] or max(one[part]) < min(one[part + 1])
    parts = {order: part for (order, _), part in found.items()}
    for (order, *_), part in parts_of(imported, "lines").items():  # lines go with their orders
        if days[int(order.partition(":")[2])] is not None and order in parts:
            assert part == parts[order] or not part  # what alone shows an entity stays in train
