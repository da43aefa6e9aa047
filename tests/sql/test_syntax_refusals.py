"""What SQL has and relatum has not: one line each, at its position in the text, which a pilcrow marks here."""

from __future__ import annotations

import time

import pytest

from relatum import Hypergraph, RelationSchema
from relatum.sql.catalog import Catalog, catalog_of
from relatum.sql.parse import parse_sql
from relatum.sql.scan import _AGGREGATES, _REFUSED, _REFUSED_MARKS, SqlError
from support.mistakes import mistake

MARK = "¶"


def shop() -> Catalog:
    facts = [
        ("sold", "drew", "alex", "book"),
        ("likes", "alex", "book"),
        ("Parent.of", "drew", "alex"),
        ("Stock", "book", "1"),
        ("stock", "book", "1"),
        ("trusted", "drew"),
        *(("trusted", f"number {n}") for n in range(100)),
    ]
    roles = [
        RelationSchema("sold", 3, ("seller", "buyer", "item")),
        RelationSchema("Stock", 2, ("item", "count")),
        RelationSchema("stock", 2, ("Item", "ITEM")),
    ]
    graph = Hypergraph.of(facts, roles)
    return catalog_of(graph.schema, graph.entities)


SHOP = shop()

AGGREGATES = """
SELECT ¶expected_count(*) FROM sold | expected_count(...) is not supported: the probabilities of rows do not add up
SELECT seller FROM sold ¶GROUP BY seller | GROUP BY is not supported
SELECT ¶row_number() OVER (ORDER BY item) FROM sold | there are no functions
"""

JOINS = """
SELECT seller FROM sold ¶LEFT OUTER JOIN likes ON buyer = position_0 | outer joins need NULLs
SELECT seller FROM sold ¶JOIN likes | a JOIN needs ON or USING
SELECT seller FROM sold INNER ¶JOIN likes WHERE seller = 'drew' | a JOIN needs ON or USING
SELECT seller FROM sold NATURAL JOIN ¶trusted | no column in common
SELECT seller FROM sold JOIN likes USING (¶item) | unknown column of likes 'item'
SELECT s.seller FROM sold AS s CROSS JOIN sold AS t JOIN "Stock" AS u USING (¶item) | item could be s.item or t.item
SELECT seller FROM sold NATURAL JOIN ¶Stock USING (item) | one of ON, USING, NATURAL and CROSS
SELECT seller FROM sold, ¶LATERAL (SELECT item FROM likes) AS t | LATERAL is not supported
SELECT seller FROM (¶sold CROSS JOIN likes) | parentheses around the tables
SELECT seller FROM sold JOIN ¶sold ON seller = buyer | two tables of FROM are called 'sold'
"""

NULLS_AND_RANGES = """
SELECT seller FROM sold WHERE item ¶IS NULL | there are no NULLs here
SELECT seller FROM sold WHERE ¶COALESCE(item, 'book') = 'book' | COALESCE is not supported
SELECT seller FROM sold WHERE item NOT ¶LIKE 'b%' | LIKE is not supported
SELECT seller FROM sold WHERE ¶item > 'a' | > is not supported: names have no order
SELECT seller FROM sold WHERE ¶'a' < item | < is not supported: names have no order
SELECT seller FROM sold ORDER BY ¶seller | ORDER BY works for probability alone
SELECT seller FROM sold ORDER BY probability, ¶probability | ORDER BY works for one column
SELECT seller FROM sold ORDER BY probability ¶ASC | ASC is not supported
"""

