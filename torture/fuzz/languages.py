"""What people write: questions, algebra, queries, Datalog, SQL; where a cursor is in them; the tokens of pages."""

from __future__ import annotations

import random

from relatum.algebra import datalog, parse, parse_datalog
from relatum.data.hypergraph import Hypergraph
from relatum.data.schema import RelationSchema
from relatum.reasoning.query import parse_query
from relatum.resources.cursor import spot_of
from relatum.resources.facts import offset_of, token_of
from relatum.runs.answers import parse_question
from relatum.sql.catalog import catalog_of
from relatum.sql.parse import parse_sql
from torture.fuzz.mutations import CHARACTERS
from torture.fuzz.parser import Parser, round_trip

__all__ = ["LANGUAGES", "SCHEMA"]

_GRAPH = Hypergraph.of(
    [
        ("sold", "drew", "alex", "book"),
        ("sold", "alex", "drew", "a, b"),
        ("knows", "drew", "it's"),
        ("knows", 'say "hi"', "ü"),
        ("Vip", "alex"),
        ("odd name", "?", "back\\slash"),
        ("rated", "book", "5"),
    ],
    [RelationSchema("sold", 3, ("seller", "buyer", "item")), RelationSchema("knows", 2, ("who", "whom"))],
)
SCHEMA = _GRAPH.schema
_CATALOG = catalog_of(SCHEMA, _GRAPH.entities)
_TABLES = {relation.name: relation for relation in SCHEMA}

_NAMES = ("sold", "knows", "Vip", '"odd name"', "rated", "drew", "alex", "book", '"a, b"', "?", "seller", "item", "whom")
_OPERATIONS = (
    *("permute[1, 0](", "project[0](", "project[item](", "select[2 = book](", "select_equal[0, 1](", "filter[0 != drew]("),
    *("filter_equal[0, 1](", "filter_unequal[0, 1](", "union(", "difference(", "intersection(", "product(", "join[0 = 1]("),
)
_QUESTIONS = (
    "sold(drew, ?, book)",
    'sold(?, "say \\"hi\\"", "a, b")',
    "sold(item=book, buyer=?)",
    "sold(seller=?, buyer=alex, item=?)",
    '"odd name"("?", ?)',
    "Vip(?)",
    "knows(0=drew, 1=?)",
    "rated( book , ? )",
)
_EXPRESSIONS = (
    "sold",
    "project[0, 1](select[1 = alex](sold))",
    "join[0 = 1, 2 = 0](sold, knows)",
    "difference(union(knows, permute[1, 0](knows)), rated)",
    'select[item = "a, b"](sold)',
    "intersection(project[seller](sold), Vip)",
    "product(Vip, filter[0 != drew](knows))",
    'filter_unequal[0, 1](product(Vip, project[1]("odd name")))',
    "project[0](project[0](project[0, 1](sold)))",
)
_QUERIES = (
    *_EXPRESSIONS,
    *_QUESTIONS[:3],
    "(project[0](sold))(?)",
    "(sold)(drew, ?, book)",
    "(join[0 = 1](sold, knows))(item=?)",
)
_RULES = (
    "t(X, Y) <- sold(X, Y, book)",
    "both(X, Y, Z) <- sold(X, Y, Z)\nboth(X, Y, Z) <- sold(Y, X, Z)\nt(X, Y) <- both(X, Y, book), not knows(X, Y), X != Y",
    't(X) <- Vip(X), knows(X, _), X != "it\'s". u(Y) <- t(Y), not rated(Y, "5")',
    't(X, Y) <- "odd name"(X, Y), X = Y',
    "a(X) <- Vip(X)\nb(X, Y) <- a(X), a(Y)\nc(X) <- b(X, X), X = alex",
    "t(X, Z) <- knows(X, Y), knows(Y, Z), Y != drew.",
)
_SQL = (
    "SELECT seller FROM sold WHERE item = 'book'",
    "SELECT DISTINCT s.seller, k.whom FROM sold AS s JOIN knows AS k ON s.buyer = k.who WHERE s.item <> 'a, b'",
    "SELECT * FROM sold WHERE seller IN (SELECT who FROM knows) AND NOT buyer = 'drew' LIMIT 3",
    'SELECT who FROM knows UNION SELECT position_0 FROM "Vip" EXCEPT SELECT seller FROM sold',
    "WITH a AS (SELECT who, whom FROM knows) SELECT x.who FROM a AS x, a AS y WHERE x.whom = y.who",
    "SELECT seller FROM sold WHERE EXISTS (SELECT 1 FROM knows WHERE who = sold.buyer) OR item = 'book'",
    "CREATE VIEW v AS SELECT position_1 FROM rated WHERE position_0 = 'book'",
    'EXPLAIN SELECT k.whom FROM knows k CROSS JOIN "Vip" ORDER BY probability DESC LIMIT 5',
    "SELECT seller FROM sold WHERE probability >= 0.5 AND NOT known AND item = 'book'",
    "SELECT buyer, seller FROM sold WHERE buyer <> 'it''s' INTERSECT SELECT who, whom FROM knows -- a comment",
)
_SQL_WORDS = (
    *("SELECT", "FROM", "WHERE", "AND", "OR", "NOT", "IN", "EXISTS", "JOIN", "ON", "USING", "NATURAL", "CROSS", "INNER"),
    *("LEFT", "UNION", "EXCEPT", "INTERSECT", "ALL", "AS", "DISTINCT", "WITH", "LIMIT", "ORDER BY", "GROUP BY", "HAVING"),
    *("known", "probability", "NULL", "IS", "LIKE", "BETWEEN", "OVER", "CREATE", "VIEW", "EXPLAIN"),
    *(
        "sold",
        "knows",
        '"Vip"',
        "who",
        "whom",
        "seller",
        "item",
        "'book'",
        "'alex'",
        "<>",
        ">=",
        "(",
        ")",
        ", ",
        " ",
        "/*",
        "--",
    ),
)


