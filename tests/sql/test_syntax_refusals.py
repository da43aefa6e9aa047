"""What SQL has and relatum has not: one line each, at its position in the text, which a pilcrow marks here."""

from __future__ import annotations

import time

import pytest

from relatum import Hypergraph, RelationSchema
from relatum.sql.catalog import Catalog, catalog_of
from relatum.sql.parse import parse_sql
from relatum.sql.scan import SqlError
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

# By code; what is said of stored rows alone is answered where they alone are asked.
REFUSED = {
    "sql-not-supported": """
SELECT ¶expected_count(*) FROM sold
SELECT seller FROM sold ¶JOIN likes
SELECT seller FROM sold INNER ¶JOIN likes WHERE seller = 'drew'
SELECT seller FROM sold NATURAL JOIN ¶trusted
SELECT seller FROM sold NATURAL JOIN ¶Stock USING (item)
SELECT seller FROM sold, LATERAL (SELECT ¶item FROM likes) AS t
SELECT seller FROM (¶sold CROSS JOIN likes)
SELECT seller FROM sold ORDER BY probability, ¶probability
SELECT seller FROM sold ORDER BY ¶probability ASC
SELECT seller FROM sold WHERE item = -¶'1'
SELECT seller FROM sold WHERE item = ¶'a' 'b'
SELECT seller FROM sold WHERE item = ¶?
SELECT seller FROM sold WHERE ¶item = $1
SELECT seller FROM sold WHERE ¶item
SELECT seller FROM sold WHERE ¶'book'
SELECT seller FROM sold WHERE item = ALL (SELECT ¶position_1 FROM likes)
SELECT seller FROM sold WHERE ¶! item = 'book'
SELECT ¶`seller` FROM sold
SELECT seller FROM sold WHERE item = ¶{x}
SELECT seller FROM sold WHERE item = ¶N'book'
SELECT seller FROM sold WHERE item = ¶e'book'
SELECT seller FROM sold UNION SELECT ¶seller, buyer FROM sold
SELECT DISTINCT ON (¶seller) seller FROM sold
SELECT seller FROM sold LIMIT ¶0
SELECT seller FROM sold LIMIT ¶1.5
¶'hello'
CREATE ¶TABLE t (a TEXT)
CREATE VIEW ¶v (a) AS SELECT seller FROM sold
CREATE VIEW v AS SELECT seller FROM sold LIMIT ¶3
CREATE VIEW v AS SELECT seller FROM sold ORDER BY ¶probability DESC
CREATE VIEW v AS SELECT seller FROM sold WHERE ¶known
EXPLAIN CREATE VIEW ¶v AS SELECT seller FROM sold
SELECT seller FROM sold; ¶SELECT buyer FROM sold
SELECT seller FROM sold WHERE item = 'book'; ¶DELETE FROM sold
SELECT ¶* AS a FROM sold
SELECT * EXCEPT (¶seller) FROM sold
SELECT * EXCLUDE (¶seller) FROM sold
SELECT of FROM ¶Parent.of
SELECT ¶a.b.c FROM sold
SELECT seller FROM ¶main.sold
SELECT seller FROM sold WHERE (¶seller, buyer) IN (SELECT position_0 FROM likes)
SELECT seller FROM (SELECT ¶seller FROM sold)
SELECT ¶"" FROM sold
SELECT seller FROM sold WHERE item = 'book' OR ¶known
SELECT seller FROM sold WHERE NOT (item = 'book' AND ¶known)
SELECT seller FROM (SELECT seller FROM sold WHERE ¶known) AS t
SELECT seller FROM sold WHERE ¶probability < 0.5
SELECT seller FROM sold WHERE ¶probability > 1.5
SELECT seller FROM sold WHERE ¶probability
SELECT seller FROM sold WHERE ¶sold.known
SELECT FROM ¶sold
¶SELECT
SELECT seller FROM sold WHERE ¶item IN ()
""",
    "stored-rows-only": """
SELECT ¶upper(seller) FROM sold
SELECT CAST(¶seller AS INT) FROM sold
SELECT ¶seller::INT FROM sold
SELECT seller FROM sold WHERE item = (SELECT ¶item FROM likes)
SELECT seller FROM sold GROUP BY ¶seller
SELECT seller FROM sold LEFT OUTER JOIN ¶likes ON buyer = position_0
SELECT seller FROM sold WHERE ¶item IS NULL
SELECT seller FROM sold WHERE ¶COALESCE(item, 'book') = 'book'
SELECT seller FROM sold WHERE ¶item NOT LIKE 'b%'
SELECT seller FROM sold WHERE ¶item > 'a'
SELECT seller FROM sold WHERE ¶'a' < item
SELECT seller FROM sold ORDER BY ¶seller
SELECT seller FROM sold WHERE ¶item = 1 + 1
SELECT seller FROM sold WHERE ¶1 = 1
SELECT seller FROM sold WHERE (¶seller, buyer) = ('drew', 'alex')
SELECT seller FROM sold WHERE ¶item = buyer = seller
SELECT ¶'x' AS a FROM sold
SELECT seller FROM sold UNION ALL SELECT ¶buyer FROM sold
SELECT seller FROM sold LIMIT 3 OFFSET ¶2
SELECT seller FROM (SELECT seller FROM sold LIMIT ¶3) AS t
SELECT seller FROM (SELECT seller FROM sold ORDER BY ¶probability) AS t
""",
    "syntax": """
SELECT row_number¶() OVER (ORDER BY item) FROM sold
SELECT seller FROM sold WHERE item = ¶'book
SELECT seller FROM sold WHERE ¶"item = 'book'
SELECT seller FROM sold UNION ¶BY NAME SELECT buyer FROM sold
CREATE VIEW IF NOT ¶EXISTS v AS SELECT seller FROM sold
SELECT seller FROM sold JOIN likes USING ¶()
SELECT seller ¶LIMIT FROM sold
SELECT seller FROM ¶. sold
SELECT seller FROM sold WHERE item IN (¶, 'book')
SELECT seller ¶AS, buyer FROM sold
SELECT DISTINCT ¶AS seller FROM sold
SELECT seller FROM sold ¶*, likes
SELECT seller FROM sold ¶BY
¶
¶ ;
SELECT seller ¶FROM
SELECT seller FROM sold WHERE item ¶IN
SELECT seller FROM sold WHERE ¶EXISTS likes
SELECT seller¶, FROM sold
SELECT seller FROM sold ¶ORDER
SELECT seller FROM sold WHERE item = 'book' ¶buyer = 'alex'
""",
    "unknown-name": """
SELECT seller FROM sold JOIN likes USING (¶item)
SELECT seller FROM sold WHERE item = ¶'boook'
WITH t AS (SELECT seller FROM ¶t) SELECT seller FROM t
SELECT ¶seler FROM sold
SELECT ¶position_3 FROM likes
SELECT seller FROM ¶sld
SELECT ¶s.seler FROM sold AS s
SELECT ¶t.seller FROM sold AS s
SELECT seller FROM sold WHERE item = ¶"book"
SELECT x FROM sold, (SELECT ¶seller AS x FROM likes) AS t
SELECT item FROM sold WHERE EXISTS (SELECT 1 FROM (SELECT position_1 FROM likes WHERE position_0 = ¶buyer) AS t)
SELECT seller FROM sold WHERE EXISTS (SELECT ¶nothing FROM likes)
SELECT ¶probability FROM sold
SELECT seller, ¶known FROM sold
SELECT seller FROM sold WHERE item = 'book' OR ¶probability > 0.5
SELECT seller FROM sold WHERE ¶probability = 0.5
SELECT seller FROM sold WHERE ¶sold.probability > 0.5
""",
    "ambiguous-column": """
SELECT s.seller FROM sold AS s CROSS JOIN sold AS t JOIN "Stock" AS u USING (¶item)
SELECT item FROM ¶STOCK
SELECT ¶iTem FROM "stock"
SELECT ¶s.iTem FROM "stock" AS s
SELECT ¶item FROM sold, "Stock"
SELECT ¶seller FROM sold AS a, sold AS b WHERE a.item = 'book'
""",
    "name-taken": """
SELECT seller FROM sold JOIN ¶sold ON seller = buyer
CREATE VIEW ¶sold AS SELECT position_0 FROM likes
WITH t AS (SELECT seller FROM sold), ¶t AS (SELECT buyer FROM sold) SELECT seller FROM t
SELECT seller, ¶seller FROM sold
SELECT seller AS a, ¶buyer AS a FROM sold
SELECT a.seller, ¶b.seller FROM sold AS a, sold AS b
""",
    "nothing-can-match": """
SELECT seller FROM sold WHERE known AND NOT ¶known
SELECT ¶seller FROM sold WHERE item = 'book' AND item <> 'book'
SELECT ¶seller FROM sold WHERE item = 'book' AND item = 'alex'
""",
}


