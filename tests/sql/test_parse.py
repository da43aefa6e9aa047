"""SQL as algebra: the same rows as DuckDB gives for the same text, and one form for one query."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from contextlib import suppress

import duckdb
import pytest

from relatum import Hypergraph, RelationSchema
from relatum.algebra import Expression, evaluate, parse
from relatum.sql.catalog import catalog_of
from relatum.sql.parse import Statement, parse_sql
from relatum.sql.scan import SqlError
from support.mistakes import mistake
from support.random_sql import ENTITIES, as_duckdb, parsed_or_none, random_sql, random_sql_graph, random_sql_schema

GRAPH = Hypergraph.of(
    [
        ("sold", "drew", "alex", "book"),
        ("sold", "drew", "drew", "coffee"),
        ("sold", "alex", "drew", "coffee"),
        ("knows", "drew", "alex"),
        ("knows", "alex", "sam"),
        ("Vip", "alex"),
        ("rated", "book", "5"),
    ],
    [RelationSchema("sold", 3, ("seller", "buyer", "item"))],
)
CATALOG = catalog_of(GRAPH.schema, GRAPH.entities)
QUERIES_OF_ONE_GRAPH = 20


def rows(statement: Statement, graph: Hypergraph = GRAPH) -> set[tuple[str, ...]]:
    return {tuple(row[position] for position in statement.positions) for row in evaluate(statement.expression, graph)}


def text(query: str) -> str:
    return str(parse_sql(query, CATALOG).expression)


@pytest.mark.parametrize("seed", range(10))
def test_rows_are_those_of_duckdb(seed: int, count: Callable[[int, int], int]) -> None:
    rng = random.Random(seed)
    for _ in range(count(1, 25)):
        schema, entities = random_sql_schema(rng), rng.sample(ENTITIES, rng.randint(2, 5))
        graph = random_sql_graph(rng, schema, entities)
        catalog, connection = catalog_of(graph.schema, graph.entities), as_duckdb(graph)
        for _ in range(QUERIES_OF_ONE_GRAPH):
            query = random_sql(rng, schema, entities)
            theirs = set(connection.execute(query).fetchall())
            statement = parsed_or_none(query, catalog)
            if statement is None:
                assert not theirs, query
                continue
            assert rows(statement, graph) == theirs, query
            assert parse(str(statement.expression), graph.schema) == statement.expression, query


WORDS = (
    "SELECT FROM WHERE AND OR NOT IN EXISTS ( ) , . = <> * JOIN ON USING NATURAL CROSS INNER UNION EXCEPT INTERSECT ALL AS "
    "DISTINCT WITH LIMIT ORDER BY GROUP HAVING LEFT known probability 'a' 1 NULL IS LIKE > ; - + a b position_0 r0 t1 OVER"
)


@pytest.mark.parametrize("seed", range(4))
def test_spoiled_queries_are_refused_or_have_the_rows_of_duckdb(seed: int, count: Callable[[int, int], int]) -> None:
    rng, words = random.Random(100 + seed), WORDS.split(" ")
    token = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\w+|<>|!=|\S")
    schema = random_sql_schema(rng)
    graph = random_sql_graph(rng, schema, ENTITIES[:4])
    catalog, connection = catalog_of(graph.schema, graph.entities), as_duckdb(graph)
    for _ in range(count(60, 2000)):
        tokens = token.findall(random_sql(rng, schema, ENTITIES[:4]))
        for _ in range(rng.choice([1, 1, 2, 3])):
            index = rng.randrange(len(tokens))
            tokens[index : index + rng.randint(0, 1)] = (
                rng.choice([[], [rng.choice(words)]]) or tokens[index : index + 1] * 2
            )
        query = " ".join(tokens)
        with suppress(SqlError, duckdb.Error):  # DuckDB has reserved words that we take for names, and no `known`
            statement = parse_sql(query, catalog)
            theirs = set(connection.execute(query).fetchall())
            assert statement.limit is not None or rows(statement, graph) == theirs, query


def test_a_join_is_a_shared_variable_and_a_constant_is_selected() -> None:
    assert text("SELECT seller FROM sold WHERE item = 'book'") == "project[0](select[2 = book](sold))"
    joined = "SELECT k.position_1 FROM sold AS s JOIN knows AS k ON s.buyer = k.position_0"
    assert text(joined) == "project[3](join[1 = 0](sold, knows))"
    assert text("SELECT seller, item FROM sold WHERE item = 'book'") == "project[0, 2](filter[2 = book](sold))"
    assert text("SELECT seller FROM sold WHERE item <> 'book'") == "project[0](filter[2 != book](sold))"
    assert text("SELECT seller FROM sold WHERE seller <> buyer") == "project[0](filter_unequal[0, 1](sold))"
    assert text("SELECT position_0 FROM vip WHERE position_0 = 'alex'") == "filter[0 = alex](Vip)"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT DISTINCT s.seller FROM sold s, knows k WHERE s.buyer = k.position_0 AND k.position_1 <> 'sam'",
        "SELECT seller FROM sold JOIN knows ON buyer = position_0 AND NOT position_1 = 'sam'",
        "SELECT s.seller FROM sold s WHERE EXISTS (SELECT 1 FROM knows WHERE position_0 = s.buyer AND position_1 != 'sam')",
        "SELECT seller FROM sold WHERE buyer IN (SELECT position_0 FROM knows WHERE position_1 NOT IN ('sam'))",
        "SELECT seller FROM (SELECT seller, buyer FROM sold) AS t JOIN (SELECT * FROM knows WHERE position_1 <> 'sam') AS u "
        "ON u.position_0 = t.buyer",
        "WITH u AS (SELECT position_0 AS buyer FROM knows WHERE 'sam' <> position_1) SELECT seller FROM sold NATURAL JOIN u",
        "WITH u AS (SELECT position_0 AS buyer, position_1 FROM knows) SELECT seller FROM sold JOIN u USING (buyer) "
        "WHERE position_1 <> 'sam'",
        'SELECT SELLER FROM Sold AS "S", KNOWS WHERE "S"."buyer" = position_0 AND Position_1 <> \'sam\';',
    ],
)
def test_one_question_has_one_form_however_it_is_written(query: str) -> None:
    assert text(query) == "project[0](join[1 = 0](sold, filter[1 != sam](knows)))"


def test_what_is_absent_is_a_difference() -> None:
    whole = "SELECT seller FROM sold WHERE seller NOT IN (SELECT position_0 FROM knows)"
    assert text(whole) == "difference(project[0](sold), project[0](knows))"
    assert text("SELECT seller FROM sold EXCEPT SELECT position_0 FROM knows") == text(whole)
    part = "SELECT seller FROM sold AS s WHERE NOT EXISTS (SELECT 1 FROM vip WHERE position_0 = s.buyer)"
    assert text(part) == "project[0](difference(project[0, 1](sold), join[1 = 0](project[0, 1](sold), Vip)))"


def test_equal_columns_of_the_result_are_one_of_the_expression() -> None:
    statement = parse_sql("SELECT * FROM sold JOIN knows ON buyer = position_0", CATALOG)
    assert statement.columns == ("seller", "buyer", "item", "position_0", "position_1")
    assert statement.positions == (0, 1, 2, 1, 3)
    assert str(statement.expression) == "join[1 = 0](sold, knows)"
    view = parse_sql("CREATE VIEW v AS SELECT * FROM sold JOIN knows ON buyer = position_0", CATALOG)
    assert str(view.expression) == "filter_equal[1, 3](product(sold, knows))"
    assert view.positions == (0, 1, 2, 3, 4)


def test_two_stars_have_columns_of_two_names() -> None:
    statement = parse_sql("SELECT * FROM knows AS a CROSS JOIN knows AS b", CATALOG)
    assert statement.columns == ("position_0", "position_1", "b.position_0", "b.position_1")


def test_what_is_wanted_of_the_rows() -> None:
    where = "WHERE known AND item = 'book' AND probability >= 0.8"
    query = f"SELECT seller AS who FROM sold {where} ORDER BY probability DESC LIMIT 7"
    found = parse_sql(query, CATALOG)
    assert (found.kind, found.columns, found.limit, found.order) == ("select", ("who",), 7, "probability")
    assert (found.known, found.least) == (True, 0.8)
    assert str(found.expression) == "project[0](select[2 = book](sold))"
    new = parse_sql("EXPLAIN SELECT seller FROM sold WHERE NOT known AND (.5 < probability AND probability > 0.25)", CATALOG)
    assert (new.kind, new.known, new.least) == ("explain", False, math.nextafter(0.5, 1))
    assert (new.limit, new.order, new.name) == (None, None, None)
    whole = parse_sql("SELECT seller FROM (SELECT seller FROM sold UNION SELECT buyer FROM sold) AS t WHERE known", CATALOG)
    assert whole.known
    named = parse_sql("/* a */ -- b\n WITH t AS (SELECT seller FROM sold) SELECT seller FROM t WHERE Known", CATALOG)
    assert named.known


def test_a_view_is_a_definition_and_can_be_read() -> None:
    statement = parse_sql("CREATE VIEW Bought AS SELECT buyer, item FROM sold", CATALOG)
    assert (statement.kind, statement.name, statement.columns) == ("view", "Bought", ("buyer", "item"))
    views: dict[str, Expression] = {"Bought": statement.expression}
    catalog = catalog_of(GRAPH.schema, GRAPH.entities, views=views)
    read = parse_sql("SELECT b.buyer FROM bought AS b WHERE b.item = 'book'", catalog)
    assert str(read.expression) == "project[1](select[2 = book](sold))"


def test_numbers_are_what_stood_in_the_table() -> None:
    for number in ("5", "5.0", "'5'"):
        assert rows(parse_sql(f"SELECT position_0 FROM rated WHERE position_1 = {number}", CATALOG)) == {("book",)}


def test_only_the_tables_that_a_condition_needs_are_joined_before_others() -> None:
    # In the order of FROM the first two tables share nothing.
    where = "WHERE a.position_1 = c.position_0 AND c.position_1 = b.position_0"
    assert (
        text(f"SELECT a.position_0 FROM knows a, knows b, knows c {where}")
        == "project[0](join[2 = 0](join[1 = 0](knows, knows), knows))"
    )


def test_a_condition_that_can_never_hold_is_refused_only_if_nothing_is_left() -> None:
    assert text("SELECT seller FROM sold WHERE item = 'book' OR item <> item") == "project[0](select[2 = book](sold))"
    never = "SELECT seller FROM sold WHERE NOT EXISTS (SELECT 1 FROM knows WHERE position_0 <> position_0)"
    assert text(never) == "project[0](sold)"
    nothing = "SELECT position_0 FROM vip WHERE position_0 <> position_0"
    assert (
        text(f"SELECT seller FROM sold UNION {nothing}")
        == text(f"SELECT seller FROM sold EXCEPT {nothing}")
        == "project[0](sold)"
    )
    for query in (f"SELECT seller FROM sold INTERSECT {nothing}", f"{nothing} EXCEPT SELECT seller FROM sold"):
        with mistake("nothing-can-match"):
            parse_sql(query, CATALOG)


def test_as_many_alternatives_are_read_as_the_document_says() -> None:
    graph = Hypergraph.of([("all", f"e{number}") for number in range(65)])
    catalog = catalog_of(graph.schema, graph.entities)
    listed = [f"'e{number}'" for number in range(65)]
    few = parse_sql(f'SELECT position_0 FROM "all" WHERE position_0 IN ({", ".join(listed[1:] * 2)})', catalog)
    assert len(rows(few, graph)) == 64
    with mistake("over-limit"):
        parse_sql(f'SELECT position_0 FROM "all" WHERE position_0 IN ({", ".join(listed)})', catalog)
