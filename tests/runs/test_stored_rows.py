"""Known rows are those of the database: random SQL has the rows that DuckDB has on the source, in its order, as often."""

from __future__ import annotations

import csv
import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

import relatum
from relatum.runs.query_rows import QueryRows
from relatum.runs.sql_answers import catalog_of_run
from relatum.runs.stored_rows import StoredRows
from relatum.tables.engine import Workspace
from support import shop_with_gaps
from support.random_sql import ENTITIES, as_duckdb, parsed_or_none, random_sql, random_sql_graph, random_sql_schema
from support.random_stored_sql import RandomStoredSql, truth_of

Truth = tuple[relatum.Run, duckdb.DuckDBPyConnection]
JOINS = [
    ("sales", "customers", "customer_id", "id"),
    ("sales", "items", "item_id", "id"),
    ("stock", "items", "item_id", "id"),
    ("ratings", "customers", "customer_id", "id"),
]
_TYPES = {"INTEGER": "BIGINT", "TEXT": "VARCHAR", "DOUBLE": "DOUBLE", "DATE": "DATE"}


def _trained(source: Any) -> relatum.Run:
    return relatum.fit(relatum.read(source), dim=8, epochs=1, progress=False)


def _shop_tables() -> dict[str, tuple[dict[str, str], list[shop_with_gaps.Row]]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(shop_with_gaps.CREATE)
        types = {
            table: {row[1]: _TYPES[row[2].split()[0]] for row in connection.execute(f"PRAGMA table_info({table})")}
            for table in shop_with_gaps.rows()
        }
    return {table: (types[table], rows) for table, rows in shop_with_gaps.rows().items()}


@pytest.fixture(scope="module")
def truth() -> duckdb.DuckDBPyConnection:
    return truth_of(_shop_tables())


@pytest.fixture(scope="module")
def in_sqlite(gappy_shop: Path, truth: duckdb.DuckDBPyConnection) -> Truth:
    return _trained(gappy_shop), truth


@pytest.fixture(scope="module")
def in_duckdb(tmp_path_factory: pytest.TempPathFactory) -> Truth:
    """Return what has values of every type, and NULLs in every column but the key."""
    path = tmp_path_factory.mktemp("types") / "types.duckdb"
    rng = random.Random(5)
    columns = {
        "id": ("INTEGER", lambda n: str(n)),
        "amount": ("DECIMAL(7,2)", lambda n: f"{rng.randrange(-500, 500)}.{n % 4}5"),
        "weight": ("DOUBLE", lambda n: str(round(rng.random() * 100, 3))),
        "small": ("SMALLINT", lambda n: str(rng.randrange(30))),
        "day": ("DATE", lambda n: f"DATE '20{n % 20 + 10}-0{n % 9 + 1}-1{n % 9}'"),
        "moment": ("TIMESTAMP", lambda n: f"TIMESTAMP '2020-01-{n % 28 + 1:02} {n % 24:02}:30:{n % 60:02}.5'"),
        "is_open": ("BOOLEAN", lambda n: str(n % 3 == 0)),
        "word": ("VARCHAR", lambda n: f"'{rng.choice(('ab', 'Ab', 'bc', 'a%', 'ä', ''))}{n % 12}'"),
    }
    with closing(duckdb.connect(str(path))) as connection:
        connection.execute(
            f"CREATE TABLE things ({', '.join(f'{name} {kind}' for name, (kind, _) in columns.items())}, PRIMARY KEY (id))"
        )
        for number in range(200):
            row = ["NULL" if name != "id" and rng.random() < 0.15 else make(number) for name, (_, make) in columns.items()]
            connection.execute(f"INSERT INTO things VALUES ({', '.join(row)})")  # noqa: S608
        rows = connection.execute("SELECT * FROM things").fetchall()
    return _trained(path), truth_of({"things": ({name: kind for name, (kind, _) in columns.items()}, rows)})


@pytest.fixture(scope="module")
def in_parquet(tmp_path_factory: pytest.TempPathFactory, truth: duckdb.DuckDBPyConnection) -> Truth:
    folder = tmp_path_factory.mktemp("parquet")
    for table in ("customers", "items", "sales"):
        truth.execute(f"COPY {table} TO '{folder / table}.parquet' (FORMAT parquet)")
    tables = {name: one for name, one in _shop_tables().items() if name in ("customers", "items", "sales")}
    return _trained([folder / f"{name}.parquet" for name in tables]), truth_of(tables)


@pytest.fixture(scope="module")
def in_csv(tmp_path_factory: pytest.TempPathFactory) -> Truth:
    folder = tmp_path_factory.mktemp("csv")
    tables = {name: one for name, one in _shop_tables().items() if name in ("customers", "items", "sales")}
    for name, (types, rows) in tables.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([list(types), *rows])
    return _trained([folder / f"{name}.csv" for name in tables]), truth_of(tables)


@pytest.fixture(scope="module")
def in_postgres(postgres: str, truth: duckdb.DuckDBPyConnection) -> Truth:
    import psycopg

    with psycopg.connect(f"{postgres}/postgres", autocommit=True) as connection:
        connection.execute("CREATE DATABASE stored")
    with psycopg.connect(f"{postgres}/stored") as connection, connection.cursor() as cursor:
        shop_with_gaps.put_in(cursor.execute, lambda sql, rows: cursor.executemany(sql.replace("?", "%s"), rows))
    return _trained(f"{postgres}/stored"), truth


@pytest.mark.parametrize(
    "where",
    [
        "in_sqlite",
        "in_duckdb",
        *(pytest.param(one, marks=pytest.mark.everything) for one in ("in_parquet", "in_csv", "in_postgres")),
    ],
)
def test_known_rows_are_those_of_the_database(
    where: str, request: pytest.FixtureRequest, count: Callable[[int, int], int]
) -> None:
    run, truth = request.getfixturevalue(where)
    writer = RandomStoredSql(random.Random(where), truth, JOINS if where != "in_duckdb" else [])
    tables = {name for (name,) in truth.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    writer._joins = [one for one in writer._joins if {one[0], one[1]} <= tables]
    found = 0
    for _ in range(count(25, 1000)):
        query, is_ordered = writer.query()
        theirs = truth.execute(query.replace(" AND known", "")).fetchall()
        rows = run.sql(query, seconds=None) if len(theirs) <= 100 else run.sql(f"{query} LIMIT 1000", seconds=None)
        assert isinstance(rows, QueryRows)
        ours = [row.values for row in rows]
        assert all(row.known and row.probability == 1 for row in rows)
        assert (ours == theirs) if is_ordered else (Counter(ours) == Counter(theirs)), query
        found += len(ours)
    assert found > 20


@pytest.mark.parametrize("seed", range(3))
def test_known_rows_of_facts_are_those_of_tables_with_the_same_facts(seed: int, count: Callable[[int, int], int]) -> None:
    rng = random.Random(seed)
    schema, entities = random_sql_schema(rng), rng.sample(ENTITIES, 5)
    graph = random_sql_graph(rng, schema, entities)
    run = relatum.fit(graph, dim=4, epochs=1, progress=False)
    catalog, truth, rows = catalog_of_run(run), as_duckdb(graph), StoredRows(run)
    for _ in range(count(25, 500)):
        query = random_sql(rng, schema, entities)
        if (statement := parsed_or_none(query, catalog)) is not None:
            found = rows.query(statement.stored, catalog).rows
            assert Counter(found) == Counter(truth.execute(query).fetchall()), query


def test_a_demand_on_an_empty_cell_is_as_likely_as_the_values_that_meet_it(in_sqlite: Truth) -> None:
    run, truth = in_sqlite
    empty = {item for (item,) in truth.execute("SELECT id FROM items WHERE price IS NULL").fetchall()}
    query = "SELECT id FROM items WHERE price {} AND NOT known"
    new = {above: run.sql(query.format(above), seconds=None) for above in ("> 12", "<= 12")}
    likely = {above: {row["id"]: row.probability for row in rows} for above, rows in new.items()}
    assert set(likely["> 12"]) | set(likely["<= 12"]) == empty
    cells = {one.row["id"]: one for one in run.fill(tables=["items"], columns=["price"])}
    for item in empty:
        high, low = likely["> 12"].get(item, 0.0), likely["<= 12"].get(item, 0.0)
        assert high + low == pytest.approx(1, abs=0.02)  # all but what is rarer than a predicted fact counts
        least, most = map(float, cells[item].interval or ("0", "0"))
        if least > 12 or most <= 12:
            assert (high if least > 12 else low) >= cells[item].probability - 0.011  # one counts .99 at most
    both = run.sql("SELECT id, price FROM items WHERE price > 12 AND NOT known", seconds=None)
    assert all(row["price"] > 12 - 5 and row.probability <= likely["> 12"][row["id"]] + 1e-9 for row in both)


def test_moments_with_a_zone_are_those_of_utc() -> None:
    with Workspace() as workspace:
        query = "SELECT TIMESTAMPTZ '2005-05-05 10:00:00+02' AS a, 7 AS b, CAST(NULL AS TIMESTAMPTZ) AS a"
        assert workspace.first(query, 5) == (("a", "b", "a"), [(datetime(2005, 5, 5, 8, tzinfo=UTC), 7, None)])
