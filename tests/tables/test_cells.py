"""Values become numbers and groups: against a plain reading of the same file in Python."""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relatum.data.row_store import Bins, RowTable
from relatum.tables import Imported, read
from support.small_tables import csv_of, rows_of, store_of


def bins_of(imported: Imported, table: str, column: str) -> Bins:
    bins = store_of(imported.split)[table].schema.column(column).bins
    assert bins is not None
    return bins


def table_of(imported: Imported, table: str) -> RowTable:
    return store_of(imported.split)[table]


def check_bins(values: list[float | None], names: list[str | None], bins: Bins, prefix: str) -> None:
    """Check that every value is in the group that says so, by a loop."""
    groups = list(zip(map(float, bins.least), map(float, bins.greatest), map(float, bins.median), strict=True))
    called = [f"{prefix}{a}" if a == b else f"{prefix}{a} to {b}" for a, b in zip(bins.least, bins.greatest, strict=True)]
    members: dict[int, list[float]] = {n: [] for n in range(len(groups))}
    for value, name in zip(values, names, strict=True):
        if value is None:
            assert name is None
            continue
        number = called.index(str(name))
        assert groups[number][0] <= value <= groups[number][1]
        members[number].append(value)
    for number, (least, greatest, median) in enumerate(groups):
        inside = sorted(members[number])
        assert (inside[0], inside[-1]) == (least, greatest)
        assert median == inside[(len(inside) + 1) // 2 - 1]
    assert [float(edge) for edge in bins.edges] == [greatest for _, greatest, _ in groups[:-1]]
    assert all(one[1] < other[0] for one, other in pairwise(groups))


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.integers(-10_000, 10_000).map(lambda n: n / 8)), min_size=40, max_size=120),
    st.integers(2, 9),
)
def test_every_value_is_in_the_group_that_says_so(values: list[float | None], count: int) -> None:
    values = [*values, 1.125, -3.5]  # two values at least
    with TemporaryDirectory() as folder:
        path = csv_of(Path(folder) / "t.csv", ("id", "x"), enumerate(values))
        imported = read(path, bins={"x": count}, valid=0, test=0)
    bins = bins_of(imported, "t", "x")
    assert len(bins.least) <= count
    check_bins(values, [row["x"] for row in rows_of(imported.split, "t")], bins, "t.x:")


def test_groups_are_of_equal_size_and_equal_values_stay_together(tmp_path: Path) -> None:
    spread = csv_of(tmp_path / "t.csv", ("id", "x"), [(n, n * 0.5) for n in range(400)])
    imported = read(spread, valid=0, test=0)
    sizes = np.unique(table_of(imported, "t").column("x"), return_counts=True)[1]
    assert sizes.tolist() == [20] * 20
    heavy = csv_of(tmp_path / "u.csv", ("id", "x"), [(n, 0.5 if n % 2 else n) for n in range(400)])
    imported = read(heavy, valid=0, test=0)
    names = [row["x"] for row in rows_of(imported.split, "u")]
    assert len({names[n] for n in range(1, 400, 2)}) == 1
    check_bins([0.5 if n % 2 else n for n in range(400)], names, bins_of(imported, "u", "x"), "u.x:")


def test_zeros_are_equal_whatever_their_sign_and_infinity_has_a_group(tmp_path: Path) -> None:
    duckdb.sql("""
        SELECT i AS id, CASE WHEN i % 3 = 0 THEN '-0.0'::DOUBLE WHEN i % 3 = 1 THEN 0.0 ELSE i / 9.0 END AS x,
            CASE WHEN i % 4 = 0 THEN 'inf'::DOUBLE WHEN i % 4 = 1 THEN 'nan'::DOUBLE ELSE -i / 9.0 END AS y
        FROM range(200) t(i)""").write_parquet(str(tmp_path / "t.parquet"))
    imported = read(tmp_path / "t.parquet", valid=0, test=0)
    rows = rows_of(imported.split, "t")
    check_bins(
        [0.0 if n % 3 < 2 else n / 9 for n in range(200)], [row["x"] for row in rows], bins_of(imported, "t", "x"), "t.x:"
    )
    ys = [float("inf") if n % 4 == 0 else None if n % 4 == 1 else -n / 9 for n in range(200)]
    check_bins(ys, [row["y"] for row in rows], bins_of(imported, "t", "y"), "t.y:")


@pytest.mark.parametrize(("rows", "count"), [(30, 3), (100, 5), (1000, 20)])
def test_there_are_fewer_groups_where_there_are_few_rows(tmp_path: Path, rows: int, count: int) -> None:
    path = csv_of(tmp_path / "t.csv", ("id", "x"), [(n, n * 0.37) for n in range(rows)])
    assert len(bins_of(read(path), "t", "x").least) == count
    assert len(bins_of(read(path, bins=2), "t", "x").least) == 2
    assert len(bins_of(read(path, bins={"x": 4}), "t", "x").least) == 4


def test_dates_have_their_year_month_and_weekday_beside_them(tmp_path: Path) -> None:
    days = [date.fromordinal(date(2020, 12, 20).toordinal() + n * 11) for n in range(60)]
    path = csv_of(tmp_path / "t.csv", ("id", "day"), [(n, None if n == 7 else day) for n, day in enumerate(days)])
    imported = read(path)
    columns = [(one.name, one.entity_type, one.part_of) for one in table_of(imported, "t").schema.columns]
    assert columns == [
        ("id", "t", None),
        ("day", "t.day", None),
        ("day.year", "year", "day"),
        ("day.month", "month", "day"),
        ("day.weekday", "weekday", "day"),
    ]
    for number, (row, day) in enumerate(zip(rows_of(imported.split, "t"), days, strict=True)):
        parts = (row["day.year"], row["day.month"], row["day.weekday"])
        shown = (f"year:{day.year}", f"month:{day.month}", f"weekday:{day:%A}")
        assert parts == ((None, None, None) if number == 7 else shown)
        least, _, greatest = str(row["day"]).removeprefix("t.day:").partition(" to ")
        assert number == 7 or least <= day.isoformat() <= greatest
    kept = table_of(imported, "t")
    assert np.array_equal(kept.parts[1], kept.parts[2])
    assert [relation.name for relation in imported.split.schema] == ["t.day"]


def test_a_part_that_never_differs_is_left_out_and_a_column_keeps_its_name(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [(n, f"2024-03-{1 + n % 28:02} {n % 24:02}:00:00", f"v{n % 3}") for n in range(80)]
    csv_of(path, ("id", "at", "at.weekday"), rows)
    columns = [one.name for one in table_of(read(path), "t").schema.columns]
    assert columns == ["id", "at", "at.weekday"]
    assert [row["at.weekday"] for row in rows_of(read(path).split, "t")] == [f"t.at.weekday:v{n % 3}" for n in range(80)]


def test_many_rows_and_columns_keep_their_order(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    cells = rng.integers(0, 40, (3000, 70))
    path = csv_of(tmp_path / "t.csv", [f"c{n}" for n in range(70)], ([f"v{one}" for one in row] for row in cells.tolist()))
    imported = read(path)
    kept = table_of(imported, "t")
    names = np.array(store_of(imported.split).names.names)
    for index in (0, 33, 63, 64, 69):
        assert names[kept.column(f"c{index}")].tolist() == [f"t.c{index}:v{one}" for one in cells[:, index].tolist()]
