"""Known facts come page by page, each once, with the split part that holds it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import relatum
from relatum import Run
from relatum.resources.facts import FactPage, fact_index, facts_of, offset_of, token_of
from support.mistakes import mistake


def pages(run: Run, **wanted: str) -> list[FactPage]:
    found = [facts_of(run, **wanted, limit=7)]
    while found[-1].next is not None:
        found.append(facts_of(run, **wanted, after=found[-1].next, limit=7))
    return found


def names_of(page: FactPage) -> list[tuple[str, ...]]:
    return [(ref.relation, *(one.name for one in ref.entities)) for ref in page.facts]


@given(st.data())
def test_the_facts_that_are_wanted_come_once_with_their_parts(example: Run, data: st.DataObject) -> None:
    entity = data.draw(st.none() | st.sampled_from(list(example.entities)))
    relation = data.draw(st.none() | st.sampled_from(list(example.schema)))
    role = data.draw(st.none() | st.integers(0, relation.arity - 1)) if entity is not None and relation else None
    wanted = {"entity": entity, "relation": relation and relation.name}
    called = None if role is None or relation is None else data.draw(st.sampled_from([str(role), relation.roles[role]]))
    listed = pages(example, **{name: one for name, one in {**wanted, "role": called}.items() if one is not None})
    held = {fact for fact in set(example.stored) if relation is None or fact[0] == relation.name}
    held = {fact for fact in held if entity is None or entity in (fact[1:] if role is None else (fact[1 + role],))}
    found = [fact for page in listed for fact in names_of(page)]
    assert sorted(found) == sorted(held)
    assert {page.total for page in listed} == {len(held)}
    parts = {part: set(graph) for part, graph in example.split.parts.items()}
    for fact, ref in zip(found, (ref for page in listed for ref in page.facts), strict=True):
        assert ref.source == next(part for part, there in parts.items() if fact in there)
        assert ref.known
        assert fact_index(example).source(example.schema.id(fact[0]), example.entities.ids(fact[1:]).tolist()) == ref.source
    if entity is not None and relation is None:
        assert fact_index(example).count(example.entities.id(entity)) == len(held)


def test_facts_of_a_defined_relation_are_derived(example_run: Path, tmp_path: Path) -> None:
    run = relatum.open(example_run).save(tmp_path / "run")
    run.define("purchase", "permute[1, 0, 2](sold)")
    found = [ref for page in pages(run, relation="purchase") for ref in page.facts]
    assert {tuple(one.name for one in ref.entities) for ref in found} == set(run.table("purchase"))
    assert {ref.source for ref in found} == {"derived"}
    assert facts_of(run, "drew", "purchase", "0").total == facts_of(run, "drew", "sold", "1").total


def test_a_token_is_for_the_same_facts_alone(example: Run) -> None:
    token = facts_of(example, relation="sold", limit=2).next
    with mistake("foreign-token"):
        facts_of(example, "drew", after=token)


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ({"relation": "sould"}, "unknown-name"),
        ({"entity": "nobody"}, "unknown-name"),
        ({"entity": "drew", "relation": "sold", "role": "byer"}, "unknown-name"),
        ({"role": "buyer"}, "option-needs-option"),
        ({"limit": 501}, "over-limit"),
    ],
)
def test_what_is_not_there_is_refused(example: Run, wanted: dict[str, Any], code: str) -> None:
    with mistake(code):
        facts_of(example, **wanted)


@given(st.integers(0, 2**63), st.text(), st.text(max_size=80), st.integers(0, 26), st.characters())
def test_a_token_leads_back_to_its_offset_and_nowhere_else(offset: int, name: str, text: str, at: int, other: str) -> None:
    token = token_of(offset, "facts", name)
    assert offset_of(token, "facts", name) == offset
    assert offset_of(None, "facts", name) == 0
    assert len(token) < 40
    assert re.fullmatch(r"[A-Za-z0-9_-]+", token)  # safe in an address
    for wrong in {text, token[:at] + other + token[at + 1 :]} - {token}:
        with mistake("foreign-token"):
            offset_of(wrong, "facts", name)
    with mistake("foreign-token"):
        offset_of(token, "facts", name + "x")


def test_a_token_has_one_spelling() -> None:
    token = token_of(2**64 - 1, "facts")
    assert "_" in token
    for other in (token.replace("_", "/", 1), token[:-1] + chr(ord(token[-1]) + 1)):
        with mistake("foreign-token"):
            offset_of(other, "facts")
