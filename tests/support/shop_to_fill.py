"""A small shop with empty cells, in a database of each engine, seen from outside."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support.mysql_server import connect

ENGINES = ("sqlite", "duckdb", "postgres", "mysql")
TABLES = """
    CREATE TABLE track
      (id INTEGER PRIMARY KEY, name VARCHAR(20), genre INTEGER, price NUMERIC(8, 2), seconds DOUBLE PRECISION);
    INSERT INTO track VALUES (1, 'One', NULL, NULL, 0.1), (2, NULL, 7, 0.99, NULL), (3, 'Three', NULL, 1.5, NULL);
    CREATE TABLE sale (buyer TEXT, item TEXT, day DATE, units INTEGER);
    INSERT INTO sale VALUES ('ann', 'tea', '2024-01-05', NULL), ('ann', 'tea', '2024-01-06', 2), ('bob', NULL, NULL, 3),
      ('cem', 'tea', NULL, NULL), ('dan', 'tea', NULL, NULL), ('dan', 'tea', NULL, NULL)"""


class MysqlConnection:
    """A connection to MySQL that takes the statements of the others."""

    def __init__(self, url: str) -> None:
        mode = "SET SESSION sql_mode = 'ANSI,STRICT_ALL_TABLES', max_recursive_iterations = 1000000"
        self._connection = connect(url, init_command=mode)

    def execute(self, sql: str) -> Any:
        """Run a statement and return its cursor."""
        cursor = self._connection.cursor()
        cursor.execute(sql.replace(" AS TEXT)", " AS CHAR)").replace("TEXT PRIMARY KEY", "VARCHAR(99) PRIMARY KEY"))
        return cursor

    def cursor(self) -> Any:
        """Return a cursor of the driver's own."""
        return self._connection.cursor()

    def commit(self) -> None:
        """Make it last."""
        self._connection.commit()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class Filled:
    """A database for which SQL can be run from outside; `to` is its path or URL."""

    def __init__(self, engine: str, to: str, connect: Callable[[], Any]) -> None:
        self.engine, self.to, self.connect = engine, to, connect

    def run(self, *statements: str) -> None:
        """Run statements and commit them."""
        with closing(self.connect()) as connection:
            for sql in statements:
                connection.execute(sql)
            if self.engine != "duckdb":  # which commits each statement by itself
                connection.commit()

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with closing(self.connect()) as connection:
            return [tuple(row) for row in connection.execute(sql).fetchall()]

    def content(self, *tables: str) -> dict[str, list[tuple[Any, ...]]]:
        """Return the rows of tables, each value with the type that it is stored in."""
        typed = {"postgres": "pg_typeof({})::text", "mysql": "hex({})"}.get(self.engine, "typeof({})")
        found = {}
        with closing(self.connect()) as connection:
            for table in tables:
                names = [f'"{each[0]}"' for each in connection.execute(f"SELECT * FROM {table} LIMIT 0").description]  # noqa: S608
                chosen = ", ".join(f"{name}, {typed.format(name)}" for name in names)
                rows = connection.execute(f"SELECT {chosen} FROM {table}").fetchall()  # noqa: S608
                found[table] = sorted((tuple(row) for row in rows), key=repr)
        return found

    @property
    def shop(self) -> dict[str, list[tuple[Any, ...]]]:
        """The content of the shop's tables."""
        return self.content("track", "sale")


def open_filled(engine: str, folder: Path, request: pytest.FixtureRequest) -> Filled:
    """Return an empty database of an engine."""
    if engine == "postgres":
        url = request.getfixturevalue("database")
        import psycopg

        return Filled(engine, url, lambda: psycopg.connect(url))
    if engine == "mysql":
        url = request.getfixturevalue("mysql_database")
        return Filled(engine, url, lambda: MysqlConnection(url))
    path = folder / f"shop.{'db' if engine == 'sqlite' else 'duckdb'}"
    if engine == "sqlite":
        return Filled(engine, str(path), lambda: sqlite3.connect(path))
    duckdb = pytest.importorskip("duckdb")
    return Filled(engine, str(path), lambda: duckdb.connect(str(path)))


@pytest.fixture(params=ENGINES)
def shop_to_fill(request: pytest.FixtureRequest, tmp_path: Path) -> Filled:
    """Return the shop in a database of each engine in turn."""
    filled = open_filled(request.param, tmp_path, request)
    filled.run(*(statement for statement in TABLES.split(";")))
    return filled


@pytest.fixture
def postgres_to_fill(request: pytest.FixtureRequest, tmp_path: Path) -> Filled:
    """Return an empty database of PostgreSQL."""
    return open_filled("postgres", tmp_path, request)
