"""Tables of databases brought into the workspace and typed, against a driver that fetches the same rows and keeps none."""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measure import Ratio, in_turn
from relatum.tables.engine import BATCH, Workspace
from relatum.tables.open import open_sources
from relatum.tables.options import ImportOptions

sys.path.append(str(Path(__file__).parents[1] / "tests"))  # which start servers of their own

_ROWS = 300_000
_COLUMNS = "id int PRIMARY KEY, customer {text}, item bigint, day date, price double precision, rating int"
_VALUES = "{i}, {name}, {i} * 31 % 5003, {day}, {i} * 7907 % 50021 / 100.0, CASE WHEN {i} % 5 > 0 THEN {i} % 11 END"
_FLOORS = {"PostgreSQL": 0.35, "MariaDB": 0.35, "SQLite": 0.2}


def ratios() -> Iterator[Ratio]:
    """Measure on a table of integers, dates, fractions, gaps and keys that are text."""
    from support.mysql_server import running_mysql
    from support.postgres_server import running_postgres

    with tempfile.TemporaryDirectory() as folder:
        yield _ratio("SQLite", *_sqlite(Path(folder) / "made.db"))
    with running_postgres() as (url, _):
        yield _ratio("PostgreSQL", *_postgres(f"{url}/postgres"))
    with running_mysql() as (url, _):
        yield _ratio("MariaDB", *_mysql(url))


def _ratio(what: str, source: str, fetch: Callable[[], int]) -> Ratio:
    ours, theirs = in_turn(lambda: _staged(source), lambda: _fetched(fetch), rounds=3)
    detail = f"{_ROWS:,} rows, typed, in {ours:.2f} s, fetched alone in {theirs:.2f} s"
    return Ratio(f"a table of {what}", theirs / ours, _FLOORS[what], "x the driver", detail)


def _staged(location: str) -> float:
    with Workspace() as workspace, open_sources(location, workspace, ImportOptions()) as found:
        source, table = found["made"]
        start = time.perf_counter()
        source.stage(table, table.columns, "staged")
        taken = time.perf_counter() - start
        assert workspace.one("SELECT count(*) FROM staged") == (_ROWS,)
    return taken


def _fetched(fetch: Callable[[], int]) -> float:
    start = time.perf_counter()
    assert fetch() == _ROWS
    return time.perf_counter() - start


def _selection(i: str, name: str, day: str) -> str:
    return _VALUES.format(i=i, name=name, day=day)


def _sqlite(path: Path) -> tuple[str, Callable[[], int]]:
    connection = sqlite3.connect(path)
    numbers = f"WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < {_ROWS})"  # noqa: S608
    values = _selection("i", "'customer-' || (i * 7919 % 100003)", "date('2020-01-01', (i * 17 % 1000) || ' days')")
    connection.execute(f"CREATE TABLE made ({_COLUMNS.format(text='text')})")
    connection.execute(f"{numbers} INSERT INTO made SELECT {values} FROM s")  # noqa: S608
    connection.commit()
    return str(path), lambda: _count(connection.execute("SELECT * FROM made").fetchmany)


def _postgres(url: str) -> tuple[str, Callable[[], int]]:
    import psycopg

    connection = psycopg.connect(url, autocommit=True)
    values = _selection("i::bigint", "'customer-' || (i::bigint * 7919 % 100003)", "date '2020-01-01' + i * 17 % 1000")
    connection.execute(f"CREATE TABLE made ({_COLUMNS.format(text='text')})".encode())
    connection.execute(f"INSERT INTO made SELECT {values} FROM generate_series(1, {_ROWS}) i".encode())  # noqa: S608

    def fetch() -> int:
        with connection.transaction(), connection.cursor(name="made") as cursor:
            return _count(cursor.execute("SELECT * FROM made").fetchmany)

    return url, fetch


def _mysql(server: str) -> tuple[str, Callable[[], int]]:
    from pymysql.cursors import SSCursor

    from support.mysql_server import connect, run_script

    run_script(server, "CREATE DATABASE trial;\n")
    values = _selection(
        "seq", "concat('customer-', seq * 7919 % 100003)", "date '2020-01-01' + interval seq * 17 % 1000 day"
    )
    script = f"""CREATE TABLE made ({_COLUMNS.format(text="varchar(40)")});
        INSERT INTO made SELECT {values} FROM seq_1_to_{_ROWS};\n"""  # noqa: S608
    url = run_script(f"{server}/trial", script)

    def fetch() -> int:
        with connect(url) as connection, SSCursor(connection) as cursor:
            cursor.execute("SELECT * FROM made")
            return _count(cursor.fetchmany)

    return url, fetch


def _count(fetchmany: Callable[[int], list[tuple[object, ...]]]) -> int:
    total = 0
    while rows := fetchmany(BATCH):
        total += len(rows)
    return total
