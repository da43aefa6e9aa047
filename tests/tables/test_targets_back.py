"""Predicted facts written back where the data came from: values, not names, that join with the tables they are of."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from relatum import Run
from relatum.runs.export import predictions_table
from relatum.tables.targets import write
from support.command_line import Relatum
from support.postgres_server import PASSWORD
from support.shop_of_four import CHANNELS, DISCOUNTS, fill, train

Ask = Callable[[str], list[tuple[Any, ...]]]

# Every predicted row belongs to a customer and an item, and none of them is sold already.
JOINED = """SELECT count(*) FROM predicted_sold p JOIN customers c ON c.id = p.customer_id
    JOIN items i ON i.code = p.item_code"""
KNOWN = """SELECT count(*) FROM predicted_sold p JOIN sales s ON s.customer_id = p.customer_id
    AND s.item_code = p.item_code AND s.channel = p.channel AND s.discount = p.discount"""
ROWS = "SELECT customer_id, item_code, channel, discount FROM predicted_sold"


def check(ask: Ask, count: int) -> None:
    """Check what stands in `predicted_sold` beside the shop."""
    assert ask("SELECT count(*) FROM predicted_sold") == [(count,)]
    assert ask(JOINED) == [(count,)]
    assert ask(KNOWN) == [(0,)]
    rows = ask(ROWS)
    assert all(type(customer) is int and type(code) is str and len(code) == 3 for customer, code, _, _ in rows)
    assert {channel for _, _, channel, _ in rows} == set(CHANNELS)
    assert {discount for *_, discount in rows} <= set(DISCOUNTS)
    assert ask("SELECT count(*) FROM predicted_sold WHERE probability BETWEEN 0 AND 1 AND score > 0") == [(count,)]


def test_into_the_sqlite_database_that_it_came_from(shop: Path, shop_run: Path, tmp_path: Path, run: Relatum) -> None:
    path = shutil.copy(shop, tmp_path)
    code, out, err = run("predict", str(shop_run), "--relation", "sold", "--top", "500", "--to", str(path))
    assert (code, err) == (0, "")
    assert out == f"wrote 500 facts of sold to {path}, table predicted_sold\n"
    with closing(sqlite3.connect(path)) as connection:
        check(lambda sql: connection.execute(sql).fetchall(), 500)
        found = connection.execute(f"{ROWS} ORDER BY score DESC, customer_id LIMIT 3").fetchall()
    first = Run.load(shop_run).predict("sold", 1)[0].entities
    assert f"customers:{found[0][0]}" == first[0]
    assert f"items:{found[0][1]}" == first[1]


def test_into_a_postgresql_database(database: str, tmp_path: Path, run: Relatum) -> None:
    import psycopg

    with psycopg.connect(database) as connection:
        cursor = connection.cursor()
        fill(lambda sql: cursor.execute(sql.encode()), lambda sql, rows: cursor.executemany(sql.encode(), rows), "%s")
    trained = train(database, tmp_path)
    said = run("predict", str(trained), "--relation", "sold", "--top", "300", "--to", database)
    assert said[0] == 0
    assert PASSWORD not in "".join(map(str, said))
    said = run("predict", str(trained), "--top", "4", "--to", database, "--json")
    assert (said[0], said[1]) == (2, "")  # one of the tables is there
    with psycopg.connect(database) as connection:
        check(lambda sql: connection.execute(sql.encode()).fetchall(), 300)
        types = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'predicted_sold'"
        assert dict(connection.execute(types.encode()).fetchall()) == {
            "customer_id": "bigint",
            "item_code": "text",
            "channel": "text",
            "discount": "double precision",
            "score": "double precision",
            "probability": "double precision",
        }
        tables = "SELECT count(*) FROM information_schema.tables WHERE table_name LIKE 'predicted%'"
        assert connection.execute(tables.encode()).fetchall() == [(1,)]


def test_every_format_holds_the_same_rows(shop_run: Path, tmp_path: Path) -> None:
    import duckdb

    run = Run.load(shop_run)
    table = predictions_table(run, "reviews", run.predict("reviews", 50))
    assert table.names == ["customer_id", "item_code", "stars", "score", "score_", "probability"]  # one was called score
    wanted = list(table.rows())
    assert all(isinstance(value, kind) for row in wanted for value, kind in zip(row, (int, str, int, str), strict=False))
    for ending in ("csv", "tsv", "jsonl", "parquet", "db", "duckdb"):
        write(table, tmp_path / f"out.{ending}")
    for ending, delimiter in (("csv", ","), ("tsv", "\t")):
        with (tmp_path / f"out.{ending}").open(newline="") as file:
            head, *lines = csv.reader(file, delimiter=delimiter)
        assert head == table.names
        assert lines == [[str(value) for value in row] for row in wanted]
    objects = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert objects == [{"relation": "reviews", **dict(zip(table.names, row, strict=True))} for row in wanted]
    with closing(sqlite3.connect(tmp_path / "out.db")) as connection:
        assert connection.execute("SELECT * FROM predicted_reviews").fetchall() == wanted
    with duckdb.connect(str(tmp_path / "out.duckdb")) as other:
        assert other.execute("FROM predicted_reviews").fetchall() == wanted
        parquet = other.execute("FROM read_parquet(?)", [str(tmp_path / "out.parquet")])
        assert [column[0] for column in parquet.description or ()] == table.names
        assert parquet.fetchall() == wanted


def test_full_names_and_relations_that_were_defined(shop_run: Path, tmp_path: Path) -> None:
    shutil.copytree(shop_run, tmp_path / "run")
    run = Run.load(tmp_path / "run")
    found = run.predict("sold", 20)
    full = predictions_table(run, "sold", found, full_names=True)
    assert [row[:4] for row in full.rows()] == [one.entities for one in found]
    run.define("liked by", "project[item_code, customer_id](reviews)")
    table = predictions_table(run, "liked by", run.predict("liked by", 20))
    assert table.name == "predicted_liked_by"
    assert table.names == ["item_code", "customer_id", "score", "probability"]
    assert all(isinstance(code, str) and isinstance(customer, int) for code, customer, *_ in table.rows())
    run.define("mixed", "union(project[0, 1](reviews), project[1, 0](reviews))")  # two kinds in a column: names alone
    names = {value for row in predictions_table(run, "mixed", run.predict("mixed", 20)).rows() for value in row[:2]}
    assert all(str(name).startswith(("customers:", "items:")) for name in names)


def test_what_was_never_imported_keeps_its_names(example: Run) -> None:
    table = predictions_table(example, "sold", example.predict("sold", 3))
    assert table.names[:3] == ["seller", "buyer", "item"]
    assert next(table.rows())[:3] == example.predict("sold", 1)[0].entities
