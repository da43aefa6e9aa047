"""`relatum import`: what it prints and writes."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import openpyxl
import pytest

from relatum.datasets.load import load
from support.command_line import Relatum


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    connection = sqlite3.connect(tmp_path / "shop.db")
    connection.executescript("""
        CREATE TABLE items (id INTEGER PRIMARY KEY, category TEXT, price REAL, currency TEXT);
        CREATE TABLE sales (id INTEGER PRIMARY KEY, item_id INTEGER REFERENCES items (id), buyer TEXT, note TEXT);""")
    connection.executemany("INSERT INTO items VALUES (?, ?, ?, 'EUR')", [(n, f"c{n % 3}", n + 0.37) for n in range(30)])
    connection.executemany(
        "INSERT INTO sales VALUES (?, ?, ?, ?)",
        [(n, n % 30, f"b{n % 11}" if n % 50 else None, f"note {n}") for n in range(300)],
    )
    connection.commit()
    connection.close()
    return tmp_path / "shop.db"


def test_it_says_what_became_of_every_row_and_column(run: Relatum, shop: Path, tmp_path: Path) -> None:
    code, out, err = run("import", str(shop), "--out", str(tmp_path / "made"), "--bins", "4", "--relation", "sales=sold")
    assert (code, err) == (0, "")
    split = load(tmp_path / "made")
    assert f"train {len(split.train):,}" in out
    for word in ("Tables", "Columns", "entity", "label", "bins", "left out", "refers to items.id", "gaps"):
        assert word in out
    assert "its key id is referred to by sales" in out
    assert "id is its key, and the other columns describe it" in out
    assert [str(relation) for relation in split.schema] == [
        "items.category(id, category)",
        "items.price(id, price)",
        "sold.buyer(id, buyer)",
        "sold.item_id(id, item_id)",
    ]
    assert "items:17" in split.entities


def test_shapes_and_links_are_options(run: Relatum, shop: Path, tmp_path: Path) -> None:
    (tmp_path / "stock.csv").write_text("shelf,item_id\n" + "".join(f"s{n % 4},{n % 30}\n" for n in range(60)))
    sources = ("import", str(shop), str(tmp_path / "stock.csv"))
    code, out, err = run(*sources, "--out", str(tmp_path / "offered"))
    assert (code, err) == (0, "")
    assert "stock.item_id shares 100% of its values with items.id: --link stock.item_id=items.id" in out.replace("\n", " ")
    assert "stock.item_id:17" in load(tmp_path / "offered").entities
    code, out, err = run(*sources, "--link", "auto", "--shape", "sales=fact", "--out", str(tmp_path / "linked"))
    assert (code, err) == (0, "")
    assert "--link" not in out
    linked = load(tmp_path / "linked")
    assert str(linked.schema["sales"]) == "sales(item_id, buyer)"
    assert linked.column_types["stock"][1].entity_type == "items"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("sales", "--shape sales: write NAME=VALUE"),
        ("sales=row", "shapes: sales: must be one of entity, fact, both, not 'row'"),
        ("sale=fact", "unknown table 'sale'; did you mean 'sales'"),
        ("links=entity", "shape links=entity: the table has no key of one column that its rows are known by"),
        ("links=both", "shape links=both: the table has no key of one column"),
    ],
)
def test_a_shape_that_cannot_be_is_one_line(run: Relatum, shop: Path, tmp_path: Path, given: str, message: str) -> None:
    connection = sqlite3.connect(shop)
    connection.executescript("CREATE TABLE links (a TEXT, b TEXT); INSERT INTO links VALUES (1, 2), (1, 3), (2, 3);")
    connection.close()
    code, out, err = run("import", str(shop), "--shape", given, "--out", str(tmp_path / "made"))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert not (tmp_path / "made").exists()


def test_json_is_one_object_that_adds_up(run: Relatum, shop: Path, tmp_path: Path) -> None:
    code, out, err = run("import", str(shop), "--out", str(tmp_path / "made"), "--bins", "price=4", "--bins", "3", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["options"]["bins"] == {"price": 4, "*": 3}
    tables = {table["table"]: table for table in found["tables"]}
    assert (tables["sales"]["rows"], tables["sales"]["gaps"]) == (300, 6)
    assert tables["sales"]["facts"] == 2 * 300 - 6
    assert tables["items"]["facts"] == 2 * 30
    assert tables["items"]["relations"] == ["items.category", "items.price"]
    assert [len(table["note"]) > 0 for table in found["tables"]] == [True, True]
    assert sum(table["facts"] for table in tables.values()) == found["train"] + found["valid"] + found["test"]
    assert {key: value for key, value in found.items() if key != "out"} == json.loads(
        (tmp_path / "made" / "import.json").read_text()
    )


def test_a_password_is_nowhere_in_what_is_written_or_printed(run: Relatum, database: str, tmp_path: Path) -> None:
    import psycopg

    with psycopg.connect(database) as connection:
        connection.execute("CREATE TABLE t AS SELECT i % 3 AS a, i % 5 AS b FROM generate_series(1, 99) i")
    code, out, err = run("import", database, "--out", str(tmp_path / "made"))
    assert (code, err) == (0, "")
    written = "".join(path.read_bytes().decode(errors="replace") for path in (tmp_path / "made").iterdir())
    assert "postgresql://owner@127.0.0.1" in written
    assert "s3cret" not in written + out


def test_an_empty_directory_may_be_there_already(run: Relatum, shop: Path, tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    assert run("import", str(shop), "--out", str(tmp_path / "made"))[0] == 0
    assert load(tmp_path / "made").schema["sales.buyer"].arity == 2


RATINGS = "".join(f"{n % 5}|{n % 7}|{'NA' if n % 9 == 0 else n % 4}|é{n % 2}\n" for n in range(90))


def test_files_without_header_in_another_encoding_with_texts_for_null(run: Relatum, tmp_path: Path) -> None:
    (tmp_path / "u.data").write_bytes(RATINGS.encode("latin-1"))
    how = ("--delimiter", "pipe", "--no-header", "--encoding", "latin-1", "--null-text", "N/A,NA", "--null-text", "-")
    code, out, err = run("import", str(tmp_path / "u.data"), *how, "--out", str(tmp_path / "made"), "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["options"]["null_text"] == ["N/A", "NA", "-"]
    assert {record["column"]: record["nulls"] for record in found["columns"]}["column_3"] == 10
    split = load(tmp_path / "made")
    assert split.schema["u"].roles == ("column_1", "column_2", "column_4")  # the third has too many gaps
    assert "u.column_4:é1" in split.entities
    assert split.rows is not None
    assert np.count_nonzero(split.rows["u"].cells[2] < 0) == 10


def test_a_text_that_could_stand_for_null_is_reported(run: Relatum, tmp_path: Path) -> None:
    (tmp_path / "u.csv").write_text(RATINGS)
    code, out, err = run("import", str(tmp_path / "u.csv"), "--no-header", "--out", str(tmp_path / "made"), "--json")
    assert (code, err) == (0, "")
    whys = {record["column"]: record["why"] for record in json.loads(out)["columns"]}
    assert "10 values are 'NA': --null-text NA" in whys["column_3"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--encoding", "latn-1"), "unknown encoding 'latn-1'; did you mean 'latin-1'"),
        (("--encoding", "ascii"), "u.csv:1: not valid ascii"),
        (("--delimiter", "::"), "delimiter: must be one character"),
        (("--delimiter", "tab"), "only one column"),
        ((), "is there no header? (--no-header)"),
    ],
)
def test_a_wrong_option_for_files_is_one_line(
    run: Relatum, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "u.csv").write_text(RATINGS)
    code, out, err = run("import", str(tmp_path / "u.csv"), *arguments, "--out", str(tmp_path / "made"))
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert message in err
    assert [path.name for path in tmp_path.iterdir()] == ["u.csv"]


def test_the_sheets_of_a_workbook_are_tables(run: Relatum, tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    people, visits = book.active, book.create_sheet("visits")
    people.title = "people"
    for sheet, rows in ((people, [("id", "city")]), (visits, [("person", "shop")])):
        for row in [*rows, *((n % 12, f"{sheet.title}{n % 5}") for n in range(12 if sheet is people else 60))]:
            sheet.append(row)
    book.save(tmp_path / "book.xlsx")
    arguments = ("--link", "visits.person=people.id", "--out", str(tmp_path / "made"))
    code, out, err = run("import", str(tmp_path / "book.xlsx"), *arguments)
    assert (code, err) == (0, "")
    assert "visits" in out
    split = load(tmp_path / "made")
    assert {relation.name for relation in split.schema} == {"people.city", "visits"}
    assert {("visits", "people:11", "visits.shop:visits1"), ("people.city", "people:11", "people.city:people1")} <= {
        fact for graph in split.parts.values() for fact in graph
    }


BOUGHT = "bought=SELECT buyer AS who, category AS what, item_id FROM sales JOIN items ON items.id = item_id WHERE buyer > ''"


def test_a_query_is_one_more_table(run: Relatum, shop: Path, tmp_path: Path) -> None:
    arguments = ("--sql", BOUGHT, "--link", "bought.item_id=items", "--link", "bought.who=sales.buyer")
    arguments += ("--columns", "bought=who,what,item_id")  # else the category is left out, which the item determines
    code, out, err = run("import", str(shop), *arguments, "--out", str(tmp_path / "made"))
    assert (code, err) == (0, "")
    assert "bought" in out
    split = load(tmp_path / "made")
    assert str(split.schema["bought"]) == "bought(who, what, item_id)"
    assert {"items.category", "sales.item_id", "bought"} <= {relation.name for relation in split.schema}
    found = {fact for graph in split.parts.values() for fact in graph if fact[0] == "bought"}
    assert ("bought", "sales.buyer:b1", "bought.what:c1", "items:1") in found
    code, _, err = run("import", str(shop), *arguments, "--table", "bought", "--out", str(tmp_path / "alone"))
    assert (code, err) == (0, "")
    assert [relation.name for relation in load(tmp_path / "alone").schema] == ["bought"]


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        (["SELECT 1"], "--sql SELECT 1: write NAME=VALUE"),
        (["q=DELETE FROM items"], "sql: q: a query begins with SELECT or WITH, not with DELETE"),
        (["q=WITH x AS (SELECT 1) DELETE FROM items"], "query 'q': "),
        (["q=SELECT 1 AS a; SELECT 2 AS a"], "query 'q': must be one statement"),
        (["q=SELECT pric FROM items"], "query 'q': no such column: pric"),
        (["items=SELECT id, category FROM items"], "query 'items': a table of"),
        (["q=SELECT id FROM items", "q=SELECT price FROM items"], "--sql: 'q' is given twice"),
        (["=SELECT id FROM items"], "the name of a query: empty name"),
    ],
)
def test_a_wrong_query_is_one_line(run: Relatum, shop: Path, tmp_path: Path, queries: list[str], message: str) -> None:
    before = shop.read_bytes()
    arguments = [argument for query in queries for argument in ("--sql", query)]
    code, out, err = run("import", str(shop), *arguments, "--out", str(tmp_path / "made"))
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert message in err
    assert shop.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["shop.db"]
