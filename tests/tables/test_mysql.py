"""MySQL and MariaDB as a source: tables, keys, types, views; and URLs that are wrong."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from relatum.data.row_store import TableReference
from relatum.errors import DataError
from relatum.tables import read
from relatum.tables.engine import Workspace
from relatum.tables.open import open_sources
from relatum.tables.options import ImportOptions
from support.mistakes import mistake
from support.mysql_server import PASSWORD, connect, run_script
from support.small_tables import ODD_TEXTS, staged, staged_texts, tables_of


def test_keys_and_references_in_any_case(mysql_database: str) -> None:
    tables = tables_of(
        run_script(
            mysql_database,
            """
            CREATE TABLE People (Id INT PRIMARY KEY, Mail VARCHAR(20) UNIQUE, a INT, b INT, UNIQUE (b, a), INDEX (a));
            CREATE TABLE visits (who INT, p INT, q INT, UNIQUE (who), FOREIGN KEY (WHO) REFERENCES People (ID),
                FOREIGN KEY (p, q) REFERENCES People (b, a));
            """,
        )
    )
    assert tables["People"].primary_key == ("Id",)
    assert tables["People"].unique_keys == (("Mail",), ("b", "a"))
    assert tables["visits"].unique_keys == (("who",),)
    assert set(tables["visits"].references) == {
        TableReference(("who",), "People", ("Id",)),
        TableReference(("p", "q"), "People", ("b", "a")),
    }


def test_values_of_every_type(mysql_database: str) -> None:
    run_script(
        mysql_database,
        """
        CREATE TABLE t (i BIGINT UNSIGNED, f DOUBLE, n DECIMAL(30, 2), d DATE, s DATETIME(3), z TIMESTAMP NULL, y YEAR,
            b BIT(3), e ENUM('é', 'x'), v VARCHAR(20) CHARACTER SET latin1, u VARCHAR(20) CHARACTER SET utf8mb4, k UUID,
            doc JSON, raw VARBINARY(4), pic BLOB, p POINT);
        SET time_zone = '+02:00';
        INSERT INTO t VALUES (7, 0.1, 1.50, '2024-02-03', '2024-02-03 04:05:06.789', '2024-02-03 12:00:00', 2024, b'101',
            'é', 'naïve', '日本 😀', '5e1b0a1c-0000-4000-8000-000000000001', '{}', 'x', 'y', POINT(1, 2));
        SET sql_mode = '';
        INSERT INTO t (i, d, s, z) VALUES (8, '0000-00-00', '0000-00-00', '0000-00-00');
        """,
    )
    run_script(mysql_database, "CREATE VIEW dear AS SELECT i, f FROM t WHERE i = 8;\nCREATE SEQUENCE counter;\n")
    assert set(tables_of(mysql_database)) == {"t"}
    assert set(tables_of(mysql_database, views=True)) == {"t", "dear"}
    assert staged(mysql_database, "dear", views=True) == [(8, None)]
    table = tables_of(mysql_database)["t"]
    assert [column.name for column in table.columns if column.kind == "unreadable"] == ["doc", "raw", "pic", "p"]
    found = staged(mysql_database, "t")
    assert [tuple(map(str, row)) for row in found] == [
        (
            *("7", "0.1", "1.5", "2024-02-03", "2024-02-03 04:05:06.789000", "2024-02-03 10:00:00", "2024", "5"),
            *("é", "naïve", "日本 😀", "5e1b0a1c-0000-4000-8000-000000000001"),
        ),
        ("8", *["None"] * 11),
    ]


def test_what_is_read_is_the_state_at_one_moment(mysql_database: str) -> None:
    run_script(mysql_database, "CREATE TABLE t (a INT, b INT);\nINSERT INTO t VALUES (1, 2);\n")
    with Workspace() as workspace, open_sources(mysql_database, workspace, ImportOptions()) as found:
        run_script(mysql_database, "INSERT INTO t VALUES (3, 4);\n")
        source, table = found["t"]
        source.stage(table, table.columns, "seen")
        assert workspace.rows("FROM seen") == [(1, 2)]


def test_tables_that_may_not_be_read_still_say_what_refers_to_them(mysql_database: str) -> None:
    run_script(
        mysql_database,
        """
        CREATE TABLE secret (id INT PRIMARY KEY, x TEXT);
        CREATE TABLE a (who INT, b INT, FOREIGN KEY (who) REFERENCES secret (id));
        INSERT INTO secret VALUES (1, 'x'), (2, 'x');
        INSERT INTO a VALUES (1, 1), (2, 1), (1, 2), (2, 2);
        CREATE USER IF NOT EXISTS guest@'127.0.0.1' IDENTIFIED BY 'guest';
        GRANT SELECT ON trial.a TO guest@'127.0.0.1';
        GRANT REFERENCES, INSERT ON trial.secret TO guest@'127.0.0.1';
        """,
    )
    url = f"mysql://guest:guest@{mysql_database.rpartition('@')[2]}"
    imported = read(url)
    assert "secret:1" in imported.split.entities
    assert {record.table: record.note for record in imported.tables} == {"a": "no column is a key", "secret": "not read"}
    with mistake("database-refused"):
        read(url, tables=["secret"])


def test_a_password_is_in_the_url_or_in_the_environment_and_never_shown(
    mysql_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_script(mysql_database, "CREATE TABLE t (a INT, b INT);\n")
    host = mysql_database.rpartition("@")[2]
    monkeypatch.setenv("MYSQL_PWD", PASSWORD)
    assert set(tables_of(f"mariadb://owner@{host}")) == {"t"}
    with Workspace() as workspace, open_sources(mysql_database, workspace, ImportOptions()) as found:
        assert found["t"][0].location == f"mysql://owner@{host}"
    for url, text in (
        (f"mysql://owner:hidden@{host}", "Access denied"),
        (f"mysql://owner:{quote(PASSWORD, safe='')}@{host.partition('/')[0]}/nowhere", "Unknown database"),
        ("mysql://owner:hidden@127.0.0.1:1/x", "refused"),
        ("mysql://owner:hidden@127.0.0.1:1", "name one database"),
        ("mysql://owner:hidden@127.0.0.1:many/x", "not the URL of a database"),
        ("mysql://owner:hidden@[::1/x", "not the URL of a database"),
        ("mysql://owner:hid/den@127.0.0.1/x", "write / as %2F"),
        (f"mysql://owner:hidden@{host}?password=hidden", "ssl_ca, unix_socket"),
        (f"mysql://owner:hidden@{host}?ssl_ca=/dev/null", "mysql://owner@"),
    ):
        with pytest.raises(DataError) as caught:
            read(url)
        assert text in str(caught.value)
        assert "\n" not in str(caught.value)
        for secret in ("hidden", "hid/den", "s3cret"):
            assert secret not in str(caught.value)


def test_odd_values_are_what_the_driver_fetches_row_by_row(mysql_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [*ODD_TEXTS, "\0", "x" * 300] * 2
    texts += ["y" * 70_000, '"' * 3_000_000, "z" * (1 << 24)]  # the last is more than one packet holds
    numbers = [None, 0, -1, 2**63 - 1, -(2**63), 10**18 - 1]
    floats = [None, 0.1, -0.0, 1e300, 5e-324, 123456789.12345679]
    days = [None, "2024-02-03 04:05:06", "9999-12-31 23:59:59"]
    with connect(mysql_database, max_allowed_packet=1 << 26) as connection, connection.cursor() as cursor:
        cursor.execute("SET GLOBAL max_allowed_packet = 1 << 26")
    with connect(mysql_database, max_allowed_packet=1 << 26) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE odd (t LONGTEXT, i BIGINT, f DOUBLE, d DATETIME, ok BOOLEAN, n DECIMAL(30, 2))")
        rows = [
            (text, *(values[row % len(values)] for values in (numbers, floats, days, [True, False, None], ["1.50", None])))
            for row, text in enumerate(texts)
        ]
        for row in rows:
            cursor.execute("INSERT INTO odd VALUES (%s, %s, %s, %s, %s, %s)", row)
    with connect(mysql_database, conv={}, max_allowed_packet=1 << 26) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM odd")
        expected = list(cursor.fetchall())
    for piece in (1 << 24, 100):
        monkeypatch.setattr("relatum.tables.servers.PIECE", piece)
        assert staged_texts(mysql_database, "odd") == expected
