"""`relatum doubt`: what people see and what programs read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.command_line import Relatum


@pytest.fixture
def store(run: Relatum, tmp_path: Path) -> str:
    """Return the directory of a run on a store with one wrong genre."""
    lines = [f"track\tt{a}-{t}\ta{a}\tg{2 if (a, t) == (3, 1) else a % 5}" for a in range(20) for t in range(6)]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "data" / "roles.txt").write_text("track\tid\talbum\tgenre\n")
    folder = str(tmp_path / "run")
    code, _, err = run("train", "--data", str(tmp_path / "data"), "--out", folder, "--set", "training.epochs=2")
    assert code == 0, err
    return folder


def test_doubt_lists_the_wrong_fact_and_why(run: Relatum, store: str) -> None:
    code, out, err = run("doubt", store, "-k", "1", "--why")
    assert code == 0, err
    assert "track(t3-1, a3, g2)" in out
    assert "for g3: 5 facts by track(A, B, C) <- track(_, B, C), right " in out
    assert "- track(t3-0, a3, g3)" in out
    assert "for g2" in out
    code, out, _ = run("doubt", store, "--relation", "track", "--json")
    assert code == 0
    first = json.loads(out)["doubtful"][0]
    assert (first["entities"], first["role"], first["stored"], first["expected"]) == (
        ["t3-1", "a3", "g2"],
        "genre",
        "g2",
        "g3",
    )
    assert first["reasons"][0]["facts"]


def test_where_nothing_is_doubtful_it_says_so(run: Relatum, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.txt").write_text("likes\ta\tb\nlikes\tb\ta\n")
    options = ("--data", str(tmp_path / "data"), "--out", str(tmp_path / "run"), "--set", "training.epochs=1")
    assert run("train", *options)[0] == 0
    code, out, _ = run("doubt", str(tmp_path / "run"))
    assert (code, out) == (0, "no known fact is doubtful\n")


def test_of_tables_doubt_lists_cells(run: Relatum, gappy_run: Path) -> None:
    code, out, err = run("doubt", str(gappy_run), "-k", "1")
    assert code == 0, err
    code, plain, _ = run("doubt", str(gappy_run), "--json", "-k", "1")
    (cell,) = json.loads(plain)["cells"]
    assert code == 0
    assert all(str(cell[name]) in out for name in ("table", "column", "stored", "expected"))
