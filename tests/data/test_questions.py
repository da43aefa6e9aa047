"""Questions of facts: every fact once per position, with the answers that `KnownAnswers` knows."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given

from relatum import Hypergraph, KnownAnswers
from relatum.data.questions import Questions, map_questions, questions_of, save_questions
from support.mistakes import mistake
from support.strategies import Fact, hypergraphs


def made_graph() -> Hypergraph:
    """Return random facts of arity 1 to 5 over few entities, two relations of each arity, every fourth fact twice."""
    rng = np.random.default_rng(0)
    rows = [
        (f"{name}{arity}", *(f"e{entity}" for entity in rng.integers(0, 4, arity)))
        for arity in range(1, 6)
        for name in "ab"
        for _ in range(40)
    ]
    return Hypergraph.of([*rows, *rows[::4]])


def facts_of(graph: Hypergraph, questions: Questions) -> list[Fact]:
    """Return the facts that questions stand for, each question with each of its answers."""
    found = []
    for number, others in enumerate(questions.given.tolist()):
        for answer in questions.answers[questions.starts[number] : questions.starts[number + 1]].tolist():
            entities = [*others[: questions.position], answer, *others[questions.position :]]
            found.append((graph.schema[questions.relation].name, *(graph.entities[entity] for entity in entities)))
    return found


def check(graph: Hypergraph) -> None:
    found, known, distinct = questions_of(graph), KnownAnswers(graph), set(graph)
    at = [(each.relation, each.position) for each in found]
    assert len(set(at)) == len(at)
    for relation in graph.schema:
        own = [each for each in found if graph.schema[each.relation].name == relation.name]
        facts = sorted(fact for fact in distinct if fact[0] == relation.name)
        assert [each.position for each in own] == list(range(relation.arity if facts else 0))
        for each in own:
            assert sorted(facts_of(graph, each)) == facts  # every fact, and once
            compare(each, known)


def compare(questions: Questions, known: KnownAnswers) -> None:
    """Compare order, counts and answers with a lookup of each question."""
    rows = questions.given.tolist()
    assert len(questions) == len(rows) == len(questions.starts) - 1
    assert rows == sorted(rows)
    assert len(set(map(tuple, rows))) == len(rows)
    assert (questions.starts[0], questions.starts[-1]) == (0, len(questions.answers))
    assert (np.diff(questions.starts) > 0).all()
    relations = np.full(len(rows), questions.relation, np.int32)
    columns = np.insert(questions.given.T, questions.position, 0, axis=0)
    lists = known.lookup(relations, columns, questions.position)
    assert np.diff(questions.starts).tolist() == lists.counts.tolist()
    assert questions.answers.tolist() == lists.pairs()[1].tolist()
    assert questions.related.tolist() == sorted({*questions.answers.tolist(), *questions.given.ravel().tolist()})


@given(hypergraphs)
@example(made_graph())
@example(Hypergraph.of([]))
def test_facts_become_the_questions_that_they_answer(graph: Hypergraph) -> None:
    check(graph)
    for each in questions_of(graph):
        assert (each.given.dtype, each.answers.dtype, each.starts.dtype) == (np.int32, np.int32, np.int64)
        assert each.given.flags.c_contiguous
        assert each.answers.flags.c_contiguous


@given(hypergraphs)
def test_mapping_what_was_saved_is_the_identity(graph: Hypergraph) -> None:
    questions = questions_of(graph)
    with tempfile.TemporaryDirectory() as folder:
        save_questions(Path(folder) / "questions.safetensors", questions)
        found = map_questions(Path(folder) / "questions.safetensors")
        assert len(found) == len(questions)
        for mine, theirs in zip(found, questions, strict=True):
            assert (mine.relation, mine.position) == (theirs.relation, theirs.position)
            for name in ("given", "answers", "starts", "related"):
                array, expected = getattr(mine, name), getattr(theirs, name)
                assert array.dtype == expected.dtype
                assert np.array_equal(array, expected)


def test_they_cannot_be_written_and_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "questions.safetensors"
    save_questions(path, questions_of(Hypergraph.of([("knows", "a", "b"), ("is", "a")])))
    with pytest.raises(ValueError, match="read-only"):
        map_questions(path)[0].answers[0] = 1
    content = path.read_bytes()
    for damaged in (content[:-1], content[:-1] + b"x", b""):
        path.write_bytes(damaged)
        with mistake("not-shared"):
            map_questions(path)
