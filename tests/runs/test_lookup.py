"""Looking around in a run or a dataset: relations and their questions, entities by name, entities by likeness."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from relatum.api import Run
from relatum.data.column_types import ColumnType
from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.schema import RelationSchema
from relatum.runs.answers import parse_question
from relatum.runs.lookup import describe_relations, find_entities, similar_entities

FACTS = [
    ("sold", "Drew", "alex", "green tea"),
    ("sold", "Drew", "kim", "tea"),
    ("sold", "kim", "Drew", "Teapot"),
    ("likes", "kim", "iced_tea"),
    ("likes", "kim", "tea"),
    ("likes", "Drew", "steak"),
]
SCHEMA = [RelationSchema("sold", 3, ("seller", "buyer", "item")), RelationSchema("likes", 2)]


def split_of(facts: list[tuple[str, ...]], held_out: int = 1, **more: object) -> Split:
    whole = Hypergraph.of(facts, SCHEMA if facts is FACTS else ())
    rows = {arity: (np.array(block.relations), np.array(block.columns)) for arity, block in whole.blocks.items()}

    def part(first: bool) -> Hypergraph:
        cut = [
            (relations[held_out:], columns[:, held_out:]) if first else (relations[:held_out], columns[:, :held_out])
            for relations, columns in rows.values()
        ]
        return Hypergraph.sort(whole.entities, whole.schema, cut)

    empty = Hypergraph.sort(whole.entities, whole.schema, [])
    return Split(part(True), empty, part(False), **more)  # type: ignore[arg-type]


def test_relations_come_with_counts_columns_and_a_fact_of_theirs() -> None:
    types = {"sold": (ColumnType("people"), ColumnType("people"), ColumnType(None, "whole"))}
    found = {one.name: one for one in describe_relations(split_of(FACTS, column_types=types))}
    counts = Counter(fact[0] for fact in FACTS)
    assert {name: one.facts for name, one in found.items()} == counts
    for one in found.values():
        assert (one.name, *(one.example or ())) in FACTS
    assert [str(column) for column in found["sold"].columns] == ["seller: people", "buyer: people", "item: whole"]
    assert [(column.name, column.value_type) for column in found["likes"].columns] == [("0", None), ("1", None)]
    third = {"position": 2, "role": "item", "entity_type": None, "value_type": "whole"}
    assert found["sold"].to_dict()["columns"][2] == third
    empty = Hypergraph.of([], SCHEMA)
    nothing = [(one.facts, one.example, one.question) for one in describe_relations(Split(empty, empty, empty))]
    assert nothing == [(0, None, None)] * 2


@pytest.mark.parametrize("name", ['a "quoted" b', "it's", "a, b", "x(y)=z", "?", " pad ", "back\\slash", "-dash", "$HOME"])
def test_a_question_reads_back_to_the_example_with_one_position_open(name: str) -> None:
    split = split_of([(name, "q1", name, "q3"), (name, "q2", name, "q3")])
    (one,) = describe_relations(split)
    question = parse_question(one.question or "", split.schema)
    assert one.example is not None
    assert len(question.open) == 1
    assert question.relation == name
    assert question.open == [0]  # the column with most to choose from
    assert [given for given in question.arguments if given is not None] == list(one.example[1:])


def test_every_question_of_a_run_has_its_example_among_the_known_answers(example: Run) -> None:
    trained_relations = describe_relations(example)
    assert {one.name for one in trained_relations} == {relation.name for relation in example.schema}
    for one in trained_relations:
        assert one.question is not None
        assert one.example is not None
        (position,) = parse_question(one.question, example.schema).open
        known = [answer.entity for answer in example.complete(one.question, k=100) if answer.known]
        assert one.example[position] in known


def test_names_are_graded_exact_prefix_word_substring_spelling() -> None:
    found = find_entities(split_of(FACTS), "TEA")
    assert [(one.name, one.match) for one in found] == [
        ("tea", "exact"),
        ("Teapot", "prefix"),
        ("green tea", "word"),
        ("iced_tea", "word"),
        ("steak", "substring"),
    ]
    assert [(one.name, one.match) for one in find_entities(split_of(FACTS), "drow")] == [("Drew", "spelling")]
    assert find_entities(split_of(FACTS), "zzzzzz") == []
    assert len(find_entities(split_of(FACTS), "tea", k=2)) == 2


def test_columns_and_counts_are_those_of_a_plain_count() -> None:
    for match in find_entities(split_of(FACTS), "", k=100):
        places: Counter[tuple[str, str]] = Counter()
        for relation, *entities in FACTS:
            roles = ("seller", "buyer", "item") if relation == "sold" else ("0", "1")
            places.update((relation, role) for role, one in zip(roles, entities, strict=True) if one == match.name)
        assert {(at.relation, at.column): at.facts for at in match.columns} == places
        assert match.facts == sum(match.name in fact[1:] for fact in FACTS)


def test_the_value_of_an_imported_name_counts_as_the_name() -> None:
    facts = [("sold", "people:kim", "items:tea"), ("sold", "people:tea lover", "items:steak")]
    types = {"sold": (ColumnType("people"), ColumnType("items"))}
    found = find_entities(split_of(facts, column_types=types), "tea")
    assert [(one.name, one.match) for one in found] == [
        ("items:tea", "exact"),
        ("people:tea lover", "prefix"),
        ("items:steak", "substring"),
    ]


def test_similarity_is_the_cosine_of_rows_from_their_mean(example: Run) -> None:
    entities = example.model.graph.entities
    table = example.tables["entities"].numpy(force=True).astype(float)
    table = table - table.mean(0)
    own = entities.id("drew")
    expected = {
        name: float(table[n] @ table[own] / np.sqrt((table[n] @ table[n]) * (table[own] @ table[own])))
        for n, name in enumerate(entities)
        if n != own
    }
    found = similar_entities(example, "drew", k=1000)
    assert [one.name for one in found] == sorted(expected, key=lambda name: -expected[name])
    assert [one.similarity for one in found] == pytest.approx([expected[one.name] for one in found])
    assert similar_entities(example, "drew", k=2) == found[:2]
    assert found[0].to_dict() == {
        "name": found[0].name,
        "similarity": found[0].similarity,
        "entity_type": None,
        "interval": None,
    }


def test_entities_of_the_same_type_come_first_and_one_is_known_by_its_value(shop_run: Path) -> None:
    run = Run.load(shop_run)
    entity = next(name for name in run.model.graph.entities if ":" in name)
    own = entity.partition(":")[0]
    found = similar_entities(run, entity, k=10_000)
    same = [one.entity_type == own for one in found]
    assert same == sorted(same, reverse=True)
    assert all(one.name.startswith(f"{own}:") == (one.entity_type == own) for one in found)
    assert len({one.entity_type for one in found}) > 1
    values = Counter(name.partition(":")[2] for name in run.model.graph.entities if ":" in name)
    name = next(one for one in run.model.graph.entities if values[one.partition(":")[2]] == 1)
    assert similar_entities(run, name.partition(":")[2], k=3) == similar_entities(run, name, k=3)
