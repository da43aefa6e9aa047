"""`relatum import`: what it prints and writes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from relatum.datasets.load import load
from support.command_line import Relatum
from support.small_tables import sqlite_of


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    script = """
        CREATE TABLE items (id INTEGER PRIMARY KEY, category TEXT, price REAL, currency TEXT);
        CREATE TABLE sales (id INTEGER PRIMARY KEY, item_id INTEGER REFERENCES items (id), buyer TEXT, note TEXT);"""
    items = [(n, f"c{n % 3}", n + 0.37, "EUR") for n in range(30)]
    sales = [(n, n % 30, f"b{n % 11}" if n % 50 else None, f"note {n}") for n in range(300)]
    return sqlite_of(tmp_path / "shop.db", script, items=items, sales=sales)


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


BOUGHT = "bought=SELECT buyer AS who, category AS what, item_id FROM sales JOIN items ON items.id = item_id WHERE buyer > ''"


def test_a_query_is_one_more_table(run: Relatum, shop: Path, tmp_path: Path) -> None:
    arguments = ("--sql", BOUGHT, "--link", "bought.item_id=items", "--link", "bought.who=sales.buyer")
    arguments += ("--columns", "bought=who,what,item_id")  # else the category is left out, which the item determines
    code, out, err = run("import", str(shop), *arguments, "--table", "bought", "--out", str(tmp_path / "made"))
    assert (code, err, "bought" in out) == (0, "", True)
    split = load(tmp_path / "made")
    assert [str(relation) for relation in split.schema] == ["bought(who, what, item_id)"]
    found = {fact for graph in split.parts.values() for fact in graph}
    assert ("bought", "sales.buyer:b1", "bought.what:c1", "items:1") in found
