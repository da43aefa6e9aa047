"""Where a library is missing, the extra is named that brings all that a source or a target needs, before any work."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import relatum
from relatum.tables.targets import target_of
from support.mistakes import mistake

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
