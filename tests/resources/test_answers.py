"""Answers, scores and explanations are what the run says, with references that can be followed."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

import relatum
from relatum import Run
from relatum.resources.answers import complete, explain, score
from support.mistakes import mistake


def test_answers_are_those_of_the_run_with_their_whole_facts(example: Run) -> None:
    found, wanted = complete(example, "sold(drew, ?, book)", 4), example.complete("sold(drew, ?, book)", k=4)
    given = [(tuple(one.name for one in item.entities), item.probability, item.source) for item in found.answers]
    assert given == [(one.entities, one.probability, one.source) for one in wanted]
    assert (found.roles, found.truncated) == (("buyer",), True)
    assert not complete(example, "sold(drew, ?, book)", 1000).truncated
    assert [None if one is None else one.name for one in found.arguments] == ["drew", None, "book"]
    for item in found.answers:
        assert item.fact.text == f"sold(drew, {item.entities[0].name}, book)"
        assert item.fact.known == item.known
        assert item.fact.probability == (1.0 if item.known else item.probability)
    found = complete(example, "sold(seller=drew, buyer=?)", 2)
    assert [item.fact.roles for item in found.answers] == [("seller", "buyer")] * len(found.answers)
    assert found.answers[0].fact.text == f"sold(seller=drew, buyer={found.answers[0].entities[0].name})"


def test_values_and_labels_are_answered_with_whole_names_and_new_answers_with_reasons(tables: Run) -> None:
    found = complete(tables, 'seats(?, ?, "customer 7", ?)', 2)
    assert found.arguments[2] is not None
    assert found.arguments[2].name == "customers:7"
    assert all(item.fact.entities[2].label == "customer 7" for item in found.answers)
    found = complete(tables, "customers.country(?, France)", 5, new_only=True, reasons=2)
    explained = [item for item in found.answers if item.reasons]
    assert explained
    for item in explained:
        assert all(len(item.reasons) <= 2 and one.confidence > 0 for one in item.reasons)
        for one in item.reasons:
            assert all(fact.known and fact.source in ("train", "valid") for fact in one.grounds)


def test_a_set_of_answers_comes_with_its_promise_and_a_score_with_its_source(example: Run) -> None:
    found = complete(example, "sold(drew, ?, book)", coverage=0.7)
    assert found.promise is not None
    assert found.promise == example.complete("sold(drew, ?, book)", coverage=0.7).promise
    found, wanted = score(example, "sold(drew, alex, book)"), example.score("sold(drew, alex, book)")
    assert (found.probability, found.percentile, found.score) == (wanted.probability, wanted.percentile, wanted.score)
    assert found.fact.source == wanted.source


def test_a_fact_is_explained(tables: Run) -> None:
    known = next(iter(tables.split.train.table("customers.country")))
    text = f'customers.country("{known[0]}", "{known[1]}")'
    found = explain(tables, text, 3)
    assert found.scored.fact.known
    assert [one.rule for one in found.reasons] == [
        one.rule.replace("customers.country:", "").replace("customers.city:", "") for one in tables.why(text, k=3)
    ]
    assert all(one.fact.known for one in found.similar)


def test_a_fact_of_a_defined_relation_is_scored_and_explained_by_its_score(example_run: Path, tmp_path: Path) -> None:
    run = relatum.open(example_run).save(tmp_path / "run")
    run.define("purchase", "permute[1, 0, 2](sold)")
    assert explain(run, "purchase(drew, alex, book)").scored == score(run, "purchase(drew, alex, book)")
    assert complete(run, "purchase(drew, ?, book)", 2, reasons=2).answers


@pytest.mark.parametrize(
    ("ask", "text", "given", "code"),
    [
        (complete, "sold(drew, ?", {}, "syntax"),
        (complete, "sold(drew, alex, book)", {}, "nothing-open"),
        (complete, "sould(drew, ?, book)", {}, "unknown-name"),
        (complete, "sold(drewe, ?, book)", {}, "unknown-name"),
        (complete, "(" * 100, {}, "over-limit"),
        (complete, "()" * 100, {}, "syntax"),
        (complete, "x" * 20_000, {}, "over-limit"),
        (complete, "sold(drew, ?, book)", {"k": 1001}, "over-limit"),
        *((complete, "sold(drew, ?, book)", {"k": k}, "setting-out-of-range") for k in (0, -1, True, "3")),
        (complete, "sold(drew, ?, book)", {"reasons": 21}, "over-limit"),
        *(
            (complete, "sold(drew, ?, book)", {"seconds": one}, "setting-out-of-range")
            for one in (0.0, -1.0, nan, inf, 31.0)
        ),
        (score, "sold(drew, ?, book)", {}, "gap-in-fact"),
        (explain, "sold(drew, ?, book)", {}, "gap-in-fact"),
    ],
)
def test_what_cannot_be_answered_is_refused(
    example: Run, ask: Callable[..., object], text: str, given: dict[str, Any], code: str
) -> None:
    with mistake(code):
        ask(example, text, **given)
