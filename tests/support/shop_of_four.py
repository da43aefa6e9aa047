"""A shop of customers, items, sales and reviews, for SQLite, DuckDB and PostgreSQL; with keys of many forms."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from relatum import Spec, fit, read

Row = tuple[int | float | str, ...]

CREATE = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, city TEXT);
CREATE TABLE items (code TEXT PRIMARY KEY, weight DOUBLE PRECISION);
CREATE TABLE sales (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id),
    item_code TEXT REFERENCES items (code), channel TEXT, discount DOUBLE PRECISION);
CREATE TABLE reviews (customer_id INTEGER REFERENCES customers (id), item_code TEXT REFERENCES items (code),
    stars INTEGER, score TEXT);
"""
CHANNELS = (
    "web",
    "shop\tnorth",
    'o\'brien "& sons"; DROP TABLE sales; --',
    "1",
)  # a tab, quotes, and what looks like a number
DISCOUNTS = (0.0, 0.25, 1e-7, 12.5)


def rows() -> dict[str, list[Row]]:
    """Return the rows of every table; ids of customers and codes of items run over the same numbers, these with zeros."""
    rng = random.Random(4)
    customers = list(range(1, 25))
    items = [f"{n:03}" for n in range(1, 19)]
    bought = sorted({(rng.choice(customers), rng.choice(items)) for _ in range(220)})
    return {
        "customers": [(n, f"town {n % 4}") for n in customers],
        "items": [(code, (int(code) % 3) / 2) for code in items],
        "sales": [(n, *pair, rng.choice(CHANNELS), rng.choice(DISCOUNTS)) for n, pair in enumerate(bought)],
        "reviews": [(*pair, rng.randint(1, 5), rng.choice(("good", "bad"))) for pair in rng.sample(bought, 90)],
    }


def fill(execute: Callable[[str], object], insert: Callable[[str, list[Row]], object], mark: str = "?") -> None:
    """Make the tables and put the rows in, by statements with marks for the values."""
    for statement in CREATE.split(";\n"):
        if statement.strip():
            execute(statement)
    for table, content in rows().items():
        insert(f"INSERT INTO {table} VALUES ({', '.join([mark] * len(content[0]))})", content)  # noqa: S608


def fill_sqlite(path: Path) -> None:
    """Make the shop as a SQLite database."""
    with closing(sqlite3.connect(path)) as connection, connection:
        fill(connection.execute, connection.executemany)


def train(source: str, folder: Path) -> Path:
    """Import a source, and return the directory of a run on it; what was imported is gone."""
    read(source, relations={"sales": "sold"}).save(folder / "data")
    spec = {"data": str(folder / "data"), "model": {"dim": 20}, "training": {"epochs": 4}}
    trained = fit(Spec.from_dict(spec), folder / "run").folder
    shutil.rmtree(folder / "data")
    return trained