VALUES = """
SELECT seller FROM sold WHERE item = 1 ¶+ 1 | + is not supported
SELECT seller FROM sold WHERE item = ¶-'1' | - is not supported
SELECT seller FROM sold WHERE item = ¶'a' 'b' | CONCAT is not supported
SELECT ¶upper(seller) FROM sold | upper(...) is not supported: there are no functions
SELECT ¶CAST(seller AS INT) FROM sold | CAST is not supported
SELECT seller¶::INT FROM sold | :: is not supported
SELECT seller FROM sold WHERE item = ¶? | ? is not supported: write the value itself
SELECT seller FROM sold WHERE item = ¶$1 | $ is not supported
SELECT seller FROM sold WHERE ¶1 = 1 | two constants are compared
SELECT seller FROM sold WHERE ¶item | item alone is no condition
SELECT seller FROM sold WHERE ¶'book' | LITERAL is not supported
SELECT seller FROM sold WHERE item = (SELECT ¶item FROM likes) | a query as a value is not supported
SELECT seller FROM sold WHERE item = ¶ALL (SELECT position_1 FROM likes) | ALL is not supported
SELECT seller FROM sold WHERE (¶seller, buyer) = ('drew', 'alex') | several values in parentheses
SELECT seller FROM sold WHERE ¶! item = 'book' | ! is not supported: write NOT
SELECT seller FROM sold WHERE ¶item = buyer = seller | EQ is not supported
SELECT ¶'x' AS a FROM sold | a constant (x) as a column is not supported
SELECT ¶`seller` FROM sold | names are quoted with double quotes
SELECT seller FROM sold WHERE item = ¶{x} | { is not supported
SELECT seller FROM sold WHERE item = ¶N'book' | NATIONAL is not supported
SELECT seller FROM sold WHERE item = e¶'book' | is not expected here
SELECT seller FROM sold WHERE item = ¶'boook' | unknown entity 'boook'; did you mean 'book'
SELECT seller FROM sold WHERE item = ¶'book | a quote or comment is not closed
SELECT seller FROM sold WHERE ¶"item = 'book' | a quote or comment is not closed
"""

SETS_AND_TAILS = """
SELECT seller FROM sold UNION ¶ALL SELECT buyer FROM sold | ALL is not supported: results are sets
SELECT seller FROM sold UNION SELECT ¶seller, buyer FROM sold | as many columns, not 1 and 2
SELECT seller FROM sold UNION ¶BY NAME SELECT buyer FROM sold | 'BY' is not expected here
SELECT DISTINCT ON (¶seller) seller FROM sold | ON is not supported
SELECT seller FROM sold LIMIT 3 ¶OFFSET 2 | OFFSET is not supported
SELECT seller FROM sold LIMIT ¶0 | LIMIT takes a whole number from 1 up
SELECT seller FROM sold LIMIT ¶1.5 | LIMIT takes a whole number
SELECT seller FROM (SELECT seller FROM sold LIMIT ¶3) AS t | LIMIT stands only at the end of the whole statement
SELECT seller FROM (SELECT seller FROM sold ORDER BY ¶probability) AS t | ORDER BY stands only at the end
"""

STATEMENTS = """
¶'hello' | begins no statement
CREATE ¶TABLE t (a TEXT) | CREATE TABLE is not supported
CREATE VIEW ¶IF NOT EXISTS v AS SELECT seller FROM sold | IF NOT EXISTS is not supported
CREATE VIEW ¶v (a) AS SELECT seller FROM sold | columns are named in the SELECT itself
CREATE VIEW ¶sold AS SELECT position_0 FROM likes | there is a table 'sold' already
CREATE VIEW v AS SELECT seller FROM sold LIMIT ¶3 | a view has no LIMIT
CREATE VIEW v AS SELECT seller FROM sold ORDER BY ¶probability DESC | a view has no LIMIT and no ORDER BY
CREATE VIEW v AS SELECT seller FROM sold WHERE ¶known | a view has no known
EXPLAIN CREATE VIEW ¶v AS SELECT seller FROM sold | EXPLAIN CREATE is not supported
SELECT seller FROM sold; ¶SELECT buyer FROM sold | a second statement is not supported
SELECT seller FROM sold WHERE item = 'book'; -- x
¶DELETE FROM sold | a second statement
WITH t AS (SELECT seller FROM ¶t) SELECT seller FROM t | unknown table 't'
WITH t AS (SELECT seller FROM sold), ¶t AS (SELECT buyer FROM sold) SELECT seller FROM t | WITH names 't' twice
"""

