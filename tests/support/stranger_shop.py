"""A shop as a stranger has it: customers with a taste, and what they bought and reviewed."""

from __future__ import annotations

import random

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
