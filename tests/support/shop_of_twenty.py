"""A shop in twenty tables, for SQLite, DuckDB and PostgreSQL, and by hand what its entities and facts are.

The ids of all tables run over the same numbers, so that nothing but the foreign keys tells customer 3 from item 3.
"""

from __future__ import annotations

import random
from collections.abc import Callable

Row = tuple[int | str | None, ...]

CREATE = """
CREATE TABLE countries (code VARCHAR(2) PRIMARY KEY, name TEXT);
CREATE TABLE cities (id INTEGER PRIMARY KEY, name TEXT, country_code VARCHAR(2) REFERENCES countries (code));
CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE stores (id INTEGER PRIMARY KEY, city_id INTEGER REFERENCES cities (id));
CREATE TABLE customers (id INTEGER PRIMARY KEY REFERENCES people (id), city_id INTEGER REFERENCES cities (id));
CREATE TABLE employees (id INTEGER PRIMARY KEY REFERENCES people (id), manager_id INTEGER REFERENCES employees (id),
    store_id INTEGER REFERENCES stores (id));
CREATE TABLE categories (id INTEGER PRIMARY KEY, parent_id INTEGER REFERENCES categories (id));
CREATE TABLE suppliers (id INTEGER PRIMARY KEY, city_id INTEGER REFERENCES cities (id));
CREATE TABLE items (id INTEGER PRIMARY KEY, category_id INTEGER REFERENCES categories (id),
    supplier_id INTEGER REFERENCES suppliers (id));
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id),
    store_id INTEGER REFERENCES stores (id));
CREATE TABLE order_lines (order_id INTEGER REFERENCES orders (id), line_no INTEGER, item_id INTEGER REFERENCES items (id),
    PRIMARY KEY (order_id, line_no));
CREATE TABLE carriers (id INTEGER PRIMARY KEY, country_code VARCHAR(2) REFERENCES countries (code));
CREATE TABLE shipments (id INTEGER PRIMARY KEY, order_id INTEGER, line_no INTEGER,
    carrier_id INTEGER REFERENCES carriers (id), FOREIGN KEY (order_id, line_no) REFERENCES order_lines (order_id, line_no));
CREATE TABLE payments (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders (id), method TEXT);
CREATE TABLE reviews (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id),
    item_id INTEGER REFERENCES items (id), stars INTEGER, body TEXT);
CREATE TABLE tags (id INTEGER PRIMARY KEY, label TEXT);
CREATE TABLE item_tags (item_id INTEGER REFERENCES items (id), tag_id INTEGER REFERENCES tags (id),
    PRIMARY KEY (item_id, tag_id));
CREATE TABLE price_codes (id INTEGER PRIMARY KEY, code TEXT UNIQUE);
CREATE TABLE item_prices (item_id INTEGER REFERENCES items (id), code TEXT REFERENCES price_codes (code));
CREATE TABLE contracts (supplier_id INTEGER REFERENCES suppliers (id), employee_id INTEGER REFERENCES employees (id),
    PRIMARY KEY (supplier_id, employee_id));
"""

# By hand, for each relation: its table, its roles, what their entities are, and the column of the row that holds them.
TRUTH: dict[str, tuple[str, dict[str, tuple[str, int]]]] = {
    # What describes the rows of a table whose key others refer to, or that has nothing but a key and what describes it.
    "cities.country_code": ("cities", {"id": ("cities", 0), "country_code": ("countries", 2)}),
    "stores.city_id": ("stores", {"id": ("stores", 0), "city_id": ("cities", 1)}),
    "customers.city_id": ("customers", {"id": ("people", 0), "city_id": ("cities", 1)}),
    "employees.manager_id": ("employees", {"id": ("people", 0), "manager_id": ("people", 1)}),
    "employees.store_id": ("employees", {"id": ("people", 0), "store_id": ("stores", 2)}),
    "categories.parent_id": ("categories", {"id": ("categories", 0), "parent_id": ("categories", 1)}),
    "suppliers.city_id": ("suppliers", {"id": ("suppliers", 0), "city_id": ("cities", 1)}),
    "items.category_id": ("items", {"id": ("items", 0), "category_id": ("categories", 1)}),
    "items.supplier_id": ("items", {"id": ("items", 0), "supplier_id": ("suppliers", 2)}),
    "orders.customer_id": ("orders", {"id": ("orders", 0), "customer_id": ("people", 1)}),
    "orders.store_id": ("orders", {"id": ("orders", 0), "store_id": ("stores", 2)}),
    "carriers.country_code": ("carriers", {"id": ("carriers", 0), "country_code": ("countries", 1)}),
    "payments.order_id": ("payments", {"id": ("payments", 0), "order_id": ("orders", 1)}),
    "payments.method": ("payments", {"id": ("payments", 0), "method": ("payments.method", 2)}),
    "price_codes.code": ("price_codes", {"id": ("price_codes", 0), "code": ("price_codes.code", 1)}),
    # A key of several columns, or none; and events, which have a key that nothing refers to and link several entities.
    "order_lines": (
        "order_lines",
        {"order_id": ("orders", 0), "line_no": ("order_lines.line_no", 1), "item_id": ("items", 2)},
    ),
    "shipments": (
        "shipments",
        {"order_id": ("orders", 1), "line_no": ("order_lines.line_no", 2), "carrier_id": ("carriers", 3)},
    ),
    "reviews": ("reviews", {"customer_id": ("people", 1), "item_id": ("items", 2), "stars": ("reviews.stars", 3)}),
    "item_tags": ("item_tags", {"item_id": ("items", 0), "tag_id": ("tags", 1)}),
    "item_prices": ("item_prices", {"item_id": ("items", 0), "code": ("price_codes.code", 1)}),
    "contracts": ("contracts", {"supplier_id": ("suppliers", 0), "employee_id": ("people", 1)}),
}
WITHOUT_RELATION = {"countries", "people", "tags"}  # only a key and names
KEYS_IN_NO_FACT = {"countries": "code", "people": "id", "tags": "id", "shipments": "id", "reviews": "id"}
LABELS = {"countries": 1, "cities": 1, "people": 1, "tags": 1, "reviews": 4}  # the column that has what rows are called


