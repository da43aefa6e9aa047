"""A shop with empty cells, labels, and keys of every form, in SQLite or PostgreSQL; and a run on it, as fixtures."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import relatum
from support.small_tables import sqlite_of

Row = tuple[int | float | str | None, ...]

CREATE = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT, country TEXT, segment TEXT);
CREATE TABLE items (id INTEGER PRIMARY KEY, title TEXT, category TEXT, price DOUBLE PRECISION, shelf_code TEXT UNIQUE);
CREATE TABLE sales (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id),
    item_id INTEGER REFERENCES items (id), channel TEXT, day DATE, amount INTEGER);
CREATE TABLE stock (store TEXT, item_id INTEGER REFERENCES items (id), supplier TEXT, PRIMARY KEY (store, item_id));
CREATE TABLE seats (store TEXT, seat INTEGER, customer_id INTEGER REFERENCES customers (id), colour TEXT,
    PRIMARY KEY (store, seat), UNIQUE (store, customer_id));
CREATE TABLE ratings (customer_id INTEGER REFERENCES customers (id), item_id INTEGER REFERENCES items (id), stars INTEGER)
"""
COUNTRIES = {"Paris": "France", "Lyon": "France", "Rome": "Italy", "Milan": "Italy", "Bonn": "Germany", "Oslo": "Norway"}
TWINS = (1, 2)  # customers of one name
NEW_CUSTOMERS: list[Row] = [(201, "Zoe", "Paris", None, "home"), (202, "Yan", "Oslo", None, None)]


def rows() -> dict[str, list[Row]]:
    """Return the rows of every table; the city determines the country, the category of an item nearly its price."""
    rng = random.Random(7)
    cities = [rng.choice(list(COUNTRIES)) for _ in range(120)]
    customers: list[Row] = [
        (
            n,
            "Ada" if n in TWINS else f"customer {n}",
            city,
            None if n % 7 == 3 else COUNTRIES[city],
            None if n % 11 == 5 else rng.choice(("home", "firm")),
        )
        for n, city in enumerate(cities, 1)
    ]
    categories = ("books", "coffee", "tools")
    items: list[Row] = [
        (
            n,
            f"item {n}",
            None if n % 10 == 7 else categories[n % 3],
            None if n % 13 == 6 else round(10 * (n % 3) + 5 * rng.random(), 2),
            f"S{n % 45}" if n <= 40 else None,
        )
        for n in range(1, 61)
    ]
    pairs = [(rng.randrange(1, 121), rng.randrange(1, 61)) for _ in range(350)]
    sales: list[Row] = [
        (
            n,
            buyer,
            item,
            rng.choice(("web", "shop")),
            f"20{20 + n // 100}-{1 + n % 12:02}-{1 + n % 28:02}",
            None if n % 9 == 4 else rng.randrange(1, 9) * (1 + item % 3),
        )
        for n, (buyer, item) in enumerate(pairs)
    ]
    stores = ("north", "south", "west")
    return {
        "customers": customers,
        "items": items,
        "sales": sales,
        "stock": [(one, item, f"supplier {item % 4}") for one in stores for item in range(1, 61) if rng.random() < 0.6],
        "seats": [(one, n, buyer, rng.choice(("red", "blue"))) for one in stores for n, buyer in _seated(rng)],
        "ratings": [(*pair, None if n % 8 == 1 else rng.randrange(1, 6)) for n, pair in enumerate(pairs[:150])],
    }


def _seated(rng: random.Random) -> list[tuple[int, int]]:
    return list(enumerate(rng.sample(range(1, 121), 25), 1))


def put_in(execute: Callable[[str], object], insert: Callable[[str, list[Row]], object], mark: str = "?") -> None:
    """Make the tables and put the rows in, by statements with marks for the values."""
    for statement in CREATE.split(";\n"):
        execute(statement)
    for table, content in rows().items():
        insert(f"INSERT INTO {table} VALUES ({', '.join([mark] * len(content[0]))})", content)  # noqa: S608


def content_of(path: Path) -> dict[str, list[Row]]:
    """Return the rows of every table of the shop as SQLite has them."""
    with closing(sqlite3.connect(path)) as connection:
        return {table: connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3").fetchall() for table in rows()}  # noqa: S608


def statements(path: Path, *listed: str) -> None:
    """Run statements in a SQLite database."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for sql in listed:
            connection.execute(sql)


def add_customers(path: Path) -> None:
    """Put the new customers into a SQLite database."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany("INSERT INTO customers VALUES (?, ?, ?, ?, ?)", NEW_CUSTOMERS)


@pytest.fixture(scope="session")
def gappy_shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a SQLite database of the shop, to be copied."""
    path = tmp_path_factory.mktemp("gappy") / "shop.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        put_in(connection.execute, connection.executemany)
    return path


@pytest.fixture
def today(gappy_shop: Path, tmp_path: Path) -> Path:
    """Return a copy of the shop's database."""
    return shutil.copy(gappy_shop, tmp_path / "today.db")


@pytest.fixture(scope="session")
def gappy_run(gappy_shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a run on the shop; to be read only, or copied."""
    folder = tmp_path_factory.mktemp("runs") / "shop"
    relatum.fit(relatum.read(gappy_shop, keep=["shelf_code"]), folder, dim=20, epochs=8, progress=False)
    return folder


@pytest.fixture(scope="session")
def tables(gappy_run: Path) -> relatum.Run:
    """Return the run on the shop, opened; nothing may be defined on it."""
    return relatum.open(gappy_run)


def new_customers_alone(path: Path) -> Path:
    """Make a database that has nothing but the new customers."""
    script = "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT, country TEXT, segment TEXT)"
    return sqlite_of(path, script, customers=NEW_CUSTOMERS)
