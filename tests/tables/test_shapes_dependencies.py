"""Which column determines which: what is found is what a plain loop over rows counts."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relatum.data.row_store import Dependency
from relatum.data.vocabulary import Ids
from relatum.tables import read
from relatum.tables.shapes import find_dependencies
from support.small_tables import csv_of, store_of

Cell = int | None


def by_loop(columns: list[list[Cell]], first: int, second: int) -> tuple[float, int]:
    """Return the share of rows with the usual value of their group, and how many rows are in groups of two or more."""
    groups: dict[int, Counter[int]] = defaultdict(Counter)
    for given_cell, cell in zip(columns[first], columns[second], strict=True):
        if given_cell is not None and cell is not None:
            groups[given_cell][cell] += 1
    several = [group for group in groups.values() if group.total() > 1]
    rows = sum(group.total() for group in several)
    return (sum(max(group.values()) for group in several) / rows if rows else 0.0), rows


def is_dependency(columns: list[list[Cell]], first: int, second: int) -> bool:
    share, rows = by_loop(columns, first, second)
    there = [cell for cell in columns[second] if cell is not None]
    if first == second or not there or rows < 10:
        return False
    usual = max(Counter(there).values()) / len(there)
    return share >= 0.95 and 1 - share <= 0.5 * (1 - usual) + 1e-12


def as_cells(columns: list[list[Cell]]) -> Ids:
    return np.array([[-1 if cell is None else cell for cell in column] for column in columns], np.int32)


def found(columns: list[list[Cell]]) -> dict[tuple[str, str], Dependency]:
    names = [f"c{n}" for n in range(len(columns))]
    return {(one.columns[0], one.determines): one for one in find_dependencies(as_cells(columns), names)}


@st.composite
def tables(draw: st.DrawFn) -> list[list[Cell]]:
    """Return a table in which some columns follow from the first, but for some rows; others are drawn."""
    rows = draw(st.integers(10, 60))
    cell: st.SearchStrategy[Cell] = st.integers(0, 5)
    key = draw(st.lists(cell, min_size=rows, max_size=rows))
    columns = [key]
    for _ in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            image = draw(st.lists(st.integers(6, 9), min_size=6, max_size=6))
            column: list[Cell] = [None if one is None else image[one] for one in key]
            for row in draw(st.lists(st.integers(0, rows - 1), max_size=3)):
                column[row] = draw(st.integers(6, 9))
        else:
            column = draw(st.lists(cell, min_size=rows, max_size=rows))
        columns.append(column)
    if draw(st.booleans()):
        for column in columns:
            for row in draw(st.lists(st.integers(0, rows - 1), max_size=rows // 2)):
                column[row] = None
    return columns


@settings(max_examples=100, deadline=None)
@given(tables())
def test_what_is_found_is_what_a_loop_finds_and_gaps_hide_no_exact_dependency(columns: list[list[Cell]]) -> None:
    answers, has_gaps = found(columns), any(None in column for column in columns)
    for first in range(len(columns)):
        for second in range(len(columns)):
            pair = (f"c{first}", f"c{second}")
            if pair in answers:
                assert is_dependency(columns, first, second)
                assert (answers[pair].share, answers[pair].rows) == pytest.approx(by_loop(columns, first, second))
            elif is_dependency(columns, first, second):
                assert has_gaps
                assert by_loop(columns, first, second)[0] < 1


def test_the_most_frequent_value_is_no_dependency() -> None:
    rows = 400
    key: list[Cell] = [n % 20 for n in range(rows)]
    nearly: list[Cell] = [1 if n % 53 == 0 else 0 for n in range(rows)]  # 98 % are 0, whatever the key is
    constant: list[Cell] = [7] * rows
    follows: list[Cell] = [1 if n % 20 == 3 else 0 for n in range(rows)]  # 95 % are 0, and the key says which
    answers = found([key, nearly, constant, follows])
    assert set(answers) == {("c0", "c3")} | {("c0", "c2"), ("c1", "c2"), ("c3", "c2")}
    assert answers["c0", "c3"].share == 1.0


def test_a_column_of_its_own_values_determines_nothing_and_few_rows_do_not_either() -> None:
    assert not found([list(range(50)), [n % 3 for n in range(50)]])
    assert not found([[n // 2 for n in range(8)], [n // 4 for n in range(8)]])
    assert not find_dependencies(np.empty((0, 0), np.int32), [])
    assert not find_dependencies(np.empty((3, 0), np.int32), ["a", "b", "c"])
    assert not find_dependencies(np.full((2, 30), -1, np.int32), ["a", "b"])


def test_a_sample_finds_what_all_rows_say() -> None:
    rows = 60_000
    rng = np.random.default_rng(3)
    city = rng.integers(0, 500, rows).astype(np.int32)
    country = (city // 25).astype(np.int32)
    region = np.where(rng.random(rows) < 0.02, rng.integers(0, 20, rows), country).astype(np.int32)
    other = rng.integers(0, 9, rows).astype(np.int32)
    rare = (rng.random(rows) < 0.01).astype(np.int32)
    answers = find_dependencies(
        np.array([city, country, region, other, rare]), ["city", "country", "region", "other", "rare"]
    )
    pairs = {(one.columns[0], one.determines): one for one in answers}
    assert set(pairs) == {("city", "country"), ("city", "region"), ("country", "region"), ("region", "country")}
    assert pairs["city", "country"].share == 1.0
    assert pairs["city", "country"].rows == rows
    assert 0.97 < pairs["country", "region"].share < 0.99
    assert all(one.share >= other_one.share for one, other_one in pairwise(answers))


def test_an_import_keeps_them_with_the_rows(tmp_path: Path) -> None:
    rows = [(n, f"city {n % 12}", f"land {n % 12 % 4}", f"a{n * 7 % 5}") for n in range(120)]
    imported = read(csv_of(tmp_path / "t.csv", ("id", "city", "country", "x"), rows))
    (one,) = store_of(imported.split)["t"].schema.dependencies
    assert (one.columns, one.determines, one.share, one.rows) == (("city",), "country", 1.0, 120)
