"""Bad input and bad options: one line, exit code 2, nothing written, nothing lost."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb
import pytest

from relatum.errors import RelatumError
from relatum.tables import read
from support.command_line import Relatum
from support.mistakes import code_of

GOOD = "seller,buyer,item\n" + "\n".join(f"s{n % 3},b{n % 4},i{n % 5}" for n in range(20)) + "\n"


def make(folder: Path, name: str, content: bytes | str) -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def database(folder: Path, script: str) -> str:
    connection = sqlite3.connect(folder / "d.db")
    connection.executescript(script)
    connection.close()
    return str(folder / "d.db")


def truncated_parquet(folder: Path) -> str:
    whole = folder / "whole.parquet"
    duckdb.sql("SELECT i % 3 AS a, i % 4 AS b FROM range(1000) t(i)").write_parquet(str(whole))
    return make(folder, "t.parquet", whole.read_bytes()[:-20])


def nested_parquet(folder: Path) -> str:
    duckdb.sql("SELECT [i % 3] AS a, {'x': i} AS b FROM range(10) t(i)").write_parquet(str(folder / "n.parquet"))
    return str(folder / "n.parquet")


def damaged_sqlite(folder: Path) -> str:
    path = Path(database(folder, "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 2);"))
    path.write_bytes(path.read_bytes()[:100] + os.urandom(4096))
    return str(path)


def damaged_duckdb(folder: Path) -> str:
    return make(folder, "d.duckdb", os.urandom(8) + b"DUCK" + b"\1" * 12000)


def fifo(folder: Path) -> str:
    os.mkfifo(folder / "pipe.csv")
    return str(folder / "pipe.csv")


NOWHERE = "CREATE TABLE sales (item INTEGER REFERENCES {} ({}), buyer TEXT); CREATE TABLE items (id INTEGER PRIMARY KEY); "
NOWHERE += "INSERT INTO sales VALUES (1, 'a'), (1, 'b'), (2, 'a'), (2, 'b');"

NAMED = "CREATE TABLE t ('{}' TEXT, b TEXT); INSERT INTO t VALUES (1, 2), (1, 2), (1, 3), (2, 3);"
BAD_TEXT = "INSERT INTO t VALUES (CAST(x'ff' AS TEXT), 'b');"

# What is in a file of a name: the code of the mistake, and what is said of the place.
FILES: dict[str, tuple[str, str | bytes, str, str]] = {
    "empty file": ("x.csv", "", "empty-file", ""),
    "header alone": ("x.csv", "a,b\n", "no-relations", ""),
    "blank name in the header": ("x.csv", "a,,c\n1,2,3\n", "unusable-name", "x.csv:1"),
    "duplicate column": ("x.csv", "a,b,a\n1,2,3\n", "unusable-name", "'a'"),
    "one column": ("x.csv", "a\n1\n2\n", "one-column", ""),
    "too few fields": ("x.csv", GOOD + "s1,b1\n", "too-few-columns", "x.csv:22"),
    "too many fields": ("x.csv", GOOD + "a,b,c,d\n", "too-few-columns", "x.csv:22"),
    "an open quote": ("x.csv", GOOD + 's1,"b1,i1\n', "open-quote", ""),
    "an open quote in the header": ("x.csv", 'a,"b\n1,2\n', "unreadable-text", "x.csv:1"),
    "latin-1": ("x.csv", GOOD.encode() + "s1,é,i1\n".encode("latin-1"), "wrong-encoding", ""),
    "utf-16": ("x.csv", GOOD.encode("utf-16"), "not-utf8", ""),
    "binary as csv": ("x.csv", b"\0\1\2\3,\0\n" * 9, "nul-bytes", ""),
    "a spreadsheet": ("x.xlsx", "PK", "not-a-workbook", ""),
    "unknown ending": ("x.dat", "a,b\n", "unknown-file-type", ""),
    "not Parquet": ("x.parquet", "hello, world, this is not it", "database-refused", "x.parquet"),
    "not a database": ("x.db", "hello", "not-a-database", ""),
    "SQLite head alone": ("x.db", b"SQLite format 3\0", "database-refused", "x.db"),
    "no whole row": ("x.csv", "a,b\n" + "1,\n,2\n3,\n,4\n" * 9, "no-relations", ""),
    "broken JSON": ("x.jsonl", '["r", "a"]\n{"relation": \n', "not-json", "x.jsonl:2"),
    "nested JSON": ("x.jsonl", '{"relation": "r", "a": {"b": 1}, "c": 2}\n', "nested-entity", "'a'"),
    "JSON without relation": ("x.jsonl", '{"a": "1", "b": "2"}\n', "no-relation-key", ""),
    "a number as relation": ("x.jsonl", '[1, "a"]\n', "bad-json-line", ""),
    "JSON without entities": ("x.jsonl", '["r"]\n', "no-entities", ""),
    "a JSON text": ("x.jsonl", '"r"\n', "not-a-fact", ""),
    "another arity": ("x.jsonl", '["r", "a"]\n["r", "a", "b"]\n', "two-arities", ":2"),
    "roles and none": ("x.jsonl", '["r", "a"]\n{"relation": "r", "x": "a"}\n', "bad-json-line", ""),
    "a JSON key twice": ("x.jsonl", '{"relation": "r", "a": "1", "a": "2"}\n', "bad-json-line", ""),
    "not a number in JSON": ("x.jsonl", '["r", NaN]\n', "bad-json-line", "NaN"),
    "deep JSON": ("x.jsonl", "[" * 100_000 + "\n", "bad-json-line", "x.jsonl:1"),
    "empty JSON lines": ("x.jsonl", "\n", "empty-file", ""),
}
SOURCES: dict[str, tuple[Callable[[Path], str], str, str]] = {
    "no such file": (lambda f: str(f / "none.csv"), "no-such-file", ""),
    "a directory": (lambda f: str(f), "not-a-file", ""),
    "a pipe": (fifo, "not-a-file", ""),
    "a cut Parquet file": (truncated_parquet, "database-refused", "t.parquet"),
    "nested columns alone": (nested_parquet, "no-relations", ""),
    "damaged SQLite": (damaged_sqlite, "database-refused", "d.db"),
    "damaged DuckDB": (damaged_duckdb, "database-refused", "d.duckdb"),
    "no tables": (lambda f: database(f, "CREATE TABLE t (a); DROP TABLE t;"), "no-tables", ""),
    "key to no table": (lambda f: database(f, NOWHERE.format("nowhere", "id")), "dangling-foreign-key", "'nowhere'"),
    "key to no column": (lambda f: database(f, NOWHERE.format("items", "x")), "dangling-foreign-key", "'x'"),
    "bad text in SQLite": (lambda f: database(f, NAMED.format("a") + BAD_TEXT), "database-refused", ""),
    "a tab in a column's name": (lambda f: database(f, NAMED.format("a\t")), "unusable-name", ""),
    "a number as a column's name": (lambda f: database(f, NAMED.format("7")), "duplicate-role", ""),
    "a web address": (lambda f: "https://user:pw@example.org/x.csv", "unknown-server", ""),
    "a server that is down": (lambda f: "postgresql://u:hidden@127.0.0.1:1/x", "database-refused", "127.0.0.1"),
    "a bad URL": (lambda f: "postgresql://[::1/x", "database-refused", ""),
    "a slash in a password": (lambda f: "postgresql://u:hid/hidden@127.0.0.1/x", "url-characters", ""),
    "an at sign in a password": (lambda f: "postgresql://u:hidden@hidden@127.0.0.1/x", "url-characters", ""),
    "a password as a parameter": (lambda f: "postgresql://127.0.0.1:1/x?password=hidden", "database-refused", "127.0.0.1"),
    **{name: (partial(make, name=file, content=text), code, said) for name, (file, text, code, said) in FILES.items()},
}


def contents(folder: Path) -> dict[str, str]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


@pytest.mark.parametrize("case", SOURCES)
def test_a_broken_source_is_one_line_and_leaves_nothing(run: Relatum, tmp_path: Path, case: str) -> None:
    maker, mistaken, word = SOURCES[case]
    source = maker(tmp_path)
    before = contents(tmp_path)
    code, out, err = run("import", source, "--out", str(tmp_path / "made"))
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert code_of(err) == mistaken
    assert word in err
    assert "hidden" not in err
    assert "pw" not in err
    assert contents(tmp_path) == before
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--table", "sale"), "unknown-name"),
        (("--columns", "sales=seller,seller"), "not-chosen"),
        (("--columns", "sales"), "bad-option-form"),
        (("--columns", "sales=seller,buyer", "--columns", "sales=item"), "given-twice"),
        (("--keep", "sales.seler"), "unknown-name"),
        (("--keep", "seller", "--drop", "sales.seller"), "contradictory-options"),
        (("--drop", "seller", "--drop", "buyer"), "no-relations"),
        (("--relation", "sales=#sold"), "relation-like-comment"),
        (("--link", "seller=sales.persn"), "unknown-name"),
        (("--link", "seller=sales"), "bad-link"),
        (("--shape", "sales"), "bad-option-form"),
        (("--sql", "q=SELECT sale FROM sales; SELECT 1"), "bad-query"),
        (("--sql", "=SELECT 1"), "bad-query"),
        (("--bins", "many"), "setting-out-of-range"),
        (("--bins", "item=3"), "text-bins"),
        (("--null", "maybe"), "setting-out-of-range"),
        (("--valid", "0.6", "--test", "0.5"), "nothing-to-train"),
        (("--valid", "-0.1"), "setting-out-of-range"),
        (("sales.csv",), "two-tables-one-name"),
        (("items.csv", "--table", "sales", "--columns", "items=id"), "not-chosen"),
    ],
)
def test_a_wrong_option_is_one_line_and_leaves_nothing(
    run: Relatum, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path, "sales.csv", GOOD)
    make(tmp_path, "items.csv", "id,category\n1,a\n2,b\n")
    code, out, err = run("import", "sales.csv", *arguments, "--out", "made")
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert code_of(err) == said
    assert {path.name for path in tmp_path.iterdir()} == {"sales.csv", "items.csv"}


def test_a_directory_that_is_not_empty_is_refused_before_anything_is_read(run: Relatum, tmp_path: Path) -> None:
    code, _, err = run("import", str(tmp_path / "none.csv"), "--out", make(tmp_path, "mine", "mine"))
    assert code == 2
    assert code_of(err) == "directory-not-empty"
    assert (tmp_path / "mine").read_text() == "mine"


@pytest.mark.parametrize(
    ("source", "options"), [([], {}), (17, {}), ({"a": None}, {}), ("x.csv", {"bin": 3}), ("x.csv", {"keep": "a"})]
)
def test_what_cannot_be_read_in_python_is_one_sentence(source: object, options: dict[str, object]) -> None:
    with pytest.raises(RelatumError) as caught:
        read(source, **options)
    assert "\n" not in str(caught.value)
