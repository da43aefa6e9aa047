"""Answers are found by any columns, as often as rows have them; a key that no row has finds nothing."""

from __future__ import annotations

import numpy as np
import pytest

from relatum.data import answer_index
from relatum.data.answer_index import AnswerIndex


def test_answers_stand_in_order_and_as_often_as_rows_have_them() -> None:
    first, second, answers = np.array([[0, 0, 1, 0, 2], [1, 1, 0, 1, 2], [3, 1, 2, 3, 0]], np.int32)
    index = AnswerIndex([first, second], [3, 3], answers, 4)
    found = index.lookup([np.array([0, 1, 2, 0], np.int32), np.array([1, 0, 2, 2], np.int32)])
    assert [found[number].tolist() for number in range(4)] == [[1, 3, 3], [2], [0], []]


def test_a_key_of_one_column_finds_what_stands_beside_it() -> None:
    rng = np.random.default_rng(0)
    key, answers = rng.integers(0, 20, (2, 200)).astype(np.int32)
    found = AnswerIndex([key], [20], answers, 20).lookup([np.arange(20, dtype=np.int32)])
    for number in range(20):
        assert found[number].tolist() == sorted(answers[key == number].tolist())


def test_no_questions_and_no_rows_are_answered_too() -> None:
    key, answers = np.array([1, 0], np.int32), np.array([1, 0], np.int32)
    nothing = np.empty(0, np.int32)
    none = AnswerIndex([key, key], [2, 2], answers, 2).lookup([nothing, nothing])
    assert len(none) == 0
    assert none.contain(nothing).tolist() == []
    empty = AnswerIndex([nothing, nothing], [2, 2], nothing, 2).lookup([key, key])
    assert len(empty) == 2
    assert empty.contain(answers).tolist() == [False, False]
    assert [empty[number].tolist() for number in range(2)] == [[], []]
    assert len(AnswerIndex([nothing], [2], nothing, 2).lookup([key])) == 2


def test_the_memory_is_that_of_all_arrays() -> None:
    key, answers = np.array([1, 0, 1], np.int32), np.array([1, 0, 2], np.int32)
    index = AnswerIndex([key, key], [2, 2], answers, 3)
    assert index.nbytes == 3 * 4 + 3 * 4 + 2 * 8  # answers, where those of two keys begin and end, and the keys


def test_columns_of_any_size_are_told_apart() -> None:
    """Packed behind the group found so far, two of these would be more than an int64 holds."""
    rng = np.random.default_rng(0)
    size = (1 << 31) - 1
    key = rng.integers(size - 3, size, (5, 400)).astype(np.int32)
    answers = rng.integers(0, 9, 400).astype(np.int32)
    index = AnswerIndex(list(key), [size] * 5, answers, 9)
    assert [list(columns) for columns, _ in index.levels] == [[0, 1], [2], [3], [4]]
    found = index.lookup(list(key))
    for number in range(400):
        same = (key == key[:, number : number + 1]).all(0)
        assert found[number].tolist() == sorted(answers[same].tolist())


@pytest.mark.parametrize(("largest", "levels"), [(27, 1), (26, 2), (9, 2), (8, 3)])
def test_a_level_packs_as_many_columns_as_a_key_holds(largest: int, levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_index, "LARGEST_KEY", largest)
    key = np.zeros(1, np.int32)
    index = AnswerIndex([key, key, key], [3, 3, 3], key, 1)
    assert [column for columns, _ in index.levels for column in columns] == [0, 1, 2]
    assert len(index.levels) == levels
