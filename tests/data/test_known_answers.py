"""Known answers equal a dict of sets, for any arity and any number of levels in the keys."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from relatum import Hypergraph, KnownAnswers, RelationSchema, Schema, Split
from relatum.data import answer_index, known_answers
from relatum.data.vocabulary import Vocabulary
from support.mistakes import mistake
from support.strategies import restrict, splits


def check_against_sets(split: Split) -> None:
    """Ask every question that the facts hold, and compare with a plain search."""
    parts = list(split.parts.values())
    everything = {fact for graph in parts for fact in graph}
    known = KnownAnswers(*parts)
    for arity, block in Hypergraph.union(parts).blocks.items():
        for position in range(arity):
            answers = known.lookup(block.relations, block.columns, position)
            assert len(answers) == len(block)
            questions, entities = answers.pairs()
            for number, (relation, *fact) in enumerate(zip(*block.rows, strict=True)):
                asked = (split.schema[int(relation)].name, *(split.entities[int(entity)] for entity in fact))
                expected = {
                    other[position + 1]
                    for other in everything
                    if (*other[: position + 1], *other[position + 2 :]) == (*asked[: position + 1], *asked[position + 2 :])
                    and len(other) == len(asked)
                }
                found = answers[number]
                assert [split.entities[int(entity)] for entity in found] == sorted(expected, key=split.entities.id)
                assert np.array_equal(entities[questions == number], found)
                assert answers.counts[number] == len(expected)
            assert answers.contain(block.columns[position]).all()
            for entity in range(len(split.entities)):
                asked_for = np.full(len(block), entity, np.int32)
                contained = answers.contain(asked_for).tolist()
                assert contained == [entity in answers[number] for number in range(len(block))]


@given(splits)
def test_lookup_equals_a_plain_search(split: Split) -> None:
    check_against_sets(split)


@given(splits)
def test_keys_may_need_many_levels(split: Split) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answer_index, "LARGEST_KEY", 2**8)  # as if ids were too large for more than a column or two
        check_against_sets(split)


def test_a_key_is_known_only_if_all_its_levels_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_index, "LARGEST_KEY", 2**7)  # three columns of four entities, then one
    chance = np.random.default_rng(0)
    size, arity = 4, 5
    facts = {("r", *(f"e{entity}" for entity in row)) for row in chance.integers(0, size, (30, arity)).tolist()}
    graph = Hypergraph.of(facts)
    every = np.stack(np.meshgrid(*[np.arange(size, dtype=np.int32)] * arity)).reshape(arity, -1)
    relations = np.zeros(every.shape[1], np.int32)
    known = KnownAnswers(graph)
    for position in range(arity):
        answers = known.lookup(relations, every, position)
        for number, asked in enumerate(every.T.tolist()):
            others = [f"e{entity}" for place, entity in enumerate(asked) if place != position]
            expected = {fact[1 + position] for fact in facts if [*fact[1 : 1 + position], *fact[2 + position :]] == others}
            assert {graph.entities[entity] for entity in answers[number].tolist()} == expected


def test_keys_of_real_size_do_not_run_over() -> None:
    """With 2^16 entities, four columns fill 64 bits: packed into one number, the relation would be shifted out of it."""
    entities = Vocabulary([f"e{number:05}" for number in range(2**16)])
    schema = Schema([RelationSchema("r", 6), RelationSchema("s", 6)])
    columns = np.array([[7, 7], [1, 1], [2, 2], [3, 3], [65_535, 65_535], [4, 5]], np.int32)
    known = KnownAnswers(Hypergraph.sort(entities, schema, [(np.array([0, 1], np.int32), columns)]))
    asked = np.concatenate([columns, columns[:, :1] + np.array([[1], [0], [0], [0], [0], [0]], np.int32)], axis=1)
    answers = known.lookup(np.array([0, 1, 0], np.int32), asked, 5)
    assert [answers[number].tolist() for number in range(3)] == [[4], [5], []]


def test_a_question_nobody_can_answer_has_no_answers() -> None:
    graph = Hypergraph.of([("sold", "drew", "alex", "book"), ("buyer", "alex", "book")])
    known = KnownAnswers(graph)
    drew, alex, book = graph.entities.ids(["drew", "alex", "book"])
    sold = graph.schema.names.ids(["sold"])
    assert len(known.lookup(sold, np.array([[alex], [-1], [book]], np.int32), 1)[0]) == 0
    assert known.lookup(sold, np.array([[drew], [-1], [book]], np.int32), 1)[0].tolist() == [alex]
    none = known.lookup(sold, np.zeros((7, 1), np.int32), 3)  # of an arity that no fact has
    assert none.counts.tolist() == none.starts.tolist() == [0]
    assert len(none.pool) == 0
    assert none.contain(book[None]).tolist() == [False]
    assert len(known.lookup(sold[:0], np.zeros((3, 0), np.int32), 0)) == 0
    assert known.nbytes < 1000


def test_ids_that_name_nothing_are_refused() -> None:
    graph = Hypergraph.of([("sold", "drew", "alex", "book")])
    with mistake("mismatched-parts"):
        KnownAnswers(graph).lookup(np.array([0], np.int32), np.array([[3], [0], [0]], np.int32), 2)


@given(splits)
def test_answers_about_some_facts_are_those_of_all(split: Split) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_answers, "_PIECE", 3)
        some, every = KnownAnswers.about(split.valid, split.train, split.valid), KnownAnswers(split.train, split.valid)
    for arity, block in split.valid.blocks.items():
        for position in range(arity):
            found, expected = (known.lookup(block.relations, block.columns, position) for known in (some, every))
            assert all(
                np.array_equal(mine, all_of_them) for mine, all_of_them in zip(found.pairs(), expected.pairs(), strict=True)
            )
    assert some.nbytes <= every.nbytes


def test_answers_about_some_facts_answer_no_other_question() -> None:
    """A fact answers a question of another one if the two differ at one position alone, whichever that is."""
    facts = [
        ("r", *"abc"),
        ("r", *"xbc"),
        ("r", *"axc"),
        ("r", *"abx"),
        ("r", *"xxc"),
        ("r", *"xxx"),
        ("s", *"abc"),
        ("t", *"ab"),
    ]
    graph = Hypergraph.of(facts)
    asked = restrict(graph, [("r", *"abc")])
    known = KnownAnswers.about(asked, graph)
    plain = KnownAnswers(restrict(graph, facts[:4]))
    assert known.nbytes == plain.nbytes
    for arity, block in graph.blocks.items():
        for position in range(arity):
            found, expected = (one.lookup(block.relations, block.columns, position) for one in (known, plain))
            assert [found[number].tolist() for number in range(len(block))] == [
                expected[number].tolist() for number in range(len(block))
            ]