NAMES = """
SELECT ¶seler FROM sold | unknown column 'seler'; did you mean 'seller'?
SELECT ¶position_3 FROM likes | unknown column 'position_3'; did you mean 'position_0' or 'position_1'?
SELECT seller FROM ¶sld | unknown table 'sld'; did you mean 'sold'?
SELECT ¶s.seler FROM sold AS s | unknown column of s 'seler'; did you mean 'seller'?
SELECT ¶t.seller FROM sold AS s | unknown table of this query 't'
SELECT seller FROM sold WHERE item = ¶"book" | double quotes are for names
SELECT item FROM ¶STOCK | STOCK could be Stock or stock: write it in double quotes
SELECT ¶iTem FROM "stock" | iTem could be stock.Item or stock.ITEM
SELECT ¶s.iTem FROM "stock" AS s | iTem could be Item or ITEM of s
SELECT ¶item FROM sold, "Stock" | item could be sold.item or Stock.item: write which
SELECT ¶seller FROM sold AS a, sold AS b WHERE a.item = 'book' | seller could be a.seller or b.seller
SELECT seller, ¶seller FROM sold | sold.seller is selected twice
SELECT seller AS a, ¶buyer AS a FROM sold | two columns of the result are called 'a'
SELECT a.seller, ¶b.seller FROM sold AS a, sold AS b | two columns of the result are called 'seller'
SELECT ¶* AS a FROM sold | * has no alias
SELECT * EXCEPT (¶seller) FROM sold | EXCEPT is not supported
SELECT * ¶EXCLUDE (seller) FROM sold | EXCLUDE(...) is not supported
SELECT of FROM ¶Parent.of | a table whose name has some is written "Parent.of"
SELECT ¶a.b.c FROM sold | a column has at most one dot
SELECT seller FROM ¶main.sold | main.sold has dots
SELECT x FROM sold, (SELECT ¶seller AS x FROM likes) AS t | unknown column 'seller'
SELECT item FROM sold WHERE EXISTS (SELECT 1 FROM (SELECT position_1 FROM likes WHERE position_0 = ¶buyer) AS t) | cannot
SELECT seller FROM sold WHERE EXISTS (SELECT ¶nothing FROM likes) | unknown column 'nothing'
SELECT seller FROM sold WHERE (¶seller, buyer) IN (SELECT position_0 FROM likes) | IN compares 2 columns with a query of 1
SELECT seller FROM (SELECT ¶seller FROM sold) | a query in FROM needs a name
SELECT ¶"" FROM sold | a name is empty
"""

ATTRIBUTES = """
SELECT ¶probability FROM sold | probability comes with every row
SELECT seller, ¶known FROM sold | known comes with every row
SELECT seller FROM sold WHERE item = 'book' OR ¶known | known stands only in the WHERE of the outermost SELECT
SELECT seller FROM sold WHERE NOT (item = 'book' AND ¶known) | known stands only in the WHERE
SELECT seller FROM sold WHERE item = 'book' OR ¶probability > 0.5 | probability stands only in the WHERE
SELECT seller FROM (SELECT seller FROM sold WHERE ¶known) AS t | known stands only in the WHERE
SELECT seller FROM sold WHERE ¶probability < 0.5 | probability has no upper limit here
SELECT seller FROM sold WHERE ¶probability > 1.5 | a number from 0 to 1
SELECT seller FROM sold WHERE ¶probability = 0.5 | probability comes with every row
SELECT seller FROM sold WHERE ¶probability | probability alone is no condition
SELECT seller FROM sold WHERE ¶sold.known | known alone is no condition
SELECT seller FROM sold WHERE ¶sold.probability > 0.5 | > is not supported
SELECT seller FROM sold WHERE known AND NOT ¶known | known and not known at once
SELECT ¶seller FROM sold WHERE item = 'book' AND item <> 'book' | no row can be
SELECT ¶seller FROM sold WHERE item = 'book' AND item = 'alex' | no row can be
"""

