"""What is opened: the extra that a missing library comes with, and queries as tables, able to do nothing but read."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import duckdb
import pytest

import relatum
from relatum.errors import DataError
from relatum.tables import Imported, read
from relatum.tables.targets import target_of
from support.mistakes import mistake
from support.mysql_server import run_script
from support.small_tables import all_facts, sqlite_of

URLS = {"postgresql://nobody@127.0.0.1:9/none": "postgres", "mysql://nobody@127.0.0.1:9/none": "mysql"}
SOURCES = {**URLS, "items.xlsx": "excel", "items.csv": "io"}
TARGETS = {**URLS, "new.parquet": "io", "new.duckdb": "io"}


@pytest.mark.parametrize("is_target", [False, True])
def test_a_missing_library_is_named_with_its_extra(is_target: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("a,b\n1,2\n")
    for library in ("duckdb", "psycopg", "pymysql", "python_calamine"):
        monkeypatch.setitem(sys.modules, library, None)
    for path, extra in (TARGETS if is_target else SOURCES).items():
        with mistake("missing-extra") as caught:
            if is_target:
                target_of(path)
            else:
                relatum.read([path, "items.csv"])
        assert f"relatum[{extra}]" in caught.value.remedy


SCRIPT = """
    CREATE TABLE customer (id INTEGER PRIMARY KEY, country TEXT);
    CREATE TABLE invoice (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer (id));
    CREATE TABLE line (id INTEGER PRIMARY KEY, invoice_id INTEGER REFERENCES invoice (id), track INTEGER, price REAL);"""
CUSTOMERS = [(n, f"c{n % 3}") for n in range(12)]
INVOICES = [(n, n % 12) for n in range(40)]
LINES = [(n, n % 40, n % 9, n / 4) for n in range(160)]
BOUGHT = "SELECT customer_id, track FROM invoice JOIN line ON line.invoice_id = invoice.id"
KINDS = ["sqlite", "duckdb", "postgres", "mysql", "files", "several"]


def facts(imported: Imported, relation: str = "bought") -> set[tuple[str, ...]]:
    return {fact for fact in all_facts(imported) if fact[0] == relation}


@pytest.fixture
def source(request: pytest.FixtureRequest, tmp_path: Path) -> object:
    tables = {"customer": CUSTOMERS, "invoice": INVOICES, "line": LINES}
    filled = [
        f"INSERT INTO {name} VALUES {', '.join(str(row) for row in rows)};"  # noqa: S608
        for name, rows in tables.items()
    ]
    script = SCRIPT + "".join(filled)
    if request.param == "sqlite":
        return sqlite_of(tmp_path / "shop.db", script)
    if request.param == "postgres":
        import psycopg

        url: str = request.getfixturevalue("database")
        with psycopg.connect(url) as connection:
            connection.execute(script.encode())
        return url
    if request.param == "mysql":
        return run_script(request.getfixturevalue("mysql_database"), script.replace(";", ";\n"))
    with duckdb.connect(tmp_path / "shop.duckdb") as connection:
        connection.execute(script)
        if request.param == "duckdb":
            return tmp_path / "shop.duckdb"
        for name in tables:
            connection.execute(f"COPY {name} TO '{tmp_path}/{name}.csv' (HEADER)")
        connection.execute(f"COPY line TO '{tmp_path}/line.parquet' (FORMAT parquet)")
    last = "line.csv" if request.param == "files" else "line.parquet"
    return [tmp_path / "customer.csv", tmp_path / "invoice.csv", tmp_path / last]


@pytest.mark.parametrize("source", KINDS, indirect=True)
def test_a_query_is_one_more_table_that_can_be_linked(source: object) -> None:
    imported = read(source, sql={"bought": BOUGHT}, links={"bought.customer_id": "customer.id"}, keep=["bought.track"])
    expected = {("bought", f"customer:{n % 40 % 12}", f"bought.track:{n % 9}") for n in range(160)}
    assert facts(imported) == expected
    assert {record.table for record in imported.tables} == {"customer", "invoice", "line", "bought"}
    # The other tables are still there.
    assert facts(imported, "customer.country") == {
        ("customer.country", f"customer:{n}", f"customer.country:c{n % 3}") for n in range(12)
    }
    assert imported.split.column_types["bought"][1].value_type == "whole"
    alone = read(source, sql={"bought": BOUGHT}, tables=["bought"], links={"bought.customer_id": "customer.id"})
    # Only a database says that the column is a key; of files that are not read, it is the one that is referred to.
    assert facts(alone) == expected
    assert len(alone.split.schema) == 1
    assert alone.options.to_dict()["sql"] == {"bought": BOUGHT}


@pytest.mark.parametrize("source", KINDS, indirect=True)
def test_several_queries_with_comments_semicolons_and_percent_signs(source: object) -> None:
    queries = {
        "dear": "-- dear\n/* price */ WITH d AS (SELECT * FROM line WHERE id % 7 > 1) SELECT track, invoice_id FROM d;",
        "by": "SELECT country, track % 2 AS odd, count(*) AS n FROM customer, line WHERE country LIKE 'c%'\nGROUP BY 1, 2--",
    }
    imported = read(source, sql=queries, keep=["by.country", "by.odd", "by.n"], null="value")
    assert imported.split.schema["dear"].roles == ("track", "invoice_id")
    assert facts(imported, "by") == {
        ("by", f"by.country:c{c}", f"by.odd:{odd}", f"by.n:{n}") for c in range(3) for odd, n in ((0, 356), (1, 284))
    }


@pytest.mark.parametrize("source", ["sqlite", "duckdb", "postgres", "files"], indirect=True)
@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT nothing FROM line", "bad-query"),
        ("SELECT * FROM nowhere", "bad-query"),
        ("SELECT customer_id, track FROM", "bad-query"),
        ("SELECT 1 AS a; SELECT 2 AS a", "bad-query"),
        ("SELECT 1 AS a) x; DELETE FROM line; SELECT * FROM (SELECT 2 AS b", "bad-query"),
        ("WITH x AS (SELECT 1) DELETE FROM line", "bad-query"),
        ("WITH x AS (DELETE FROM line RETURNING *) SELECT * FROM x", "bad-query"),
        ("SELECT customer.id, invoice.id FROM customer, invoice", "two-columns-one-name"),
        ('SELECT id AS "a\tb", id FROM line', "unusable-name"),
    ],
)
def test_a_wrong_query_is_one_sentence_and_changes_nothing(source: object, sql: str, code: str) -> None:
    before = hashlib.sha256(source.read_bytes()).digest() if isinstance(source, Path) else None
    with mistake(code) as caught:
        read(source, sql={"q": sql})
    assert caught.value.place.startswith("query 'q'")
    assert "\n" not in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert before == (hashlib.sha256(source.read_bytes()).digest() if isinstance(source, Path) else None)


def test_what_a_query_that_writes_would_have_deleted_is_still_there(database: str) -> None:
    import psycopg

    with psycopg.connect(database) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a, 2 AS b; CREATE SEQUENCE s")
        connection.execute("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'DELETE FROM t; SELECT 1'")
    for sql in ("SELECT f() AS a, 1 AS b", "SELECT nextval('s') AS a, 1 AS b", "SELECT 1; COMMIT; DELETE FROM t; SELECT 1"):
        with pytest.raises(DataError):
            read(database, sql={"q": sql}, tables=["q"])
        with psycopg.connect(database) as connection:
            assert connection.execute("SELECT count(*) FROM t").fetchone() == (1,)


@pytest.mark.parametrize("sql", ["DELETE FROM line", "", "/* SELECT 1 */ -- SELECT 2", "(ATTACH 'x.db' AS x)", 17])
def test_what_is_no_select_is_refused_before_anything_is_opened(sql: str) -> None:
    with mistake("bad-query"):
        read("nowhere.db", sql={"q": sql})
    with mistake("setting-out-of-range"):
        read("nowhere.db", sql=sql)


REACHING = ["'{0}'", "read_text('{0}')", "read_csv('{0}')", "glob('{0}')", "read_text('https://127.0.0.1:1/x')"]
REACHING += ["query('DROP TABLE line')", "secret_variable"]


@pytest.mark.parametrize("source", ["duckdb", "files"], indirect=True)
@pytest.mark.parametrize("rows", REACHING)
def test_a_query_reaches_no_other_file_nor_the_network(source: object, tmp_path: Path, rows: str) -> None:
    other = tmp_path / "secret.csv"
    other.write_text("a,b\nhidden,1\nhidden,2\n")
    secret_variable = duckdb.sql("SELECT 'hidden' AS a")  # noqa: F841
    with mistake("bad-query") as caught:
        read(source, sql={"q": f"SELECT * FROM {rows.format(other)}"})  # noqa: S608
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("source", ["sqlite"], indirect=True)
def test_sqlite_does_nothing_but_read_and_a_name_that_a_table_has_is_refused(source: object) -> None:
    rows = ("pragma_database_list", "pragma_database_list()")
    wrong = ["SELECT load_extension('x') AS a, 1 AS b", *(f"SELECT name, file FROM {each}" for each in rows)]  # noqa: S608
    for name, sql in [*(("q", each) for each in wrong), ("line", "SELECT 1 AS a, 2 AS b")]:
        with mistake("bad-query"):
            read(source, sql={name: sql})


@pytest.mark.everything
def test_queries_read_frames_and_see_texts_for_null_as_null(tmp_path: Path) -> None:
    import pyarrow

    frame = pyarrow.table({"a": ["x", "NA", "y", "x"] * 5, "b": [1, 2, 3, 4] * 5, "c": [[1]] * 20})
    (tmp_path / "two.parts.csv").write_text("a,n\nx,1\ny,NA\nx,2\n")
    sql = 'SELECT t.a, b, n FROM t JOIN "two.parts" p USING (a) WHERE t.a IS NOT NULL AND n > 0'
    imported = read(
        {"t": frame, "two.parts": tmp_path / "two.parts.csv"},
        sql={"q": sql},
        null_text=["NA"],
        tables=["q"],
        keep=["q.a"],
        plain=True,
    )
    assert facts(imported, "q") == {("q", "x", b, n) for b in "14" for n in "12"}


def test_a_schema_is_written_as_in_its_database(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "shop.duckdb") as connection:
        connection.execute("CREATE SCHEMA s; CREATE TABLE s.u AS SELECT i % 3 AS a, i % 4 AS b FROM range(24) t(i)")
    (tmp_path / "x.csv").write_text("a,c\n0,z\n1,z\n2,w\n")
    sources = [tmp_path / "shop.duckdb", tmp_path / "x.csv"]
    imported = read(sources, sql={"q": "SELECT b, c FROM s.u JOIN X USING (a)"}, tables=["q"], plain=True)
    assert facts(imported, "q") == {("q", b, c) for b in "0123" for c in "zw"}
