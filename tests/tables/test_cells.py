"""Values become numbers and groups, cut by train alone: against a plain reading of the same file, and against a loop."""

from __future__ import annotations

import math
from contextlib import suppress
from datetime import date
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relatum import DataError
from relatum.data import vocabulary
from relatum.data.name_lines import NameLines
from relatum.data.row_store import Bins, RowTable
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.tables import Imported, importer, read
from relatum.tables import cells as cells_module
from relatum.tables.cells import NumberedTable, name_of, number_cells
from relatum.tables.engine import Workspace
from support.mistakes import mistake
from support.small_tables import all_facts, csv_of, rows_of, store_of


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


TEXTS = ["a", "A", "ä", "a b", " a", "a ", "", " ", "\u3000", "\t", "x\ty", "x␉y", "l\nm", "r\r", "0", "-0", "007", "1.0"]
TEXTS += ["é", "🜁", "\x7f", "~", "!", "NULL", "'", '"', "\u2028", "z" * 40]
VALUES = {
    "VARCHAR": TEXTS,
    "VARCHAR COLLATE NOCASE": TEXTS,
    "TINYINT": [0, 1, -7, 127],
    "BIGINT": [0, 7, -1, 2**63 - 1, -(2**63)],
    "HUGEINT": [0, 2**70, 2**70 + 1, -(2**80)],
    "DOUBLE": [0.0, -0.0, 1.0, 1.5, 1e300, 0.1, 1 / 3, float("inf"), float("nan"), 1e16, 100.0],
    "FLOAT": [0.0, 0.1, 16777216.0, -2.5],
    "DECIMAL(18,3)": ["1.500", "1.050", "100.000", "0.000", "-7.125"],
    "DECIMAL(38,0)": ["100", "0", "12345678901234567890123456789"],
    "DATE": ["2024-02-29", "1969-12-31", "0001-01-01", "2024-01-01"],
    "TIMESTAMP": ["2024-02-29 01:02:03", "2024-02-29 01:02:03.000001", "1999-01-01 00:00:00"],
    "TIMESTAMP WITH TIME ZONE": ["2024-02-29 01:02:03+02", "2024-02-28 23:02:03+00"],
    "TIME": ["00:00:00", "23:59:59.5"],
    "TIME WITH TIME ZONE": ["12:00:00+02", "10:00:00+00"],
    "BOOLEAN": [True, False],
    "UUID": ["00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-0000000000ab"],
    "INTERVAL": ["1 month", "30 days", "720 hours", "1 day"],  # the first three are equal there, and written otherwise
    "ENUM('p', 'q', 'tab\tbed')": ["p", "q", "tab\tbed"],
}


def numbered_one_by_one(
    workspace: Workspace, tables: list[NumberedTable], null_is_value: bool
) -> tuple[Vocabulary, list[Ids]]:
    """Return what `number_cells` finds, by way of the name of every cell."""
    texts = []
    for one in tables:
        sql = (name_of(one.staged, column, null_is_value) for column in one.columns)
        texts.append([[row[0] for row in workspace.rows(f"SELECT {name} FROM {one.staged.view}")] for name in sql])  # noqa: S608
    names = Vocabulary(sorted({name for table in texts for column in table for name in column if name is not None}))
    numbers = {None: -1} | {name: number for number, name in enumerate(names)}
    cells = []
    for one, table in zip(tables, texts, strict=True):
        found = np.array([[numbers[name] for name in column] for column in table], np.int32)
        cells.append(found.reshape(len(one.columns), one.staged.rows))
    return names, cells


def check(kinds: list[str], rows: list[tuple[object, ...]], options: dict[str, object], many: bool) -> None:
    """Check the import of a table of such columns against the loop."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "t.duckdb"
        with duckdb.connect(path) as connection:
            connection.execute(f"CREATE TABLE t ({', '.join(f'c{number} {kind}' for number, kind in enumerate(kinds))})")
            connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(kinds))})", rows)  # noqa: S608
        if many:  # names are lines, and come in several pieces
            patch.setattr(vocabulary, "_MOST_STRINGS", 1)
            patch.setattr(cells_module, "_LINES", 3)
        compared = []

        def both(workspace: Workspace, tables: list[NumberedTable], null_is_value: bool) -> Vocabulary:
            names, cells = numbered_one_by_one(workspace, tables, null_is_value)
            found = number_cells(workspace, tables, null_is_value)
            assert found == names
            assert [one.cells.tolist() for one in tables] == [one.tolist() for one in cells]
            assert all(one.cells.dtype == np.int32 for one in tables)
            assert isinstance(found.names, NameLines) == (many and len(found) > 1)
            compared.append(len(found))
            return found

        patch.setattr(importer, "number_cells", both)
        with suppress(DataError):  # values that make no fact
            read(path, keep=[f"t.c{number}" for number in range(len(kinds))], **options)
        assert compared


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_cells_have_the_numbers_that_a_loop_gives_them(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(list(VALUES)), min_size=2, max_size=5))
    rows = data.draw(
        st.lists(st.tuples(*(st.sampled_from([None, *VALUES[kind]]) for kind in kinds)), min_size=2, max_size=60)
    )
    options = {
        "plain": data.draw(st.booleans()),
        "null": data.draw(st.sampled_from(["skip", "value"])),
        "null_text": data.draw(st.sampled_from([(), ("a", "NULL")])),
    }
    check(kinds, rows, options, data.draw(st.booleans()))


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("null", ["skip", "value"])
def test_every_value_of_every_type_has_the_number_that_a_loop_gives_it(null: str, many: bool) -> None:
    kinds = list(VALUES)
    listed = [[None, *VALUES[kind]] for kind in kinds]
    rows = [tuple(values[number % len(values)] for values in listed) for number in range(90)]
    check(kinds, rows, {"null": null}, many)


def test_a_table_whose_name_has_a_line_feed_is_refused_as_before(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE \"a\nb\" AS SELECT * FROM (VALUES (1, 'x'), (1, 'y'), (2, 'x')) AS t(item_id, who)")
    with mistake("unusable-name"):
        read(path)