FORM = """
SELECT seller FROM sold JOIN likes USING ¶() | parentheses with nothing in them
SELECT seller ¶LIMIT FROM sold | LIMIT takes a whole number
SELECT seller FROM ¶. sold | '.' is not expected here
SELECT seller FROM sold WHERE item IN (¶, 'book') | a comma with nothing before it
SELECT seller ¶AS, buyer FROM sold | AS needs a name
SELECT DISTINCT ¶AS seller FROM sold | 'AS' is not expected here
SELECT seller FROM sold ¶*, likes | * is not supported
SELECT seller FROM sold ¶BY | 'BY' is not expected here
¶ | there is no statement
¶ ; | there is no statement
SELECT FROM ¶sold | a SELECT without columns
¶SELECT | a SELECT without FROM
SELECT seller ¶FROM | something is missing
SELECT seller FROM sold WHERE item ¶IN | IN needs parentheses
SELECT seller FROM sold WHERE ¶item IN () | IN () without values is not supported
SELECT seller FROM sold WHERE ¶EXISTS likes | EXISTS needs parentheses
SELECT seller¶, FROM sold | a comma with nothing behind it
SELECT seller FROM sold ¶ORDER | ORDER needs BY
SELECT seller FROM sold WHERE item = 'book' ¶buyer = 'alex' | 'buyer' is not expected here
"""

TABLES = (AGGREGATES, JOINS, NULLS_AND_RANGES, VALUES, SETS_AND_TAILS, STATEMENTS, NAMES, ATTRIBUTES, FORM)


def cases() -> list[tuple[str, str]]:
    """Return each query with what its refusal has; a line that has no bar goes on in the next."""
    found, waiting = [], ""
    for line in "".join(TABLES).split("\n"):
        if not line and not waiting:
            continue
        waiting = f"{waiting}\n{line}" if waiting else line
        query, bar, reason = waiting.rpartition(" | ")
        if bar:
            found.append((query, reason.strip()))
            waiting = ""
    return found


CASES = cases()


@pytest.mark.parametrize(("query", "reason"), CASES, ids=[query for query, _ in CASES])
def test_what_is_not_there_is_refused_in_one_line_where_it_stands(query: str, reason: str) -> None:
    before = query.partition(MARK)[0].split("\n")
    with pytest.raises(SqlError) as caught:
        parse_sql(query.replace(MARK, ""), SHOP)
    error = caught.value
    assert "\n" not in str(error)
    assert reason in str(error)
    assert error.place == f"line {error.line}, column {error.column}"
    assert (error.line, error.column) == (len(before), len(before[-1]) + 1), error


STATEMENTS_OF_OTHERS = (
    "INSERT UPDATE DELETE MERGE DROP ALTER TRUNCATE SHOW DESCRIBE SET USE PRAGMA BEGIN COMMIT GRANT COPY CALL ATTACH VALUES "
    "FROM TABLE EXECUTE HELLO"
)
WORDS = [
    *((f"SELECT {word}(item) FROM sold", 7, f"{word}(...) is not supported") for word in sorted(_AGGREGATES)),
    *((f"SELECT seller FROM sold WHERE item = 'book' {word} x", 44, reason) for word, reason in _REFUSED.items()),
    *((f"SELECT seller FROM sold WHERE item {mark} 'x'", 35, _REFUSED_MARKS[mark]) for mark in sorted(_REFUSED_MARKS)),
    *((f"{word} sold", 0, f"{word} is not supported: a statement is SELECT") for word in STATEMENTS_OF_OTHERS.split()),
]


