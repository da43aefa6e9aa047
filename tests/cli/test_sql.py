<<<<<<< HEAD
"""`relatum sql` on the command line: tables, JSON, files, standard input, and mistakes in one line."""
=======
"""`relatum sql`: a query as an argument, from standard input or a file."""
>>>>>>> sql

from __future__ import annotations

import json
from pathlib import Path

<<<<<<< HEAD
from support.command_line import Relatum

QUERY = "SELECT item_id FROM ratings WHERE customer_id = 5"


def test_rows_are_shown_as_known_or_predicted(run: Relatum, gappy_run: Path) -> None:
    code, out, _ = run("sql", str(gappy_run), QUERY, "--why")
    assert code == 0
    assert "known" in out
    assert "predicted" in out
    assert "ratings(" in out, "the facts that a row rests on"
    assert "counts at most 99.0 %" in out


def test_json_has_rows_and_witnesses(run: Relatum, gappy_run: Path, tmp_path: Path) -> None:
    file = tmp_path / "query.sql"
    file.write_text(f"{QUERY} AND NOT known LIMIT 3", encoding="utf-8")
    code, out, _ = run("sql", str(gappy_run), "--file", str(file), "--json", "--minimum")
    found = json.loads(out)
    assert code == 0
    assert found["conjunction"] == "minimum"
    assert len(found["rows"]) == 3
    assert all(not row["known"] and row["witness"][0]["relation"] == "ratings" for row in found["rows"])


def test_mistakes_are_one_line_with_their_position(run: Relatum, gappy_run: Path) -> None:
    for query, said in [
        ("SELECT itm_id FROM ratings", "did you mean 'item_id'"),
        ("SELECT item_id FROM rating", "did you mean 'ratings'"),
        ("SELECT COUNT(*) FROM ratings", "line 1, column 8"),
        ("DELETE FROM ratings", "line 1, column 1"),
    ]:
        code, out, err = run("sql", str(gappy_run), query)
        assert (code, out) == (2, "")
        assert said in err
        assert err.count("\n") == 1


def test_queries_with_joins_are_answered_by_query_too(run: Relatum, gappy_run: Path) -> None:
    joined = 'project[1, 2](join[0 = 0](ratings, "customers.city"))'
    code, out, _ = run("query", str(gappy_run), joined, "-k", "3", "--json")
    assert code == 0
    assert [row["known"] for row in json.loads(out)["rows"]] == [True] * 3
    code, _, err = run("query", str(gappy_run), joined, "--mode", "closed")
    assert code == 2
    assert "joins have no closed form" in err
=======
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
>>>>>>> sql
