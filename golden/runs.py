"""The three runs of the record: the example, a shop with empty cells, and made facts with derived relations."""

from __future__ import annotations

import hashlib
import random
import sqlite3
from contextlib import closing
from pathlib import Path

CITIES = {"Paris": "France", "Lyon": "France", "Rome": "Italy", "Milan": "Italy", "Bonn": "Germany", "Oslo": "Norway"}


def write_shop(path: Path) -> None:
    """Write a SQLite database of customers, items and sales; a city has one country, and every seventh country is empty."""
    rng = random.Random(11)  # the same shop every time
    homes = [rng.choice(sorted(CITIES)) for _ in range(90)]
    customers = [
        (
            n,
            f"customer {n}",
            city,
            None if n % 7 == 3 else CITIES[city],
            None if n % 11 == 5 else rng.choice(("home", "firm")),
        )
        for n, city in enumerate(homes, 1)
    ]
    kinds = ("books", "coffee", "tools")
    items = [
        (
            n,
            f"item {n}",
            None if n % 10 == 7 else kinds[n % 3],
            None if n % 13 == 6 else round(10 * (n % 3) + 5 * rng.random(), 2),
        )
        for n in range(1, 41)
    ]
    sales = [
        (
            n,
            rng.randrange(1, 91),
            rng.randrange(1, 41),
            rng.choice(("web", "desk")),
            f"20{20 + n // 100}-{1 + n % 12:02}-{1 + n % 28:02}",
        )
        for n in range(260)
    ]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT, country TEXT, segment TEXT);"
            "CREATE TABLE items (id INTEGER PRIMARY KEY, title TEXT, category TEXT, price DOUBLE PRECISION);"
            "CREATE TABLE sales (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id),"
            " item_id INTEGER REFERENCES items (id), channel TEXT, day DATE);"
        )
        connection.executemany("INSERT INTO customers VALUES (?, ?, ?, ?, ?)", customers)
        connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?)", items)
        connection.executemany("INSERT INTO sales VALUES (?, ?, ?, ?, ?)", sales)


def tensor_checksums(run: Path) -> dict[str, str]:
    """Return the SHA-256 of every tensor of a saved model."""
    from safetensors.numpy import load_file

    return {
        name: hashlib.sha256(f"{values.dtype} {values.shape} ".encode() + values.tobytes()).hexdigest()
        for name, values in sorted(load_file(run / "model.safetensors").items())
    }