def shapes() -> dict[str, tuple[str | None, set[str]]]:
    """Return the shape and the relations of every table: facts are called after it, what describes rows after columns."""
    found: dict[str, tuple[str | None, set[str]]] = {table: (None, set()) for table in WITHOUT_RELATION}
    for relation, (table, _) in TRUTH.items():
        found.setdefault(table, ("fact" if relation == table else "entity", set()))[1].add(relation)
    return found


def labels(table: str) -> tuple[str, ...] | None:
    """Return what the rows of a table are called; None if they have no names."""
    return tuple(str(row[LABELS[table]]) for row in rows()[table]) if table in LABELS else None


def rows() -> dict[str, list[Row]]:
    """Return the rows of every table, in an order in which they can be put in."""
    rng = random.Random(8)

    def some(table: str) -> int | str | None:
        return rng.choice(made[table])[0]

    made: dict[str, list[Row]] = {"countries": [(code, f"the land of {code}") for code in ("at", "fr", "jp", "no")]}
    made["cities"] = [(n, f"city {n}", some("countries")) for n in range(1, 13)]
    made["people"] = [(n, f"person {n}") for n in range(1, 41)]
    made["stores"] = [(n, some("cities")) for n in range(1, 9)]
    made["customers"] = [(n, some("cities")) for n in range(1, 31)]
    made["employees"] = []
    for n in range(25, 41):  # some are customers too
        made["employees"].append((n, some("employees") if n > 27 else None, some("stores")))
    made["categories"] = [(1, None), (2, None), *((n, rng.randrange(1, n)) for n in range(3, 11))]
    made["suppliers"] = [(n, some("cities")) for n in range(1, 8)]
    made["items"] = [(n, some("categories"), some("suppliers")) for n in range(1, 31)]
    made["orders"] = [(n, some("customers"), some("stores")) for n in range(1, 51)]
    made["order_lines"] = [(order, line, some("items")) for order in range(1, 51) for line in range(1, 2 + order % 3)]
    made["carriers"] = [(n, some("countries")) for n in range(1, 5)]
    made["shipments"] = [(n, *rng.choice(made["order_lines"])[:2], some("carriers")) for n in range(1, 41)]
    made["payments"] = [(n, n, rng.choice(("card", "cash"))) for n in range(1, 51)]
    made["reviews"] = [(n, some("customers"), some("items"), rng.randint(1, 5), f"text {n}") for n in range(1, 61)]
    made["tags"] = [(n, f"label {n}") for n in range(1, 7)]
    made["item_tags"] = sorted({(some("items"), some("tags")) for _ in range(60)}, key=str)
    made["price_codes"] = [(n, f"P{n}") for n in range(1, 6)]
    made["item_prices"] = [(item, f"P{1 + item % 5}") for item in range(1, 31)]
    made["contracts"] = sorted({(some("suppliers"), some("employees")) for _ in range(20)}, key=str)
    return made


def fill(execute: Callable[[str], object], insert: Callable[[str, list[Row]], object]) -> None:
    """Make the tables and put the rows in; `insert` is given a table and its rows."""
    for statement in CREATE.split(";\n"):
        if statement.strip():
            execute(statement)
    for table, content in rows().items():
        insert(table, content)


def facts() -> set[tuple[str, ...]]:
    """Return the facts of the shop, by hand."""
    return {
        (relation, *(f"{kind}:{row[place]}" for kind, place in roles.values()))
        for relation, (table, roles) in TRUTH.items()
        for row in rows()[table]
        if all(row[place] is not None for _, place in roles.values())
    }
