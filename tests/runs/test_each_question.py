"""How questions for each of many entities are written, and what is refused in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from relatum import Run, fit
from relatum.runs.each_question import combinations_of, each_question
from support.mistakes import mistake


@pytest.fixture(scope="module")
def run(example_run: Path) -> Run:
    return Run.load(example_run)


@pytest.fixture(scope="module")
def named_alike() -> Run:
    """Return a run whose entities are called as roles are, and as stars and question marks."""
    facts = [("likes", person, item) for person in ("person", "*", "kim") for item in ("item", "?", "tea")]
    return fit(facts[:-1], epochs=1, progress=False)


@pytest.mark.parametrize(
    "question",
    ["sold(*, ?, book)", "sold(seller, ?, book)", "sold(seller=*, item=book, buyer=?)", "sold(0=seller, 2=book, 1=?)"],
)
def test_a_star_or_a_role_s_own_name_varies(run: Run, question: str) -> None:
    found = each_question(run, question)
    assert (found.relation.name, found.position, found.varying, str(found)) == ("sold", 1, (0,), question)
    assert run.entities[found.given[2]] == "book"


@pytest.mark.parametrize(
    ("arguments", "roles"),
    [(("*", None, "book"), {}), (("seller", "?", "book"), {}), ((), {"seller": "*", "buyer": None, "item": "book"})],
)
def test_arguments_say_the_same_as_a_text(run: Run, arguments: tuple[Any, ...], roles: dict[str, Any]) -> None:
    found = each_question(run, "sold", arguments, roles)
    assert (found.position, found.varying, run.entities[found.given[2]]) == (1, (0,), "book")
    assert each_question(run, str(found)).varying == (0,)


def test_in_quotes_a_star_is_an_entity(named_alike: Run) -> None:
    run = named_alike
    with mistake("nothing-varies"):
        each_question(run, 'likes("*", ?)')
    assert len(combinations_of(run, each_question(run, "likes(*, ?)"))) == 3
    with mistake("one-open-position"):
        each_question(run, 'likes(*, "?")')


def test_combinations_are_distinct_and_sorted(run: Run) -> None:
    question = each_question(run, "sold(*, ?, *)")
    combinations = combinations_of(run, question)
    found = [tuple(one) for part in combinations.parts(4) for one in part.T.tolist()]
    assert len(found) == len(combinations)
    expected = sorted({(fact[0], fact[2]) for fact in run.table("sold")})
    assert [(run.entities[seller], run.entities[item]) for seller, _, item in found] == expected
    assert [one for part in combinations.parts(4, 6) for one in part.T.tolist()] == [list(one) for one in found[:6]]


def test_all_entities_are_combined(run: Run) -> None:
    combinations = combinations_of(run, each_question(run, "sold(*, ?, *)"), all_entities=True)
    count = len(run.entities)
    assert len(combinations) == count**2
    found = [(seller, item) for part in combinations.parts(50) for seller, _, item in part.T.tolist()]
    assert found == [(seller, item) for seller in range(count) for item in range(count)]


@pytest.mark.parametrize(
    ("question", "code", "fields"),
    [
        ("solt(*, ?, book)", "unknown-name", {"kind": "relation", "nearest": ("sold",)}),
        ("sold(selller, ?, book)", "unknown-name", {"kind": "entity or role", "nearest": ("seller",)}),
        ("sold(buyer, ?, book)", "misplaced-role", {}),
        ("sold(*, ?, bok)", "unknown-name", {"kind": "entity", "nearest": ("book",)}),
        ('sold("seller", ?, book)', "unknown-name", {"kind": "entity", "nearest": ()}),
        ("sold(drew, ?, book)", "nothing-varies", {"place": "sold(drew, ?, book)"}),
        ("sold(*, alex, book)", "one-open-position", {}),
        ("sold(*, ?, ?)", "one-open-position", {}),
        ("sold(*, ?)", "argument-count", {"place": "'sold(*, ?)', column 10"}),
        ("sold(seller=*, buyer=?)", "argument-count", {}),
        ("sold(seler=*, buyer=?, item=tv)", "unknown-name", {"kind": "role of sold", "nearest": ("seller",)}),
        ("sold(*, ?, book", "syntax", {"place": "'sold(*, ?, book', column 16"}),
        ("sold", "syntax", {"place": "'sold', column 5"}),
    ],
)
def test_a_mistake_is_told_by_its_kind(run: Run, question: str, code: str, fields: dict[str, object]) -> None:
    with mistake(code, **fields):
        each_question(run, question)


@pytest.mark.parametrize(
    ("question", "arguments", "roles", "code"),
    [
        (7, (), {}, "not-a-question"),
        ("sold", ("*", None), {}, "argument-count"),
        ("sold", (), {"seller": "*", "buyer": None}, "argument-count"),
        ("sold", ("*", None, "tv"), {"item": "tv"}, "mixed-arguments"),
        ("sold", (), {"seler": "*"}, "unknown-name"),
    ],
)
def test_so_is_one_in_arguments(
    run: Run, question: object, arguments: tuple[Any, ...], roles: dict[str, Any], code: str
) -> None:
    with mistake(code):
        each_question(run, question, arguments, roles)


def test_what_cannot_be_answered_in_bulk_is_refused(run: Run) -> None:
    mine = Run(run.model, run.parameters, folder=None, spec=run.spec, split=run.split)
    mine.define("got", "project[1, 2](sold)")
    with mistake("defined-relation"):
        each_question(mine, "got(*, ?)")