def _question(text: str) -> str | None:
    found = parse_question(text, SCHEMA)
    return round_trip(found, str(found), lambda written: parse_question(written, SCHEMA))


def _algebra(text: str) -> str | None:
    found = parse(text, SCHEMA)
    return round_trip(found, str(found), lambda written: parse(written, SCHEMA))


def _query(text: str) -> str | None:
    found = parse_query(text, SCHEMA)
    return round_trip(found, str(found), lambda written: parse_query(written, SCHEMA))


def _datalog(text: str) -> str | None:
    written = datalog(parse_datalog(text, SCHEMA))
    return round_trip(written, written, lambda again: datalog(parse_datalog(again, SCHEMA)))


def _sql(text: str) -> str | None:
    found = parse_sql(text, _CATALOG).expression
    return round_trip(found, str(found), lambda written: parse(written, SCHEMA))


def _cursor(text: str) -> str | None:
    """A text that is being typed is never refused, wherever the cursor is."""
    rng = random.Random(len(text))
    for at in (len(text), rng.randint(-2, len(text) + 2)):
        spot = spot_of(text, at, SCHEMA, _TABLES)
        if not 0 <= spot.start <= spot.end <= len(text):
            return f"at {at}, the word is from {spot.start} to {spot.end}"
        for name, position in spot.columns:
            if position is not None and not 0 <= position < SCHEMA[name].arity:
                return f"at {at}, position {position} of {name}"
    return None


_WANTED = ("facts", "sold", 7)
_PAGES = {token_of(offset, *_WANTED): offset for offset in (0, 1, 50, 1 << 40, (1 << 64) - 1)}


def _token(text: str) -> str | None:
    found = offset_of(text, *_WANTED)
    unpadded = text.rstrip("=")
    return None if _PAGES.get(unpadded) == found else f"leads to {found}"


_ALGEBRA = (*CHARACTERS, *_NAMES, *_OPERATIONS, "), ")
LANGUAGES = (
    Parser("questions", _QUESTIONS, (*CHARACTERS, *_NAMES), _question),
    Parser("algebra", _EXPRESSIONS, _ALGEBRA, _algebra),
    Parser("queries", _QUERIES, _ALGEBRA, _query),
    Parser("Datalog", _RULES, (*CHARACTERS, *_NAMES, " <- ", "not ", "X", "Y", "_", " != ", "t(X)", ".\n"), _datalog),
    Parser("SQL", _SQL, (*CHARACTERS, *_SQL_WORDS), _sql),
    Parser("cursors", (*_SQL, *_QUERIES), (*_ALGEBRA, *_SQL_WORDS), _cursor, ()),
    Parser("page tokens", tuple(_PAGES), (*CHARACTERS, "A", "_", "=="), _token),
)
