"""Where a library is missing, the extra is named that brings all that a source needs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import relatum
from relatum.errors import RelatumError

EXTRAS = {
    "postgresql://nobody@127.0.0.1:9/none": "postgres",
    "mysql://nobody@127.0.0.1:9/none": "mysql",
    "items.xlsx": "excel",
    "items.csv": "io",
}


@pytest.mark.parametrize(("source", "extra"), EXTRAS.items())
def test_a_missing_library_is_named_with_the_extra_of_the_source(
    source: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("a,b\n1,2\n")
    for library in ("duckdb", "psycopg", "pymysql", "python_calamine"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(RelatumError, match=rf"is not installed; install it with: pip install 'relatum\[{extra}\]'$"):
        relatum.read([source, "items.csv"])
