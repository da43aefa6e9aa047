"""Import and export are the identity: every value of a database comes back as it was, and of the type that it had."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relatum.data.row_store import RowStore
from relatum.data.stored_values import StoredTable
from relatum.data.vocabulary import Vocabulary
from relatum.datasets.row_files import load_rows, save_rows
from relatum.tables import read
from relatum.tables.engine import Workspace
from relatum.tables.stored import read_column, write_table
from relatum.tables.value_types import declared_type
from relatum.tables.way_back import export_tables
from support.mysql_server import connect, run_script
from support.strategies import STORED_VALUES


@settings(max_examples=25)  # each is a table of all types, through two databases and a file
@given(data=st.data())
def test_values_of_every_type_come_back_from_a_file(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    rows = data.draw(st.integers(0, 6))
    column = {kind: st.lists(st.none() | one, min_size=rows, max_size=rows) for kind, one in STORED_VALUES.items()}
    drawn = {kind: data.draw(one, kind) for kind, one in column.items()}
    folder = tmp_path_factory.mktemp("values")
    with Workspace() as workspace:
        workspace.run(f"CREATE TABLE source ({', '.join(f'c{n} {kind}' for n, kind in enumerate(drawn))})")
        workspace.copy(
            {f"c{n}": np.array([*v, None], object) for n, v in enumerate(drawn.values())}, "INSERT INTO source", "t"
        )
        workspace.run("DELETE FROM source WHERE rowid = (SELECT max(rowid) FROM source)")
        kept = StoredTable(
            "t", tuple(read_column(workspace, f"c{n}", f"c{n}", "source", k, "t") for n, k in enumerate(drawn))
        )
        save_rows(folder, RowStore(Vocabulary([]), values={"t": kept}))
        found = load_rows(folder)
        assert found is not None
        write_table(workspace, found.values["t"], [one.name for one in kept.columns], "back", as_stored=True)
        for n, kind in enumerate(drawn):
            texts = f"SELECT list(CAST(c{n} AS VARCHAR) ORDER BY rowid), any_value(typeof(c{n})) FROM "  # noqa: S608
            assert workspace.one(texts + "source") == workspace.one(texts + "back"), kind
        for column in found.values["t"].columns:  # what Python has for them, whatever they are
            assert len(column.shown()) == len(column.as_text().values()) == rows
            assert column.followed_by(column).shown() == column.shown() * 2


def there_and_back(source: Any, folder: Path, to: str, **options: Any) -> dict[str, str]:
    """Import, save, load and export again, and return what the import says is lost."""
    imported = read(source, **options)
    imported.save(folder / "imported")
    export_tables(load_rows(folder / "imported"), to)
    return {f"{one.table}.{one.column}": one.lost for one in imported.columns if one.lost}


SQLITE = """
    CREATE TABLE t (id INTEGER PRIMARY KEY, price NUMERIC(10, 2), total REAL, name VARCHAR(20), day DATE, any_, size,
      raw BLOB, flag BOOLEAN, big BIGINT, "odd type" [some "type], key TEXT UNIQUE);
    CREATE TABLE pairs (a TEXT, b INT, c TEXT, PRIMARY KEY (a, b));
"""
SQLITE_ROWS: list[tuple[Any, ...]] = [
    (1, 14, 14.0, "", "2024-02-29", "x", 5, b"\0\1", 1, (1 << 63) - 1, 3, "k1"),
    (2, 0.99, -0.0, "a\0b", "", "y", 5.5, None, 0, -(1 << 63), "4 ", "k2"),
    (7, "free", 1e999, "007", "0000-00-00", "5", None, b"", None, None, None, "k3"),
    (9, 9007199254740993, 1e300, " é日😀", None, "1.0", 7, None, True, 0, 0.1, None),
]


def test_sqlite(tmp_path: Path) -> None:
    source, back = tmp_path / "source.db", tmp_path / "back.db"
    with sqlite3.connect(source) as connection:
        connection.executescript(SQLITE)
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * 12)})", SQLITE_ROWS)  # noqa: S608
        pairs = [(f"a{n % 3}", n, f"c{n % 2}") for n in range(30)]
        connection.executemany("INSERT INTO pairs VALUES (?, ?, ?)", pairs)
    lost = there_and_back(source, tmp_path, str(back), drop=["pairs.c"])
    assert lost == {
        "t.raw": "values of type blob are not kept",
        "t.size": "whole numbers are kept as fractions",
        "pairs.c": "not kept",
    }
    with sqlite3.connect(source) as theirs, sqlite3.connect(back) as ours:
        names = [row[1] for row in ours.execute("PRAGMA table_info(t)")]
        assert names == [row[1] for row in theirs.execute("PRAGMA table_info(t)") if row[1] != "raw"]
        for name in names:
            query = f'SELECT "{name}" FROM t ORDER BY id'  # noqa: S608
            found, wanted = ([row[0] for row in one.execute(query)] for one in (ours, theirs))
            wanted = [float(one) if name == "size" and isinstance(one, int) else one for one in wanted]
            assert list(map(repr, found)) == list(map(repr, wanted)), name
        assert [row[1] for row in ours.execute("PRAGMA table_info(pairs)") if row[5]] == ["a", "b"]


DUCKDB = """
    CREATE TABLE t (id INTEGER PRIMARY KEY, a UBIGINT, b HUGEINT, c DECIMAL(38, 3), d DOUBLE, e FLOAT, f TIMESTAMP_NS,
      g TIMESTAMPTZ, h ENUM('x', 'it''s'), i UUID, j INTERVAL, k VARCHAR, l BOOLEAN, m TIME, n DATE, o SMALLINT,
      q INTEGER[]);
    INSERT INTO t VALUES (1, 18446744073709551615, -170141183460469231731687303715884105728,
      99999999999999999999999999999999999.999, 'nan', 0.1, '2024-01-01 00:00:00.000000001', '2024-01-01 12:00:00+02', 'x',
      'e0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '1 month -2 days 03:00:00.5', '', true, '24:00:00', '0044-03-15 (BC)', -5,
      [1]), (2, 0, 1, 0, '-inf', '-0.0', '1900-01-01', 'infinity', 'it''s', NULL, '-1 day', 'a' || chr(0) || 'b',
      false, '00:00:00', 'infinity', 32767, []);
    INSERT INTO t (id) VALUES (3);
"""


@pytest.mark.parametrize("ending", ["duckdb", "parquet"])
def test_duckdb_and_parquet(ending: str, tmp_path: Path) -> None:
    source, back = tmp_path / "source.duckdb", tmp_path / f"back.{ending}"
    with duckdb.connect(str(source)) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(DUCKDB)
        if ending == "parquet":  # what has another type there is not written
            connection.execute(f"COPY (SELECT * EXCLUDE (b, h, j) FROM t) TO '{tmp_path / 't.parquet'}'")  # noqa: S608
    lost = there_and_back(source if ending == "duckdb" else tmp_path / "t.parquet", tmp_path, str(back))
    assert lost == {"t.q": "values of type integer[] are not kept"}
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        if ending == "duckdb":
            connection.execute(f"ATTACH '{source}' AS source; ATTACH '{back}' AS back")
        tables = ("source.t", "back.t") if ending == "duckdb" else (f"'{tmp_path / 't.parquet'}'", f"'{back}'")
        theirs, ours = ({one[0]: one[1] for one in connection.execute(f"DESCRIBE FROM {t}").fetchall()} for t in tables)
        assert ours == {name: kind for name, kind in theirs.items() if name != "q"}
        texts = f"SELECT {', '.join(f'CAST({name} AS VARCHAR)' for name in ours)} FROM"
        theirs, ours = (connection.execute(f"{texts} {one} ORDER BY id").fetchall() for one in tables)
        assert ours == theirs
        if ending == "duckdb":
            key = connection.execute(
                "SELECT constraint_column_names FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY'"
            )
            assert key.fetchall() == [(["id"],)] * 2


POSTGRES = """
    CREATE TYPE mood AS ENUM ('sad', 'ok');
    CREATE TABLE t (id integer PRIMARY KEY, a smallint, b bigint, c numeric(5, 2), d numeric, e numeric, f real,
      g double precision, h boolean, i text, j varchar(20), k char(5), l date, m time(3), n timestamp, o timestamptz,
      p interval, q uuid, r bit varying(9), s money, u timetz, v mood, w numeric(60, 20), x jsonb, y int[]);
    INSERT INTO t VALUES (1, -5, 9223372036854775807, 1.50, 1.5, 1.50, 0.1, 0.1, true, '', 'é', 'ab', '2024-02-29', '24:00',
      '2024-01-01 00:00:00.000001', '2024-01-01 12:00+02', '-1 years -2 mons +3 days -04:05:06.789',
      'e0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '101', 12.34, '12:00+05:30', 'ok', 1234567890123456789012345678901234567890.5,
      '{}', '{1}'), (2, 5, 0, 0, 2.5, 1.5, '-0', 'NaN', false, E'tab\\t', '', '', '0044-03-15 BC', '00:00', 'infinity',
      '0044-03-15 12:00:00 BC', '0', NULL, '', -1, '00:00-11', 'sad', 0, NULL, NULL);
    INSERT INTO t VALUES (3);
"""


def test_postgres(database: str, tmp_path: Path) -> None:
    import psycopg

    def ask(table: str) -> tuple[list[Any], list[Any]]:
        with psycopg.connect(database) as connection:
            connection.execute("SET extra_float_digits = 3; SET timezone = 'UTC'")
            query = f"SELECT {', '.join(f'{one}::text' for one in columns)} FROM {table} ORDER BY id"  # noqa: S608
            values = connection.execute(query.encode()).fetchall()
            types = "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = %s::regclass"
            named = dict(connection.execute(types.encode(), [table]).fetchall())
            return values, [named[one] for one in columns]

    columns = ["id", *"abcdefghijklmnopqrsuvw"]
    with psycopg.connect(database) as connection:
        connection.execute(POSTGRES.encode())
    imported = read(database)
    imported.save(tmp_path / "imported")
    with psycopg.connect(database) as connection:
        connection.execute("ALTER TABLE t RENAME TO source")
    export_tables(load_rows(tmp_path / "imported"), database)
    (ours, types), (theirs, wanted) = ask("t"), ask("source")
    assert ours == theirs
    assert types == ["text" if one == "mood" else one for one in wanted]
    lost = {one.column: one.lost for one in imported.columns if one.lost}
    assert lost == {
        "l": "kept as text, for some values are no DATE",
        "o": "kept as text, for some values are no TIMESTAMP WITH TIME ZONE",
        "x": "values of type jsonb are not kept",
        "y": "values of type integer[] are not kept",
    }


MYSQL = """
    CREATE TABLE t (id INT UNSIGNED PRIMARY KEY, a TINYINT(1), b BIGINT UNSIGNED, c DECIMAL(9, 3), d DECIMAL(60, 5), e FLOAT,
      f DOUBLE, g DATE, h DATETIME(6), i TIMESTAMP NULL, j TIME(3), k YEAR, l BIT(3), m ENUM('x', 'it''s'), n SET('a', 'b'),
      o CHAR(5), p VARCHAR(20), q LONGTEXT, r BLOB, s UUID, u JSON) CHARACTER SET utf8mb4;
    INSERT INTO t VALUES (1, 1, 18446744073709551615, 1.500, 12345678901234567890123456789012345678901234567890.5,
      0.1234567891, 0.1, '2024-02-29', '9999-12-31 23:59:59.999999', '2024-02-29 12:00:00', '-838:59:59', 1999, b'101',
      'it''s', 'a,b', 'é 日', '', 'x\\\\y\\0z', 'raw', 'e0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{}'),
      (2, 0, 0, -0.001, 0, 1e20, 1e300, '0000-00-00',
      '1000-01-01 00:00:00', NULL, '00:00:01.5', 0, b'0', 'x', '', '', ' b ', '', NULL, NULL, NULL);
    INSERT INTO t (id) VALUES (3);
"""


def test_mysql(mysql_database: str, tmp_path: Path) -> None:
    run_script(mysql_database, MYSQL)
    columns = ["id", *"abcdefghijklmnopqs"]
    imported = read(mysql_database)
    imported.save(tmp_path / "imported")
    run_script(mysql_database, "RENAME TABLE t TO source;\n")
    export_tables(load_rows(tmp_path / "imported"), mysql_database)

    def ask(table: str) -> tuple[Any, Any]:
        with connect(mysql_database) as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT {', '.join(columns).replace('e,', 'e + 0e0,')} FROM {table} ORDER BY id")  # noqa: S608
            values = cursor.fetchall()
            cursor.execute(f"SHOW COLUMNS FROM {table}")
            return values, {row[0]: (row[1], row[3]) for row in cursor.fetchall() if row[0] in columns}

    (ours, types), (theirs, wanted) = ask("t"), ask("source")
    changed = [
        [None if one == "g" and row[0] == 2 else each for one, each in zip(columns, row, strict=False)] for row in theirs
    ]
    assert [list(row) for row in ours] == changed
    assert types == wanted
    lost = {one.column: one.lost for one in imported.columns if one.lost}
    assert lost == {
        "g": "0000-00-00 is no value, 1 times",
        "j": "kept as text, for some values are no TIME",
        "r": "values of type blob are not kept",
        "u": "values of type longtext are not kept",
    }


@pytest.mark.parametrize(
    "word", ["int) --", "int\0", "text default (1)", "int primary key", "integer generated always", "enum('a\\')"]
)
def test_a_word_that_is_no_type_is_not_said_again(word: str) -> None:
    for kind in ("sqlite", "postgresql", "mysql"):
        assert declared_type(kind, "BIGINT", f"{kind} {word}") == declared_type(kind, "BIGINT", None)  # type: ignore[arg-type]
