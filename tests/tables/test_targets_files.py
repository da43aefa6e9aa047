"""Files are whole or absent, with a full disk, Ctrl-C or nowhere to write; what is written back joins what it came from."""

from __future__ import annotations

import csv
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from relatum import DataError, Run
from relatum.errors import RelatumWarning
from relatum.runs.export import predictions_table
from relatum.tables.table import Column, Table, Value
from relatum.tables.targets import target_of, write
from support.command_line import Relatum
from support.mistakes import mistake
from support.postgres_server import PASSWORD
from support.shop_of_four import CHANNELS, DISCOUNTS, fill, train
from support.small_tables import Acting, ask_sqlite, sqlite_of

ENDINGS = ["csv", "tsv", "jsonl", "parquet", "db", "duckdb"]


def table(values: Sequence[Value] = ("a", "b"), relation: str = "sold") -> Table:
    return Table(f"predicted_{relation}", (Column("item", "text", values),), relation)


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


def stopped_parts() -> Iterator[Table]:
    yield table()
    ctrl_c()


@pytest.mark.parametrize("has_parts", [False, True])
@pytest.mark.parametrize("ending", ENDINGS)
def test_ctrl_c_leaves_nothing_and_what_was_there(ending: str, has_parts: bool, tmp_path: Path) -> None:
    def write_some(**options: bool) -> None:
        with pytest.raises(KeyboardInterrupt):
            if has_parts:
                target_of(path, **options).write_parts(stopped_parts())
            else:
                write(table(Acting("abc", ctrl_c)), path, **options)

    path = tmp_path / f"out.{ending}"
    write_some()
    assert list(tmp_path.iterdir()) == []
    write(table(["c"]), path)
    before = path.read_bytes()
    write_some(replace=True)
    assert list(tmp_path.iterdir()) == [path]
    assert ending == "duckdb" or path.read_bytes() == before
    assert content_of(path) == [("c",)]


@pytest.mark.parametrize("ending", ENDINGS)
def test_parts_make_the_table_that_they_are_parts_of(ending: str, tmp_path: Path) -> None:
    whole, parts = tmp_path / f"whole.{ending}", tmp_path / f"parts.{ending}"
    write(table(["a", "b", None, "d"]), whole)
    target_of(parts).write_parts(table(values) for values in ([], ["a"], [], ["b", None], ["d"]))
    assert content_of(parts) == content_of(whole) == [("a",), ("b",), (None,), ("d",)]
    assert ending in ("db", "duckdb") or parts.read_bytes() == whole.read_bytes()
    assert sorted(one.name for one in tmp_path.iterdir()) == [parts.name, whole.name]


def content_of(path: Path, name: str = "predicted_sold") -> list[tuple[Value, ...]]:
    """Return the rows of a whole file or of the table in a database; half a file is an error."""
    if path.suffix in (".db", ".sqlite"):
        return ask_sqlite(path, f"SELECT * FROM {name}")  # noqa: S608
    if path.suffix == ".jsonl":
        return [tuple(json.loads(line).values())[1:] for line in path.read_text().splitlines()]
    with duckdb.connect(str(path) if path.suffix == ".duckdb" else ":memory:") as opened:
        return opened.execute(f"FROM {name if path.suffix == '.duckdb' else repr(str(path))}").fetchall()


def test_files_are_not_overwritten_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    write(table(), path)
    with mistake("table-exists"):
        write(table(["other"]), path)
    with mistake("contradictory-options"):
        write(table(), path, append=True, replace=True)
    with mistake("append-to-file"):
        write(table(["other"]), path, append=True)
    assert path.read_text() == "item\na\nb\n"
    write(table(["other"]), path, replace=True)
    assert path.read_text() == "item\nother\n"


def test_what_is_written_can_be_read_whatever_it_holds(tmp_path: Path) -> None:
    values = ['a "quoted", one', "two\nlines", "tab\there", "1=1", "日本", None]
    write(table(values), tmp_path / "out.csv")
    write(table(values), tmp_path / "out.tsv")
    csv_text = '"a ""quoted"", one"\n"two\nlines"\ntab\there\n1=1\n日本\n""\n'
    assert (tmp_path / "out.csv").read_text() == "item\n" + csv_text
    assert (tmp_path / "out.tsv").read_text().splitlines()[1] == '"a ""quoted"", one"'
    assert '"tab\there"' in (tmp_path / "out.tsv").read_text()


