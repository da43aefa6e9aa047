"""`relatum explain` and `complete --why` show rules with their facts, what speaks against a fact, and similar ones."""

from __future__ import annotations

import json
from pathlib import Path

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
