"""A new user's story: a table as CSV, then a database of their own, and predictions written back into it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

Typed = Callable[..., str]

CREATE = """
CREATE TABLE customers (id integer PRIMARY KEY, name text NOT NULL, city text);
CREATE TABLE items (id integer PRIMARY KEY, title text NOT NULL, category text NOT NULL, price numeric(8, 2));
CREATE TABLE sales (id integer PRIMARY KEY, customer_id integer NOT NULL REFERENCES customers,
    item_id integer NOT NULL REFERENCES items, channel text, sold_on date);
CREATE TABLE reviews (customer_id integer REFERENCES customers, item_id integer REFERENCES items, stars integer, body text);
"""
CATEGORIES = ("books", "coffee", "tools")

Row = tuple[int | str | float | None, ...]


def taste(customer: int) -> str:
    """Return the one category that a customer buys from."""
    return CATEGORIES[customer % len(CATEGORIES)]


def category(item: int) -> str:
    """Return the category of an item."""
    return CATEGORIES[item % len(CATEGORIES)]


def rows() -> dict[str, list[Row]]:
    """Return the rows of every table; every customer has bought about half of what they like."""
    chance = random.Random(1)
    customers, items = range(1, 46), range(1, 43)
    bought = [(c, i) for c in customers for i in items if taste(c) == category(i) and chance.random() < 0.55]
    sales = [(n, c, i, chance.choice(("web", "shop")), f"2026-0{1 + n % 9}-11") for n, (c, i) in enumerate(bought)]
    reviews = [(c, i, chance.randint(1, 5), f"review {n} of {i}") for n, (c, i) in enumerate(chance.sample(bought, 150))]
    return {
        "customers": [(c, f"customer no. {c}", f"town {c % 5}" if c % 9 else None) for c in customers],
        "items": [(i, f"item no. {i}", category(i), round(1 + 60 * chance.random(), 2)) for i in items],
        "sales": sales,
        "reviews": reviews,
    }


def test_a_database_is_completed_and_predictions_are_written_back_into_it(home: Path, typed: Typed, database: str) -> None:
    psycopg = pytest.importorskip("psycopg")
    shop = rows()
    with psycopg.connect(database) as connection, connection.cursor() as cursor:
        cursor.execute(CREATE)
        for table, content in shop.items():
            cursor.executemany(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(content[0]))})", content)  # noqa: S608
    summary = json.loads(typed("relatum", "import", database, "--out", "data", "--json"))
    assert {one["table"] for one in summary["tables"]} == shop.keys()
    typed("relatum", "train", "--data", "data", "--out", "run")
    typed("relatum", "predict", "run", "--relation", "sales", "--top", "60", "--to", database, "--table", "likely_sales")
    typed("relatum", "report", "run")
    assert (home / "run" / "report.html").stat().st_size > 10_000
    with psycopg.connect(database) as connection:
        joined = connection.execute(
            "SELECT c.id, i.id, p.probability FROM likely_sales p"
            " JOIN customers c ON c.id = p.customer_id JOIN items i ON i.id = p.item_id"
        ).fetchall()
        count = connection.execute("SELECT count(*) FROM sales").fetchone()
    assert count == (len(shop["sales"]),)  # what was there is untouched
    assert len(joined) == 60
    fitting = sum(taste(customer) == category(item) for customer, item, _ in joined)
    assert fitting >= 50  # a third would be chance