@pytest.mark.parametrize(("query", "offset", "reason"), WORDS, ids=[query for query, *_ in WORDS])
def test_a_word_that_is_not_there_is_refused_where_it_stands(query: str, offset: int, reason: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse_sql(query, SHOP)
    assert (caught.value.line, caught.value.column) == (1, offset + 1)
    assert caught.value.reason.startswith(reason)


ABSENT = "NOT EXISTS (SELECT 1 FROM likes WHERE position_0 = 'alex' OR position_1 = 'book')"
DOUBLED = ", ".join(f"w{n + 1} AS (SELECT a.seller FROM w{n} AS a, w{n} AS b)" for n in range(100))
HOSTILE = [
    "SELECT seller FROM sold WHERE " + "(" * 5000 + "item = 'book'" + ")" * 5000,
    "SELECT seller FROM sold WHERE " + "NOT " * 5000 + "item = 'book'",
    "SELECT seller FROM sold WHERE " + "NOT (" * 100 + "item = 'book'" + ")" * 100,
    "SELECT seller FROM " + "(SELECT seller FROM " * 60 + "sold" + ") AS t" * 60,
    "SELECT seller FROM sold WHERE " + "EXISTS (SELECT 1 FROM sold WHERE " * 60 + "item = 'book'" + ")" * 60,
    "(" * 3000 + "SELECT seller FROM sold" + ")" * 3000,
    "SELECT seller FROM sold WHERE item = 'book'" + " AND item = 'book'" * 6000,
    "SELECT seller FROM sold WHERE " + " OR ".join(f"item = 'book' AND seller = 'number {n}'" for n in range(100)),
    "SELECT seller FROM sold WHERE " + " AND ".join(f"(item = 'number {n}' OR buyer = 'number {n}')" for n in range(40)),
    "SELECT seller FROM sold WHERE item IN (" + ", ".join(f"'number {n % 100}'" for n in range(3000)) + ")",
    "SELECT seller FROM sold " + "JOIN likes " * 200,
    "SELECT seller FROM sold " + " ".join(f"CROSS JOIN likes AS l{n}" for n in range(200)),
    " UNION ".join(["SELECT seller FROM sold"] * 2000),
    "SELECT seller FROM sold WHERE " + " AND ".join([ABSENT] * 200),
    f"WITH {DOUBLED.replace('w0', 'sold')} SELECT seller FROM w100",
    "SELECT " + "-" * 10_000 + "1 FROM sold",
    "SELECT " + "x" * 200_000 + " FROM sold",
    "SELECT " + "[" * 5000,
    "SELECT CASE " * 2000,
    "SELECT seller FROM sold WHERE item = '" + "\0" + "'",
    "\ufeff\u202eSELECT \ud800 FROM sold",
    "SELECT seller FROM sold WHERE item = " + "'" * 9999,
    "/*" * 10_000,
    ";" * 50_000,
]  # fmt: skip


def test_a_name_of_any_form_is_shown_in_one_line() -> None:
    name = "a\nb\x1b[31m" + "c" * 5000
    with pytest.raises(SqlError) as caught:
        parse_sql(f'SELECT "{name}" FROM sold', SHOP)
    assert len(str(caught.value)) < 500
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_text_is_refused_soon_and_without_depth(number: int) -> None:
    started = time.perf_counter()
    with pytest.raises(SqlError):
        parse_sql(HOSTILE[number], SHOP)
    assert time.perf_counter() - started < 10


def test_what_the_parser_underneath_does_not_know_is_one_error_and_no_line_of_a_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(SqlError):
        parse_sql("CREATE VIEW v A AS SELECT seller FROM sold", SHOP)
    assert not caplog.records


@pytest.mark.parametrize("number", [".0.5", "1e4000.5", "2", "'0.5'"])
def test_what_is_no_share_is_no_probability(number: str) -> None:
    with mistake("sql-not-supported"):
        parse_sql(f"SELECT seller FROM sold WHERE probability >= {number}", SHOP)
