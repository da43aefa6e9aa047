"""Rows of a shop: customers in cities of countries, their orders, some cells hidden; drawn once for several tests."""

from __future__ import annotations

from functools import cache

import numpy as np

from relatum.data.row_store import RowStore
from support.row_stores import store_of

CITIES = {"Paris": "France", "Lyon": "France", "Rome": "Italy", "Milan": "Italy", "Bonn": "Germany", "Oslo": "Norway"}


@cache
def shop(orders: int = 400, customers: int = 40, valid: bool = False) -> RowStore:
    """Return orders of customers: the city determines the country, the customer nearly the payment; the coin is noise."""
    rng = np.random.default_rng(5)
    home = rng.choice(list(CITIES), customers)
    buyer = rng.integers(0, customers, orders)
    city = home[buyer]
    ways = np.array(["card", "cash", "bill"])
    habit = rng.integers(0, 3, customers)
    way = ways[np.where(rng.random(orders) < 0.85, habit[buyer], rng.integers(0, 3, orders))]
    columns = {
        "Id": [str(one) for one in range(orders)],
        "Customer": [str(one) for one in buyer],
        "City": city.tolist(),
        "Country": [CITIES[one] for one in city],
        "Payment": way.tolist(),
        "Coin": rng.choice(["head", "tail"], orders, p=[0.6, 0.4]).tolist(),
    }
    drawn = {name: rng.choice(orders, orders // 10, replace=False) for name in columns if name != "Id"}
    hidden = {
        ("Order", name): {int(row): (1 if valid and k % 2 else 2) for k, row in enumerate(rows)}
        for name, rows in drawn.items()
    }
    return store_of(
        {"Customer": {"Id": [str(one) for one in range(customers)], "Home": home.tolist()}, "Order": columns},
        keys={"Customer": [("Id",)], "Order": [("Id",)]},
        references={"Order": [("Customer", "Customer", "Id")]},
        hidden=hidden,
    )


def hidden_rows(store: RowStore, column: str, part: int = 2) -> np.ndarray:
    """Return the orders whose cell of a column is in a part of the split."""
    table = store["Order"]
    return np.flatnonzero(table.parts[table.schema.index(column)] == part)
