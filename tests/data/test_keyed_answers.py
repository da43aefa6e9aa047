"""No new fact repeats a key: what is ruled out is what a plain loop over facts rules out."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from relatum.data.hypergraph import Hypergraph
from relatum.data.keyed_answers import KeyedAnswers, SettledQuestions, free_entities, open_positions, taken_keys

NAMES = [f"e{number}" for number in range(5)]
facts_of_three = st.lists(st.tuples(*[st.sampled_from(NAMES)] * 3), min_size=1, max_size=12)
keys_of_three = st.lists(
    st.sets(st.integers(0, 2), min_size=1, max_size=3).map(lambda one: tuple(sorted(one))), min_size=1, max_size=2
)


@given(facts_of_three, keys_of_three, st.integers(0, 2))
def test_answers_are_left_out_that_repeat_a_key(
    facts: list[tuple[str, ...]], keys: list[tuple[int, ...]], position: int
) -> None:
    graph = Hypergraph.of([("r", *NAMES[:3]), *(("r", *fact) for fact in facts)])
    columns = graph.table("r").columns
    size = len(graph.entities)
    known = KeyedAnswers(graph, {"r": keys})
    free = free_entities([None] * 3, columns, keys, size)[position]
    lists = known.lookup(np.zeros(columns.shape[1], np.int32), columns, position)
    for number, fact in enumerate(columns.T.tolist()):
        left = [one for one in range(size) if one not in lists[number] and (free is None or one in free)]
        new = [[*fact[:position], one, *fact[position + 1 :]] for one in range(size)]
        wrong = [
            any(all(one[p] == other[p] for p in key) for key in [*keys, (0, 1, 2)] for other in columns.T.tolist())
            for one in new
        ]
        if position in open_positions(3, keys):
            assert left == [one for one in range(size) if not wrong[one]]
        else:
            assert all(wrong)  # so that it need not be tried
        assert taken_keys(np.array(new, np.int32).T, columns, [*keys, (0, 1, 2)]).tolist() == wrong


@given(facts_of_three, facts_of_three, keys_of_three, st.integers(0, 2))
def test_a_question_is_settled_by_a_key_among_what_is_given(
    facts: list[tuple[str, ...]], asked: list[tuple[str, ...]], keys: list[tuple[int, ...]], position: int
) -> None:
    known, questions = (
        np.array([[NAMES.index(one) for one in fact] for fact in some], np.int32).T for some in (facts, asked)
    )
    expected = [
        any(all(one[p] == other[p] for p in key) for key in keys if position not in key for other in facts) for one in asked
    ]
    assert SettledQuestions(known, keys, position, len(NAMES)).among(questions).tolist() == expected
    assert not SettledQuestions(known[:, :0], keys, position, len(NAMES)).among(questions).any()


def test_without_keys_nothing_but_known_answers_is_left_out() -> None:
    graph = Hypergraph.of([("r", "a", "b"), ("r", "a", "c")])
    lists = KeyedAnswers(graph, {}).lookup(np.zeros(1, np.int32), np.array([[0], [0]], np.int32), 1)
    assert lists[0].tolist() == [1, 2]
    assert open_positions(2, []) == [0, 1]
