"""PostgreSQL as a source: what its server copies is, row by row, what a driver fetches."""

from __future__ import annotations

import psycopg
import pytest

from relatum.tables import read
from support.mistakes import mistake
from support.small_tables import ODD_TEXTS, staged_texts

ODD = {
    "text": ODD_TEXTS,
    "bigint": [None, "0", "-1", "9223372036854775807", "-9223372036854775808", "999999999999999999"],
    "double precision": [None, "NaN", "Infinity", "-Infinity", "-0", "0.1", "1e300", "5e-324", "123456789.12345679"],
    "real": [None, "0.1", "-0", "NaN"],
    "numeric": [None, "NaN", "1.50", "123456789012345678901234567890.123", "-0.00", "7"],
    "date": [None, "2024-02-03", "0044-03-15 BC", "infinity", "-infinity", "12024-01-01"],
    "timestamp": [None, "2024-02-03 04:05:06.789", "0044-03-15 12:00 BC", "infinity"],
    "timestamptz": [None, "2024-02-03 04:05:06+05:30", "2024-07-01 00:00-08"],
    "time": [None, "04:05:06.5"],
    "interval": [None, "1 year 2 days 03:04"],
    "boolean": [None, "t", "f"],
    "uuid": [None, "5e1b0a1c-0000-4000-8000-000000000001"],
    "character(4)": [None, "a", "ab  "],
    "inet": [None, "10.0.0.1/8"],
}


def fill(url: str, rows: int = 200) -> list[str]:
    """Make a table `odd` with a column for each type, and return the columns."""
    with psycopg.connect(url) as connection:
        names = [f"c{index}" for index in range(len(ODD))]
        declared = ", ".join(f"{name} {kind}" for name, kind in zip(names, ODD, strict=True))
        connection.execute(f"CREATE TABLE odd ({declared})".encode())
        marks = ", ".join(f"%s::{kind}" for kind in ODD)
        given = [[values[(row + row // len(values)) % len(values)] for values in ODD.values()] for row in range(rows)]
        connection.cursor().executemany(f"INSERT INTO odd VALUES ({marks})".encode(), given)  # noqa: S608
    return names


def test_odd_values_are_what_the_driver_fetches_row_by_row(database: str) -> None:
    names = fill(database)
    with psycopg.connect(database) as connection:
        connection.execute("SET timezone = 'UTC'")
        texts = ", ".join(f"{name}::text" for name in names)
        expected = connection.execute(f"SELECT {texts} FROM odd".encode()).fetchall()  # noqa: S608
    assert staged_texts(database, "odd") == expected


def test_a_row_of_many_megabytes_and_rows_of_several_pieces_come_whole(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("relatum.tables.servers.PIECE", 1000)
    with psycopg.connect(database) as connection:
        connection.execute("CREATE TABLE long (a int, b text)")
        connection.execute("INSERT INTO long SELECT i, repeat('x', i) FROM generate_series(1, 100) i")
        connection.execute("INSERT INTO long SELECT i, repeat('\"', 5000000) FROM generate_series(101, 102) i")
    lengths = [*range(1, 101), 5_000_000, 5_000_000]
    found = [(number, len(str(text))) for number, text in staged_texts(database, "long")]
    assert found == [(str(number), length) for number, length in enumerate(lengths, 1)]


def test_an_error_while_rows_come_is_one_sentence(database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("CREATE TABLE numbers AS SELECT i FROM generate_series(1, 50000) i")
        connection.execute("CREATE VIEW shares AS SELECT i, 1 / (40000 - i) AS share FROM numbers")
    with mistake("database-refused"):
        read(database, views=True, tables=["shares"])
