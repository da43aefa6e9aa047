"""Vectors are checked, of length 1, and found by their keys, whatever these are numbered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from relatum.data.vectors import Vectors
from relatum.data.vocabulary import Vocabulary
from relatum.errors import DataError
from support.row_stores import store_of

VALUES = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 2.0]], np.float32)
IDS = np.array([7, 2, 5], np.int32)


def test_vectors_are_sorted_by_key_and_of_length_one() -> None:
    vectors = Vectors.of(IDS, VALUES)
    assert vectors.ids.tolist() == [2, 5, 7]
    assert vectors.values.tolist() == [[0.0, 0.0], [0.0, 1.0], pytest.approx([0.6, 0.8])]
    assert vectors.numbers(np.array([5, 6, 7, -1, 2], np.int32)).tolist() == [1, -1, 2, -1, 0]
    assert len(vectors) == 3
    assert Vectors.of(IDS[:0], VALUES[:0]).numbers(IDS).tolist() == [-1, -1, -1]


@pytest.mark.parametrize(
    ("ids", "values"),
    [
        ([0, 0], [[1.0], [1.0]]),
        ([-1, 0], [[1.0], [1.0]]),
        ([0, 1], [[1.0], [np.nan]]),
        ([0], [[1.0], [1.0]]),
        ([0], [[]]),
    ],
)
def test_what_is_no_vector_of_each_name_is_refused(ids: list[int], values: list[list[float]]) -> None:
    with pytest.raises(DataError, match="vectors"):
        Vectors(np.array(ids, np.int32), np.array(values, np.float32))


def test_vectors_stay_with_their_rows_under_other_names() -> None:
    store = store_of({"t": {"id": ["a", "b", "c"], "x": ["1", "2", "1"]}}, keys={"t": [("id",)]})
    vectors = Vectors.of(store["t"].column("id"), np.eye(3, dtype=np.float32))
    held = replace(store, vectors={"t": vectors})
    more = held.with_names(Vocabulary(sorted({*store.names, "0", "t.id:bb", "zz"})))
    moved = more.vectors["t"]
    rows = moved.numbers(more["t"].column("id"))
    assert moved.values[rows].tolist() == np.eye(3).tolist()
    with pytest.raises(DataError, match="vectors: table 't' has no key"):
        replace(store, names=Vocabulary(list(store.names)), vectors={"t": Vectors.of(np.array([99], np.int32), VALUES[:1])})
