"""`relatum explain`, `complete --why` and `doubt`: rules with their facts, what speaks against a fact, and similar facts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.command_line import Relatum


def test_a_fact_is_explained_in_words_and_as_json(example_run: Path, run: Relatum) -> None:
    code, out, _ = run("explain", str(example_run), "sold(drew, alex, book)")
    assert code == 0
    assert "likely, above" in out
    assert "<- " in out
    code, out, _ = run("explain", str(example_run), "sold(drew, alex, tea)")
    assert "most similar" in out
    code, out, _ = run("explain", str(example_run), "sold(drew, drew, book)", "--json")
    plain = json.loads(out)
    assert code == 0
    assert set(plain) == {
        "fact",
        "known",
        "probability",
        "percentile",
        "interval",
        "stored",
        "reasons",
        "against",
        "similar",
    }
    assert "same seller and buyer" in plain["against"][0]


def test_answers_come_with_reasons_if_asked_for(example_run: Path, run: Relatum) -> None:
    code, out, _ = run("complete", str(example_run), "sold(drew, ?, book)", "--new", "-k", "3", "--why")
    assert code == 0
    assert out.count("names buyer") + out.count("no rule speaks") >= 3
    code, out, _ = run("complete", str(example_run), "sold(drew, ?, book)", "-k", "2", "--why", "--json")
    answers = json.loads(out)["answers"]
    assert [("reasons" in one) for one in answers] == [not one["known"] for one in answers]


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
