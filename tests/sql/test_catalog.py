"""Imported tables are tables as they were: the rows that SQLite gives for the same text, NULLs and all."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from relatum import Hypergraph, read
from relatum.algebra import evaluate
from relatum.sql.catalog import Catalog, catalog_of
from relatum.sql.parse import parse_sql
from support.mistakes import mistake

CREATE = """
CREATE TABLE genre (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE maker (id INTEGER PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE track (id INTEGER PRIMARY KEY, name TEXT, genre_id INTEGER REFERENCES genre (id),
    maker_id INTEGER REFERENCES maker (id), mood TEXT, seconds REAL);
CREATE TABLE sale (id INTEGER PRIMARY KEY, track_id INTEGER REFERENCES track (id), maker_id INTEGER REFERENCES maker (id),
    channel TEXT, note TEXT);
CREATE TABLE heard (maker_id INTEGER REFERENCES maker (id), track_id INTEGER REFERENCES track (id));
"""
GENRES, MOODS = ["Rock", "Jazz", "Folk"], ["glad", "sad", 'it\'s "odd"']


def fill(connection: sqlite3.Connection) -> None:
    rng = random.Random(3)
    connection.executescript(CREATE)
    connection.executemany("INSERT INTO genre VALUES (?, ?)", list(enumerate(GENRES, start=1)))
    makers = [(n, f"maker {n}", rng.choice(["Bonn", "Rome", None])) for n in range(1, 13)]
    connection.executemany("INSERT INTO maker VALUES (?, ?, ?)", makers)
    # Two tracks share a name, and cells are missing.
    tracks = [
        (n, f"song {n % 40}", rng.choice([1, 2, 3, None]), rng.randint(1, 12), rng.choice([*MOODS, None]), n * 1.5)
        for n in range(1, 61)
    ]
    connection.executemany("INSERT INTO track VALUES (?, ?, ?, ?, ?, ?)", tracks)
    sales = [(n, rng.randint(1, 60), rng.randint(1, 12), rng.choice(["web", "shop"]), None) for n in range(1, 121)]
    connection.executemany("INSERT INTO sale VALUES (?, ?, ?, ?, ?)", sales)
    heard = sorted({(rng.randint(1, 12), rng.randint(1, 60)) for _ in range(90)})
    connection.executemany("INSERT INTO heard VALUES (?, ?)", heard)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("music") / "music.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        fill(connection)
    return path


@pytest.fixture(scope="module")
def music(database: Path) -> tuple[Catalog, Hypergraph]:
    split = read(database).split
    catalog = catalog_of(split.schema, split.entities, column_types=split.column_types, rows=split.rows)
    return catalog, Hypergraph.union(list(split.parts.values()))


QUERIES = [
    "SELECT id FROM track WHERE mood = 'sad'",
    "SELECT id, mood FROM track WHERE genre_id = 1",
    "SELECT t.id FROM track AS t JOIN genre AS g ON t.genre_id = g.id WHERE g.name = 'Rock'",
    "SELECT t.id FROM track AS t JOIN genre AS g ON t.genre_id = g.id WHERE g.name <> 'Rock'",
    "SELECT t.id FROM track AS t, genre AS g WHERE t.genre_id = g.id AND g.name IN ('Jazz', 'Folk') AND t.mood <> 'sad'",
    "SELECT id FROM track WHERE name = 'song 3'",
    "SELECT t.id FROM track AS t WHERE t.name IN ('song 3', 'song 4') AND t.genre_id = 2",
    "SELECT id FROM track WHERE genre_id = 1 OR mood = 'glad'",
    "SELECT id FROM track WHERE NOT (genre_id = 1 OR mood = 'glad')",
    "SELECT mood FROM track WHERE id = 7",
    "SELECT t.mood, m.city FROM track AS t JOIN maker AS m ON t.maker_id = m.id",
    "SELECT g.id, t.id AS track FROM genre AS g JOIN track AS t ON t.genre_id = g.id",
    "SELECT m.id FROM maker m WHERE EXISTS (SELECT 1 FROM track t WHERE t.maker_id = m.id AND t.mood = 'it''s \"odd\"')",
    "SELECT m.city, m.id FROM maker m WHERE NOT EXISTS (SELECT 1 FROM track t WHERE t.maker_id = m.id AND t.genre_id = 3)",
    "SELECT m.id FROM maker AS m WHERE m.city = 'Bonn' AND m.id NOT IN (SELECT maker_id FROM sale WHERE channel = 'web')",
    "SELECT maker_id FROM heard EXCEPT SELECT maker_id FROM track WHERE genre_id = 2",
    "SELECT h.maker_id FROM heard h JOIN track t ON h.track_id = t.id WHERE t.genre_id = 3 AND t.maker_id = h.maker_id",
    "SELECT * FROM heard WHERE track_id = 5",
    "SELECT track_id FROM heard INTERSECT SELECT track_id FROM sale WHERE channel = 'shop'",
    "SELECT a.id FROM track AS a JOIN track AS b ON a.genre_id = b.genre_id WHERE b.id = 9 AND a.id <> b.id",
    "SELECT id FROM genre",
    "SELECT id FROM track",
    "WITH mine AS (SELECT genre_id FROM track WHERE maker_id = 4) SELECT g.id FROM genre g JOIN mine m ON m.genre_id = g.id",
]


def test_rows_are_those_of_sqlite(database: Path, music: tuple[Catalog, Hypergraph]) -> None:
    catalog, graph = music
    with closing(sqlite3.connect(database)) as connection:
        for query in QUERIES:
            theirs = {
                tuple(map(str, row)) for row in connection.execute(query).fetchall() if None not in row
            }  # what is not known is in no row
            statement = parse_sql(query, catalog)
            found = [[row[position] for position in statement.positions] for row in evaluate(statement.expression, graph)]
            assert {tuple(name.partition(":")[2] for name in row) for row in found} == theirs, query


@pytest.mark.parametrize(
    ("query", "form"),
    [
        ("SELECT id FROM track WHERE genre_id = 'Rock'", "select[1 = genre:1](track.genre_id)"),
        ("SELECT id FROM track WHERE genre_id = 'genre:1'", "select[1 = genre:1](track.genre_id)"),
        (
            "SELECT t.mood FROM track t JOIN genre g ON g.id = t.genre_id",
            "project[2](join[0 = 0](track.genre_id, track.mood))",
        ),
        ('SELECT genre_id FROM "track.genre_id" WHERE id = 5', "select[0 = track:5](track.genre_id)"),
    ],
)
def test_only_the_columns_that_are_named_are_joined(query: str, form: str, music: tuple[Catalog, Hypergraph]) -> None:
    assert str(parse_sql(query, music[0]).expression) == form


def test_what_is_compared_by_value_is_a_demand_on_the_row(music: tuple[Catalog, Hypergraph]) -> None:
    statement = parse_sql("SELECT id FROM track WHERE seconds = 30 AND seconds < 40 AND mood = 'sad'", music[0])
    (demanded,) = statement.demanded.values()
    assert (demanded.table, demanded.columns, demanded.relation) == ("track", ("seconds",), None)
    assert demanded.schema.name == "track: seconds = 30 AND seconds < 40"
    shown = parse_sql("SELECT id, seconds FROM track WHERE seconds > 30", music[0])
    assert [one.schema.arity for one in shown.demanded.values()] == [2]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT id FROM track WHERE genre_id = 'Rok'", "unknown-name"),
        ("SELECT id FROM genre WHERE name = 'Rok'", "unknown-name"),
        ("SELECT t.id FROM track t JOIN genre g ON t.name = g.name", "stored-rows-only"),
        ("SELECT mood FROM track EXCEPT SELECT city FROM maker", "stored-rows-only"),
        ("SELECT id FROM track WHERE maker_id IN (SELECT id FROM genre)", "stored-rows-only"),
        ("SELECT t.id FROM track t JOIN maker m ON t.seconds > m.id", "stored-rows-only"),
        ("SELECT count(*) FROM track", "stored-rows-only"),
        ("SELECT t.id FROM track t LEFT JOIN maker m ON t.maker_id = m.id", "stored-rows-only"),
        ("SELECT genre_id FROM track.genre_id", "sql-not-supported"),
        ("SELECT id FROM trak", "unknown-name"),
        ("SELECT id FROM track WHERE gerne_id = 1", "unknown-name"),
    ],
)
def test_what_a_table_has_not_is_refused(query: str, code: str, music: tuple[Catalog, Hypergraph]) -> None:
    with mistake(code):
        parse_sql(query, music[0])
    if code == "stored-rows-only" and "EXCEPT" not in query:
        known = parse_sql(f"{query} {'AND' if 'WHERE' in query else 'WHERE'} known", music[0])
        assert known.expression is None
        assert known.stored.tables


def test_a_label_of_several_rows_is_refused_as_a_value_and_means_all_of_them_as_a_name(
    music: tuple[Catalog, Hypergraph],
) -> None:
    with mistake("ambiguous-name"):
        parse_sql("SELECT maker_id FROM heard WHERE track_id = 'song 3'", music[0])
    both = parse_sql("SELECT h.maker_id FROM heard h JOIN track t ON h.track_id = t.id WHERE t.name = 'song 3'", music[0])
    assert str(both.expression) == "union(select[1 = track:3](heard), select[1 = track:43](heard))"
