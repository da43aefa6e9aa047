"""What the rows of a table become: the rules, one by one; and which column determines which, as a plain loop counts."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relatum.data.row_store import Dependency
from relatum.data.vocabulary import Ids
from relatum.errors import RelatumWarning
from relatum.tables import Imported, read
from relatum.tables.shapes import find_dependencies
from support.mistakes import mistake
from support.small_tables import all_facts, csv_of, relations, rows_of, sqlite_of, store_of

ITEMS = "CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, category TEXT, weight REAL);"
BUYERS = "CREATE TABLE buyers (id INTEGER PRIMARY KEY, city TEXT);"
SALES = """CREATE TABLE sales (id INTEGER PRIMARY KEY, item INTEGER REFERENCES items (id),
    buyer INTEGER REFERENCES buyers (id), channel TEXT, price REAL, comment TEXT);"""

ITEM_ROWS = [(n, f"item number {n}", f"c{n % 3}" if n % 5 else None, n * 1.5) for n in range(30)]
BUYER_ROWS = [(n, f"town {n % 4}") for n in range(20)]
SALE_ROWS = [
    (n, n * 7 % 30, n * 11 % 20, ("web", "shop")[n * 13 % 29 % 2], n * 0.7, f"z{n % 60}" if n % 2 else None)
    for n in range(240)
]


def shape(imported: Imported, table: str) -> tuple[str | None, str]:
    record = next(record for record in imported.tables if record.table == table)
    return record.shape, record.note


def why(imported: Imported, column: str) -> str:
    return next(record.why for record in imported.columns if f"{record.table}.{record.column}" == column)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shop") / "shop.db"
    return sqlite_of(path, ITEMS + BUYERS + SALES, items=ITEM_ROWS, buyers=BUYER_ROWS, sales=SALE_ROWS)


def test_a_table_that_others_refer_to_is_of_entities_and_a_gap_costs_a_cell(shop: Path) -> None:
    imported = read(shop)
    assert shape(imported, "items") == ("entity", "its key id is referred to by sales")
    found = {fact for fact in all_facts(imported) if fact[0].startswith("items.")}
    categories = {("items.category", f"items:{row[0]}", f"items.category:{row[2]}") for row in ITEM_ROWS if row[2]}
    assert {fact for fact in found if fact[0] == "items.category"} == categories
    weights = {fact[1]: fact[2] for fact in found if fact[0] == "items.weight"}
    assert set(weights) == {f"items:{row[0]}" for row in ITEM_ROWS}
    assert len(rows_of(imported.split, "items")) == len(ITEM_ROWS)


def test_an_event_has_a_key_of_its_own_and_links_several_entities(shop: Path) -> None:
    imported = read(shop)
    assert shape(imported, "sales") == ("both", "an event: it refers to item and buyer, and nothing refers to it")
    assert [text for text in relations(imported) if text.startswith("sales")] == [
        "sales(item, buyer, channel)",
        "sales.comment(id, comment)",
        "sales.price(id, price)",
    ]
    events = {fact for fact in all_facts(imported) if fact[0] == "sales"}
    assert events == {("sales", f"items:{row[1]}", f"buyers:{row[2]}", f"sales.channel:{row[3]}") for row in SALE_ROWS}
    comments = {fact for fact in all_facts(imported) if fact[0] == "sales.comment"}
    assert comments == {("sales.comment", f"sales:{row[0]}", f"sales.comment:{row[5]}") for row in SALE_ROWS if row[5]}
    assert why(imported, "sales.price").endswith("a measure")
    assert why(imported, "sales.comment").endswith("too many gaps for a part of a fact")
    record = next(record for record in imported.tables if record.table == "sales")
    assert record.rows == record.incomplete + record.repeated + len(events)


@pytest.mark.parametrize(("text", "expected"), [("title", "entity"), ("receipt", "both")])
def test_what_has_a_name_is_an_entity_and_a_text_of_its_own_is_no_name(tmp_path: Path, text: str, expected: str) -> None:
    songs = f"""CREATE TABLE songs (id INTEGER PRIMARY KEY, item INTEGER REFERENCES items, buyer INTEGER REFERENCES buyers,
        {text} TEXT, mood TEXT);"""
    rows = [(*row[:3], f"Song {row[0]}", f"m{row[0] % 3}") for row in SALE_ROWS]
    path = sqlite_of(tmp_path / "s.db", ITEMS + BUYERS + songs, items=ITEM_ROWS, buyers=BUYER_ROWS, songs=rows)
    imported = read(path)
    assert shape(imported, "songs")[0] == expected
    if expected == "entity":
        assert shape(imported, "songs")[1] == "id is its key, and its rows are called by title"
        assert {"songs.item(id, item)", "songs.buyer(id, buyer)", "songs.mood(id, mood)"} <= set(relations(imported))
        assert shape(read(path, shapes={"songs": "fact"}), "songs") == ("fact", "by option")


def test_the_same_event_with_few_columns_is_a_fact_alone(tmp_path: Path) -> None:
    sales = "CREATE TABLE sales (id INTEGER PRIMARY KEY, item INTEGER REFERENCES items, buyer INTEGER REFERENCES buyers);"
    rows = [row[:3] for row in SALE_ROWS]
    path = sqlite_of(tmp_path / "s.db", ITEMS + BUYERS + sales, items=ITEM_ROWS, buyers=BUYER_ROWS, sales=rows)
    imported = read(path)
    assert shape(imported, "sales")[0] == "fact"
    assert str(imported.split.schema["sales"]) == "sales(item, buyer)"
    assert store_of(imported.split)["sales"].schema.row_key == "id"
    assert [row["id"] for row in rows_of(imported.split, "sales")] == [f"sales:{row[0]}" for row in rows]


def test_a_key_of_several_columns_is_of_facts(tmp_path: Path) -> None:
    script = "CREATE TABLE rated (who TEXT, what TEXT, stars INTEGER, PRIMARY KEY (who, what));"
    rows = [(f"w{n % 9}", f"x{n // 9}", n % 5) for n in range(90)]
    imported = read(sqlite_of(tmp_path / "s.db", script, rated=rows))
    assert shape(imported, "rated") == ("fact", "its key is who and what")
    assert all_facts(imported) == {
        ("rated", f"rated.who:{who}", f"rated.what:{what}", f"rated.stars:{stars}") for who, what, stars in rows
    }


def test_without_a_key_rows_are_facts_and_measures_are_kept_beside_them(tmp_path: Path) -> None:
    rows = [(f"a{n % 7}", f"b{n % 11}", round(n * 0.37, 2)) for n in range(100)]
    imported = read(csv_of(tmp_path / "met.csv", ("who", "whom", "minutes"), rows))
    assert shape(imported, "met") == ("fact", "no column is a key")
    assert relations(imported) == ["met(who, whom)"]
    kept = rows_of(imported.split, "met")
    assert [(row["who"], row["whom"]) for row in kept] == [(f"met.who:{row[0]}", f"met.whom:{row[1]}") for row in rows]
    assert all(row["minutes"] for row in kept)
    record = next(record for record in imported.columns if record.column == "minutes")
    assert (record.outcome, record.relation) == ("bins", None)


def test_rows_that_refer_to_rows_of_their_own_table_are_entities(tmp_path: Path) -> None:
    script = """CREATE TABLE teams (id INTEGER PRIMARY KEY, town TEXT);
        CREATE TABLE staff (id INTEGER PRIMARY KEY, boss INTEGER REFERENCES staff, team INTEGER REFERENCES teams);"""
    teams = [(n, f"t{n % 2}") for n in range(4)]
    staff = [(n, n // 2 if n else None, n % 4) for n in range(20)]
    imported = read(sqlite_of(tmp_path / "s.db", script, teams=teams, staff=staff))
    assert shape(imported, "staff") == ("entity", "its key id is referred to by staff")
    assert {fact[:2] for fact in all_facts(imported) if fact[0] == "staff.boss"} == {
        ("staff.boss", f"staff:{n}") for n in range(1, 20)
    }


def test_a_fact_has_eight_roles_at_most_those_of_foreign_keys_first(tmp_path: Path) -> None:
    heads = [f"c{n}" for n in range(12)]
    rng = random.Random(5)
    rows = [[f"v{rng.randrange(4)}" for _ in range(11)] + [row % 30] for row in range(120)]
    path = csv_of(tmp_path / "wide.csv", heads, rows)
    items = csv_of(tmp_path / "items.csv", ("id", "category"), [(n, f"k{n % 3}") for n in range(30)])
    imported = read([path, items], links={"wide.c11": "items.id"})
    roles = imported.split.schema["wide"].roles or ()
    assert len(roles) == 8
    assert "c11" in roles
    beyond = [name for name in heads if name not in roles]
    assert all("beyond 8 roles; --columns wide=... chooses them" in why(imported, f"wide.{name}") for name in beyond)
    assert set(rows_of(imported.split, "wide")[0]) == set(heads)
    with pytest.warns(RelatumWarning, match="12 roles trains slowly"):
        chosen = read(path, columns={"wide": heads})
    assert chosen.split.schema["wide"].arity == 12


def test_what_a_foreign_key_determines_is_no_part_of_a_fact(tmp_path: Path) -> None:
    sales = """CREATE TABLE sales (item INTEGER REFERENCES items (id), buyer INTEGER REFERENCES buyers (id), town TEXT,
        channel TEXT);"""
    rows = [(row[1], row[2], BUYER_ROWS[row[2]][1], row[3]) for row in SALE_ROWS]
    path = sqlite_of(tmp_path / "s.db", ITEMS + BUYERS + sales, items=ITEM_ROWS, buyers=BUYER_ROWS, sales=rows)
    imported = read(path)
    assert imported.split.schema["sales"].roles == ("item", "buyer", "channel")
    assert why(imported, "sales.town").endswith("buyer determines it")
    assert [row["town"] for row in rows_of(imported.split, "sales")] == [f"sales.town:{row[2]}" for row in rows]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("entity", ["sales.buyer", "sales.channel", "sales.comment", "sales.item", "sales.price"]),
        ("fact", ["sales"]),
        ("both", ["sales", "sales.comment", "sales.price"]),
    ],
)
def test_a_shape_can_be_chosen(shop: Path, wanted: str, expected: list[str]) -> None:
    imported = read(shop, tables=["sales"], shapes={"sales": wanted})
    assert shape(imported, "sales") == (wanted, "by option")
    assert [relation.name for relation in imported.split.schema] == expected


def test_a_shape_that_cannot_be_is_refused(shop: Path, tmp_path: Path) -> None:
    loose = csv_of(tmp_path / "loose.csv", ("a", "b"), [(n % 3, n % 4) for n in range(24)])
    wrong: list[tuple[str, Path, dict[str, Any]]] = [
        ("no-row-key", loose, {"shapes": {"loose": "entity"}}),
        ("no-row-key", loose, {"shapes": {"loose": "both"}}),
        ("no-row-key", shop, {"tables": ["items"], "shapes": {"items": "entity"}, "drop": ["items.id"]}),
        ("not-chosen", loose, {"shapes": {"loose": "both"}, "columns": {"loose": ["a", "b"]}}),
        ("not-chosen", shop, {"tables": ["items"], "shapes": {"sales": "fact"}}),
        ("setting-out-of-range", loose, {"shapes": {"loose": "row"}}),
    ]
    for code, path, options in wrong:
        with mistake(code):
            read(path, **options)


def test_a_key_in_groups_is_no_key(tmp_path: Path) -> None:
    path = csv_of(tmp_path / "t.csv", ("id", "a", "b"), [(n, n % 3, n % 4) for n in range(40)])
    assert relations(read(path)) == ["t.a(id, a)", "t.b(id, b)"]
    imported = read(path, bins={"id": 4}, valid=0, test=0)
    assert shape(imported, "t") == ("fact", "its key id is left out or in groups")
    assert relations(imported) == ["t(id, a, b)"]
    assert {fact[1] for fact in all_facts(imported)} == {f"t:{10 * n} to {10 * n + 9}" for n in range(4)}


def test_relations_of_one_name_are_refused_and_can_be_renamed(tmp_path: Path) -> None:
    script = 'CREATE TABLE a (id INTEGER PRIMARY KEY, b TEXT); CREATE TABLE "a.b" (x TEXT, y TEXT);'
    rows = [(f"m{n % 3}", f"n{n % 2}") for n in range(12)]
    path = sqlite_of(tmp_path / "s.db", script, a=[(n, f"p{n % 2}") for n in range(9)], **{"a.b": rows})
    with mistake("two-tables-one-relation"):
        read(path)
    assert relations(read(path, relations={"a.b": "other"})) == ["a.b(id, b)", "other(x, y)"]


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
        kind = draw(st.sampled_from(("image", "drawn", "usual")))
        if kind == "usual":  # nearly all the same, whatever the key is
            column: list[Cell] = [7] * rows
            for row in draw(st.lists(st.integers(0, rows - 1), max_size=2)):
                column[row] = draw(cell)
        elif kind == "image":
            image = draw(st.lists(st.integers(6, 9), min_size=6, max_size=6))
            column = [None if one is None else image[one] for one in key]
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
