"""`relatum sql` on the command line: tables, JSON, files, standard input, and mistakes in one line."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from support.command_line import Relatum
from support.mistakes import code_of

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


def test_queries_with_joins_are_answered_by_query_too(run: Relatum, gappy_run: Path) -> None:
    joined = 'project[1, 2](join[0 = 0](ratings, "customers.city"))'
    code, out, _ = run("query", str(gappy_run), joined, "-k", "3", "--json")
    assert code == 0
    assert [row["known"] for row in json.loads(out)["rows"]] == [True] * 3


def test_a_query_is_read_from_anywhere(
    run: Relatum, gappy_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "query.sql").write_text(f"-- one\n{QUERY};\n", encoding="utf-8-sig")
    _, given, _ = run("sql", str(gappy_run), QUERY, "--json")
    _, of_file, _ = run("sql", str(gappy_run), "--file", str(tmp_path / "query.sql"), "--json")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(QUERY.encode()), encoding="utf-8"))
    _, piped, _ = run("sql", str(gappy_run), "-", "--json")
    assert json.loads(given)["rows"] == json.loads(of_file)["rows"] == json.loads(piped)["rows"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe"), encoding="utf-8"))
    code, _, err = run("sql", str(gappy_run), "-")
    assert (code, code_of(err)) == (2, "not-utf8")


def test_a_coverage_is_promised_and_one_that_cannot_be_is_refused(run: Relatum, gappy_run: Path) -> None:
    query = "SELECT country FROM customers WHERE id = 3"
    code, out, err = run("sql", str(gappy_run), query, "--coverage", "0.9")
    assert (code, err) == (0, "")
    assert "a set of 1 answers" in out
    assert "90 % of such sets hold the missing answer" in out
    code, out, _ = run("query", str(gappy_run), "(customers.country)(3, ?)", "--coverage", "0.9", "--json")
    assert code == 0
    assert json.loads(out)["coverage"]["coverage"] == 0.9