def test_several_relations_go_to_json_lines_or_a_database(tmp_path: Path) -> None:
    both = [table(relation="sold"), table(["c"], "bought")]
    with mistake("one-relation-per-file"):
        write(both, tmp_path / "out.csv")
    write(both, tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text().splitlines() == [
        '{"relation": "sold", "item": "a"}',
        '{"relation": "sold", "item": "b"}',
        '{"relation": "bought", "item": "c"}',
    ]
    role = Table("t", (Column("Relation", "text", ["x"]),), "sold")
    write(role, tmp_path / "role.jsonl")
    assert (tmp_path / "role.jsonl").read_text() == '{"relation_": "sold", "Relation": "x"}\n'


@pytest.mark.parametrize(
    ("to", "said"),
    [
        ("out.xlsx", "the ending says what to write: .csv, .tsv, .jsonl, .parquet, .db"),
        ("out", "the ending says what to write"),
        ("oracle://me:secret@host/x", "oracle://...: only files, postgresql:// and mysql:// URLs"),
        ("postgresql://me:sec/ret@host/x", "write / as %2F"),
        ("folder.csv", "folder.csv: not a file"),
        ("text.db", "neither a SQLite nor a DuckDB database"),
        ("empty.duckdb", "neither a SQLite nor a DuckDB database"),
        ("nowhere/out.csv", "nowhere: no such directory, or nothing can be written there"),
        ("nowhere/out.db", "nowhere: no such directory, or nothing can be written there"),
        ("text.db/out.csv", "text.db: no such directory, or nothing can be written there"),
    ],
)
def test_what_cannot_be_written_to_is_refused(to: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "text.db").write_text("some text")
    (tmp_path / "empty.duckdb").touch()
    with pytest.raises(DataError) as refused:
        write(table(), to)
    assert said in str(refused.value)
    assert "secret" not in str(refused.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.duckdb", "folder.csv", "text.db"]


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "empty.sqlite"
    path.touch()
    write(table(), path)
    assert content_of(path) == [("a",), ("b",)]


def make_database(path: Path) -> None:
    sqlite_of(path, "CREATE TABLE theirs (item TEXT)", theirs=[("kept",)])


def test_a_database_that_another_program_makes_meanwhile_keeps_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    write(table(Acting("ab", lambda: make_database(path))), path)
    assert (content_of(path, "theirs"), content_of(path)) == ([("kept",)], [("a",), ("b",)])
    assert [one.name for one in tmp_path.iterdir()] == ["app.db"]


def test_parts_do_not_replace_what_another_program_makes_meanwhile(tmp_path: Path) -> None:
    path, file = tmp_path / "app.db", tmp_path / "app.csv"
    with mistake("written-meanwhile"):
        target_of(path).write_parts([table(Acting("ab", lambda: make_database(path)))])
    with mistake("table-exists"):
        target_of(file).write_parts([table(Acting("ab", lambda: file.write_text("theirs")))])
    assert file.read_text() == "theirs"
    assert ask_sqlite(path, "SELECT name FROM sqlite_schema") == [("theirs",)]


def test_several_processes_that_make_one_database_lose_no_table(tmp_path: Path, count: Callable[[int, int], int]) -> None:
    line = "from relatum.tables import *; write(Table(t := sys.argv[2], (Column('item', 'text', [t] * 9),), t), sys.argv[1])"
    for number in range(count(1, 8)):
        path = tmp_path / f"new{number}.{('db', 'duckdb')[number % 2]}"
        command = [sys.executable, "-c", f"import sys; {line}", str(path)]
        started = [subprocess.Popen([*command, name], stderr=subprocess.PIPE, text=True) for name in ("a", "b")]
        said = [one.communicate()[1] for one in started]
        done = [name for name, one in zip(("a", "b"), started, strict=True) if one.returncode == 0]
        assert done, said
        assert all(one.returncode == 0 or "lock" in text for one, text in zip(started, said, strict=True)), said
        for name in done:
            write(Table(name, (Column("item", "text", ["more"]),), name), path, append=True)  # it is there
        with mistake("table-exists"):
            write(Table(done[0], (Column("item", "text", ["x"]),), done[0]), path)


FORMULAS = ["=1+1", "+cmd|'/C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "=", "-", "+49 30 1234"]
PLAIN = ["a", "", None, "-2", "+4.5", "-1e-9", "-.5", " =1", "'=1", "1-2", "a@b"]
RISKY = Table(
    "facts", (Column("=who", "text", [*FORMULAS, *PLAIN]), Column("n", "number", [-1.5] * len([*FORMULAS, *PLAIN]))), "facts"
)


def lines(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_formulas_are_disarmed_where_that_is_wanted_and_nothing_else_is_touched(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"out{ending}"
    write(RISKY, path, escape_formulas=True)
    head, *rows = lines(path)
    assert head == ["'=who", "n"]
    assert [row[0] for row in rows] == [*(f"'{text}" for text in FORMULAS), *(text or "" for text in PLAIN)]
    assert {row[1] for row in rows} == {"-1.5"}


def test_formulas_are_written_as_they_are_and_told_of_and_nothing_else_is(tmp_path: Path) -> None:
    with pytest.warns(RelatumWarning, match=f"take for formulas: {len(FORMULAS)}; set escape_formulas"):
        write(RISKY, tmp_path / "out.csv")
    assert [row[0] for row in lines(tmp_path / "out.csv")[1:]] == [text or "" for text in [*FORMULAS, *PLAIN]]
    write(Table("facts", (Column("who", "text", PLAIN),), "facts"), tmp_path / "plain.csv")  # without a warning


@pytest.mark.parametrize("to", ["out.jsonl", "out.db", "postgresql://localhost/x"])
def test_other_targets_have_no_formulas(to: str) -> None:
    with mistake("formulas-not-csv"):
        write(RISKY, to, escape_formulas=True)


Ask = Callable[[str], list[tuple[Any, ...]]]

# Every predicted row belongs to a customer and an item, and none of them is sold already.
JOINED = """SELECT count(*) FROM predicted_sold p JOIN customers c ON c.id = p.customer_id
    JOIN items i ON i.code = p.item_code"""
KNOWN = """SELECT count(*) FROM predicted_sold p JOIN sales s ON s.customer_id = p.customer_id
    AND s.item_code = p.item_code AND s.channel = p.channel AND s.discount = p.discount"""
ROWS = "SELECT customer_id, item_code, channel, discount FROM predicted_sold"


def check(ask: Ask, count: int) -> None:
    """Check what stands in `predicted_sold` beside the shop."""
    assert ask("SELECT count(*) FROM predicted_sold") == [(count,)]
    assert ask(JOINED) == [(count,)]
    assert ask(KNOWN) == [(0,)]
    rows = ask(ROWS)
    assert all(type(customer) is int and type(code) is str and len(code) == 3 for customer, code, _, _ in rows)
    assert {channel for _, _, channel, _ in rows} == set(CHANNELS)
    assert {discount for *_, discount in rows} <= set(DISCOUNTS)
    assert ask("SELECT count(*) FROM predicted_sold WHERE probability BETWEEN 0 AND 1 AND score > 0") == [(count,)]


def test_into_the_sqlite_database_that_it_came_from(shop: Path, shop_run: Path, tmp_path: Path, run: Relatum) -> None:
    path = shutil.copy(shop, tmp_path)
    code, out, err = run("predict", str(shop_run), "--relation", "sold", "--top", "500", "--to", str(path))
    assert (code, err) == (0, "")
    assert out == f"wrote 500 facts of sold to {path}, table predicted_sold\n"
    with closing(sqlite3.connect(path)) as connection:
        check(lambda sql: connection.execute(sql).fetchall(), 500)
        found = connection.execute(f"{ROWS} ORDER BY score DESC, customer_id LIMIT 3").fetchall()
    first = Run.load(shop_run).predict("sold", 1)[0].entities
    assert f"customers:{found[0][0]}" == first[0]
    assert f"items:{found[0][1]}" == first[1]


def test_into_a_postgresql_database(database: str, tmp_path: Path, run: Relatum) -> None:
    import psycopg

    with psycopg.connect(database) as connection:
        cursor = connection.cursor()
        fill(lambda sql: cursor.execute(sql.encode()), lambda sql, rows: cursor.executemany(sql.encode(), rows), "%s")
    trained = train(database, tmp_path)
    said = run("predict", str(trained), "--relation", "sold", "--top", "300", "--to", database)
    assert said[0] == 0
    assert PASSWORD not in "".join(map(str, said))
    said = run("predict", str(trained), "--top", "4", "--to", database, "--json")
    assert (said[0], said[1]) == (2, "")  # one of the tables is there
    with psycopg.connect(database) as connection:
        check(lambda sql: connection.execute(sql.encode()).fetchall(), 300)
        types = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'predicted_sold'"
        assert dict(connection.execute(types.encode()).fetchall()) == {
            "customer_id": "bigint",
            "item_code": "text",
            "channel": "text",
            "discount": "double precision",
            "score": "double precision",
            "probability": "double precision",
        }
        tables = "SELECT count(*) FROM information_schema.tables WHERE table_name LIKE 'predicted%'"
        assert connection.execute(tables.encode()).fetchall() == [(1,)]


def test_every_format_holds_the_same_rows(shop_run: Path, tmp_path: Path) -> None:
    import duckdb

    run = Run.load(shop_run)
    table = predictions_table(run, "reviews", run.predict("reviews", 50))
    assert table.names == ["customer_id", "item_code", "stars", "score", "score_", "probability"]  # one was called score
    wanted = list(table.rows())
    assert all(isinstance(value, kind) for row in wanted for value, kind in zip(row, (int, str, int, str), strict=False))
    for ending in ("csv", "tsv", "jsonl", "parquet", "db", "duckdb"):
        write(table, tmp_path / f"out.{ending}")
    for ending, delimiter in (("csv", ","), ("tsv", "\t")):
        with (tmp_path / f"out.{ending}").open(newline="") as file:
            head, *lines = csv.reader(file, delimiter=delimiter)
        assert head == table.names
        assert lines == [[str(value) for value in row] for row in wanted]
    objects = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert objects == [{"relation": "reviews", **dict(zip(table.names, row, strict=True))} for row in wanted]
    with closing(sqlite3.connect(tmp_path / "out.db")) as connection:
        assert connection.execute("SELECT * FROM predicted_reviews").fetchall() == wanted
    with duckdb.connect(str(tmp_path / "out.duckdb")) as other:
        assert other.execute("FROM predicted_reviews").fetchall() == wanted
        parquet = other.execute("FROM read_parquet(?)", [str(tmp_path / "out.parquet")])
        assert [column[0] for column in parquet.description or ()] == table.names
        assert parquet.fetchall() == wanted


def test_full_names_and_relations_that_were_defined(shop_run: Path, tmp_path: Path) -> None:
    shutil.copytree(shop_run, tmp_path / "run")
    run = Run.load(tmp_path / "run")
    found = run.predict("sold", 20)
    full = predictions_table(run, "sold", found, full_names=True)
    assert [row[:4] for row in full.rows()] == [one.entities for one in found]
    run.define("liked by", "project[item_code, customer_id](reviews)")
    table = predictions_table(run, "liked by", run.predict("liked by", 20))
    assert table.name == "predicted_liked_by"
    assert table.names == ["item_code", "customer_id", "score", "probability"]
    assert all(isinstance(code, str) and isinstance(customer, int) for code, customer, *_ in table.rows())
    run.define("mixed", "union(project[0, 1](reviews), project[1, 0](reviews))")  # two kinds in a column: names alone
    names = {value for row in predictions_table(run, "mixed", run.predict("mixed", 20)).rows() for value in row[:2]}
    assert all(str(name).startswith(("customers:", "items:")) for name in names)


def test_what_was_never_imported_keeps_its_names(example: Run) -> None:
    table = predictions_table(example, "sold", example.predict("sold", 3))
    assert table.names[:3] == ["seller", "buyer", "item"]
    assert next(table.rows())[:3] == example.predict("sold", 1)[0].entities
