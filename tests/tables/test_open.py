"""Where a library is missing, the extra is named that brings all that a source or a target needs, before any work."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import relatum
from relatum.tables.targets import target_of
from support.mistakes import mistake

EXTRAS = {
    "postgresql://nobody@127.0.0.1:9/none": "postgres",
    "mysql://nobody@127.0.0.1:9/none": "mysql",
    "items.xlsx": "excel",
    "items.csv": "io",
}
TARGETS = {
    "postgresql://nobody@127.0.0.1:9/none": "postgres",
    "mysql://nobody@127.0.0.1:9/none": "mysql",
    "new.parquet": "io",
    "new.duckdb": "io",
}


@pytest.mark.parametrize(("source", "extra"), EXTRAS.items())
def test_a_missing_library_is_named_with_the_extra_of_the_source(
    source: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("a,b\n1,2\n")
    for library in ("duckdb", "psycopg", "pymysql", "python_calamine"):
        monkeypatch.setitem(sys.modules, library, None)
    with mistake("missing-extra") as caught:
        relatum.read([source, "items.csv"])
    assert f"relatum[{extra}]" in caught.value.remedy


@pytest.mark.parametrize(("target", "extra"), TARGETS.items())
def test_a_target_says_what_it_lacks_before_there_is_anything_to_write(
    target: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for library in ("duckdb", "psycopg", "pymysql"):
        monkeypatch.setitem(sys.modules, library, None)
    with mistake("missing-extra") as caught:
        target_of(target)
    assert f"relatum[{extra}]" in caught.value.remedy
