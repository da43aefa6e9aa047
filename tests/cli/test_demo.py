"""The demo runs to its end, step by step, finds what was taken out and what is wrong, and leaves a page to open."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from relatum.api import Run
from relatum.cli.demo import true_value
from support.command_line import Relatum
from support.mistakes import code_of

README = Path(__file__).parents[2] / "README.md"


def _without_numbers(line: str) -> str:
    """Return the words of a line: numbers may differ a little from machine to machine, spaces and quotes with them."""
    return " ".join(re.sub(r"\d[\d,.]*|─+", "0", line.replace("'", "")).split())


def test_the_demo_shows_every_step_and_finds_what_was_taken_out(
    run: Relatum, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    folder = tmp_path / "the demo"
    code, out, _ = run("demo", "--out", str(folder))
    assert code == 0
    for verb in ("import", "train", "fill", "complete", "doubt", "rules", "report"):
        assert f"$ relatum {verb} " in out
    assert "UPDATE countries SET region = 'Western Africa' WHERE name = 'Vietnam';" in out
    assert "region determines continent, in 99.5 % of 191 rows" in out
    assert "- borders(Germany, France)" in out
    assert "relatum import shop.db" in out
    shown = [_without_numbers(line.replace(str(folder), "relatum-demo")) for line in out.splitlines()]
    for line in README.read_text().split("A part of what it prints:\n\n```\n")[1].split("\n```\n")[0].splitlines():
        if not line.startswith(("  2 ", "  3 ", "  ...")):  # what comes after the first answer is not sure to
            assert _without_numbers(line) in shown
    page = folder / "run" / "report.html"
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert str(page) in out

    trained = Run.load(folder / "run")
    cells = trained.fill()
    right = [
        one for one in cells if one.interval is not None or one.value == true_value(one.table, one.column, dict(one.row))
    ]
    assert len(cells) == 8
    assert f"{len(right)} of 8 values are what was taken away" in out
    assert len(right) >= 6
    assert all(one.probability < 0.5 for one in cells if one not in right)
    first = trained.complete("borders(France, ?)", k=1, new_only=True)[0]
    assert first.entity == "countries:Germany"
    assert first.probability is not None
    assert first.probability > 0.3
    doubtful = trained.doubt_cells(columns=["countries.region"], k=1)[0]
    assert (dict(doubtful.row), doubtful.stored, doubtful.expected) == (
        {"name": "Vietnam"},
        "Western Africa",
        "South-eastern Asia",
    )


def test_the_demo_leaves_nothing_behind_where_it_cannot_import(
    run: Relatum, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    code, _, err = run("demo", "--out", str(tmp_path / "demo"))
    assert code == 2
    assert code_of(err) == "missing-extra"
    assert not (tmp_path / "demo").exists()
