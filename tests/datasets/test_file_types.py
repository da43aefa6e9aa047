"""Files of tables are told from files of facts, and refused with the call that reads them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import relatum
from relatum.datasets.file_types import database_in
from support.mistakes import mistake
from support.small_tables import sqlite_of


def test_a_database_is_refused_with_the_call_that_reads_it(tmp_path: Path) -> None:
    path = sqlite_of(tmp_path / "shop.db", "CREATE TABLE sold (seller TEXT, buyer TEXT)")
    assert database_in(path) == "sqlite"
    with mistake("not-facts") as caught:
        relatum.load(path)
    assert f'relatum.read("{path}")' in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("sales.csv", b"seller,buyer,item\nann,bob,book\n", "a table of comma-separated values"),
        ("sales.CSV.gz", gzip.compress(b"seller,buyer\n", mtime=0), "a table of comma-separated values"),
        ("sales.jsonl", b'{"relation": "sold"}\n', "a file of JSON lines"),
        ("facts.txt", b"PAR1....", "a Parquet file"),
        ("facts", b"12345678DUCK....", "a DuckDB database"),
    ],
)
def test_other_files_of_tables_are_refused_too(tmp_path: Path, name: str, content: bytes, found: str) -> None:
    (tmp_path / name).write_bytes(content)
    with mistake("not-facts") as caught:
        relatum.load(tmp_path / name)
    assert found in caught.value.reason


@pytest.mark.parametrize("name", ["facts.csv", "facts", "facts.tsv", "facts.jsonl"])
def test_facts_are_read_whatever_their_file_is_called(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"sold\tann\tbob\n")
    assert list(relatum.load(tmp_path / name).train) == [("sold", "ann", "bob")]


def test_a_url_is_refused_without_its_password() -> None:
    with mistake("not-facts") as caught:
        relatum.load("postgresql://ann:secret@localhost/shop")
    assert "secret" not in str(caught.value)