def cases() -> list[tuple[str, str]]:
    """Return each query with the code of its refusal."""
    found = []
    for code, queries in REFUSED.items():
        for query in queries.strip("\n").split("\n"):
            found.append((query, code))
    return found


@pytest.mark.parametrize(("query", "code"), cases())
def test_what_is_not_supported_is_refused_in_one_line_where_it_stands(query: str, code: str) -> None:
    before = query.partition(MARK)[0].split("\n")
    with pytest.raises(SqlError) as caught:
        parse_sql(query.replace(MARK, ""), SHOP)
    error = caught.value
    assert "\n" not in str(error)
    assert error.code == code, error
    assert error.place == f"line {error.line}, column {error.column}"
    assert (error.line, error.column) == (len(before), len(before[-1]) + 1), error


OTHERS = (
    "INSERT UPDATE DELETE MERGE DROP ALTER TRUNCATE SHOW DESCRIBE SET USE PRAGMA BEGIN COMMIT GRANT COPY CALL ATTACH VALUES "
    "FROM TABLE EXECUTE HELLO"
)
FUNCTIONS = "read_csv read_parquet glob getenv query range generate_series unnest current_setting duckdb_settings sniff_csv"
TAILS = (
    "TABLESAMPLE 5",
    "USING SAMPLE 5",
    "QUALIFY true",
    "WINDOW w AS (ORDER BY item)",
    "FOR UPDATE",
    "PIVOT (x)",
    "FETCH FIRST 1 ROW",
    "ASOF JOIN likes ON buyer = position_0",
    "POSITIONAL JOIN likes",
    "SEMI JOIN likes ON buyer = position_0",
)


@pytest.mark.parametrize(
    "query",
    [
        *(f"{word} sold" for word in OTHERS.split()),
        *(f"SELECT {name}('x') FROM sold WHERE known" for name in FUNCTIONS.split()),
        *(f"SELECT * FROM {name}('x') WHERE known" for name in FUNCTIONS.split()),
        *(f"SELECT seller FROM sold {tail}" for tail in TAILS),
        "SELECT seller FROM 'file.csv' WHERE known",
        "SELECT * FROM information_schema.tables WHERE known",
        "SELECT seller FROM sold WHERE known AND item = (SELECT content FROM read_text('/etc/passwd'))",
    ],
)
def test_nothing_but_the_tables_of_a_run_is_read_even_of_stored_rows(query: str) -> None:
    with pytest.raises(SqlError):
        parse_sql(query, SHOP)


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
