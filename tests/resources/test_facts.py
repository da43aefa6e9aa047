"""Known facts come page by page, each once, with the split part that holds it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import relatum
from relatum import DataError, Run, SettingError, UnknownNameError
from relatum.resources.facts import FactPage, fact_index, facts_of, offset_of, token_of
from support.mistakes import mistake


def pages(run: Run, **wanted: str) -> list[FactPage]:
    found = [facts_of(run, **wanted, limit=7)]
    while found[-1].next is not None:
        found.append(facts_of(run, **wanted, after=found[-1].next, limit=7))
    return found


def test_all_facts_come_once(example: Run) -> None:
    found = [(ref.relation, *(one.name for one in ref.entities)) for page in pages(example) for ref in page.facts]
    assert sorted(found) == sorted(set(example.stored))
    assert len(found) == facts_of(example).total


def test_a_fact_says_which_part_holds_it(example: Run) -> None:
    parts = {part: set(graph) for part, graph in example.split.parts.items()}
    for page in pages(example):
        for ref in page.facts:
            fact = (ref.relation, *(one.name for one in ref.entities))
            assert ref.source == next(part for part, held in parts.items() if fact in held)
            assert ref.known


def test_facts_of_an_entity_are_all_that_have_it(example: Run) -> None:
    wanted = {fact for fact in set(example.stored) if "drew" in fact[1:]}
    found = {(ref.relation, *(e.name for e in ref.entities)) for page in pages(example, entity="drew") for ref in page.facts}
    assert found == wanted
    assert facts_of(example, "drew").total == len(wanted) == fact_index(example).count(example.entities.id("drew"))


def test_facts_of_an_entity_at_a_role(example: Run) -> None:
    page = facts_of(example, "drew", "sold", "buyer", limit=500)
    assert page.role == "buyer"
    assert page.total == sum(fact[1] == "drew" for fact in set(example.table("sold")))
    assert all(ref.entities[1].name == "drew" for ref in page.facts)
    assert facts_of(example, "drew", "sold", "1", limit=500) == page


def test_facts_of_tables_are_found_by_label(tables: Run) -> None:
    page = facts_of(tables, "customer 7")
    assert page.entity is not None
    assert page.entity.name == "customers:7"
    assert page.total > 0


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
    ("wanted", "error"),
    [
        ({"relation": "sould"}, UnknownNameError),
        ({"entity": "nobody"}, UnknownNameError),
        ({"entity": "drew", "relation": "sold", "role": "byer"}, UnknownNameError),
        ({"role": "buyer"}, SettingError),
        ({"limit": 501}, SettingError),
    ],
)
def test_what_is_not_there_is_refused(example: Run, wanted: dict[str, str], error: type[Exception]) -> None:
    with pytest.raises(error):
        facts_of(example, **wanted)  # type: ignore[arg-type]


def test_the_index_knows_the_part_of_a_fact(example: Run) -> None:
    index = fact_index(example)
    for relation, schema in enumerate(example.model.schema):
        for fact in example.split.test.table(schema.name).columns.T.tolist():
            names = tuple(example.entities[one] for one in fact)
            expected = next(part for part, graph in example.split.parts.items() if names in set(graph.table(schema.name)))
            assert index.source(relation, fact) == expected
    assert index.source(0, [0] * example.model.schema[0].arity) in (None, "train", "valid", "test")


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
    with pytest.raises(DataError):
        offset_of(token, "facts", name + "x")


def test_a_token_has_one_spelling() -> None:
    token = token_of(2**64 - 1, "facts")
    assert "_" in token
    for other in (token.replace("_", "/", 1), token[:-1] + chr(ord(token[-1]) + 1)):
        with mistake("foreign-token"):
            offset_of(other, "facts")
