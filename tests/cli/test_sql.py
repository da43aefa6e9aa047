"""`relatum sql`: a query as an argument, from standard input or a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from relatum.cli.sql import sql
from relatum.errors import SettingError
from relatum.sql.refusals import SqlError

app = typer.Typer()
app.command()(sql)


def called(*arguments: str, text: str | bytes | None = None) -> str:
    found = CliRunner().invoke(app, list(arguments), input=text, catch_exceptions=False)
    return found.output


QUERY = "SELECT seller FROM sold WHERE item = 'coffee'"


def test_a_query_is_read_from_anywhere(trained: str, tmp_path: Path) -> None:
    (tmp_path / "query.sql").write_text(f"-- one\n{QUERY};\n", encoding="utf-8-sig")
    shown = called(trained, QUERY)
    assert shown == called(trained, "-", text=QUERY) == called(trained, "--file", str(tmp_path / "query.sql"))
    assert shown.strip() == "project[seller](select[item = coffee](sold))"
    assert json.loads(called(trained, QUERY, "--json"))["columns"] == ["seller"]


def test_a_mistake_says_where(trained: str, tmp_path: Path) -> None:
    with pytest.raises(SqlError, match=r"^line 1, column 8: unknown column 'seler'; did you mean 'seller'\?$"):
        called(trained, "SELECT seler FROM sold")
    with pytest.raises(SettingError, match="give one query"):
        called(trained)
    with pytest.raises(SettingError, match="give one query"):
        called(trained, QUERY, "--file", str(tmp_path / "query.sql"))
    with pytest.raises(SettingError, match="the query is not UTF-8"):
        called(trained, "-", text=b"\xff\xfe")
