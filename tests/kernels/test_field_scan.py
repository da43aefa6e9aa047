"""Lines are scanned as Python splits them, and an odd line is never overlooked."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum.kernels import field_scan, parallel
from relatum.kernels.byte_words import PADDING
from relatum.kernels.field_scan import ENTITY, IGNORED, RELATION, FieldScan, columns_of, same_arities
from relatum.kernels.name_table import NameTable

FIELDS = st.text("ab\x01\x0b\x0c\x1f é日#", min_size=1, max_size=18).filter(lambda name: name.strip() and name[0] != "#")
LINES = st.lists(st.lists(FIELDS, min_size=3, max_size=6), min_size=1, max_size=20)


def scanned(content: bytes, kinds: tuple[int, ...]) -> list[tuple[str, ...]] | None:
    """Return the relation and the entities of every line."""
    relations, entities = NameTable(), NameTable()
    text = np.frombuffer(content + bytes(PADDING), np.uint8)
    found = FieldScan(relations, entities).scan(text, len(content), np.array(kinds, np.uint8))
    if found is None:
        return None
    names = [table.text[: table.starts[len(table)]].tobytes().decode().split("\n") for table in (relations, entities)]
    ends = np.cumsum(found[1]).tolist()
    return [
        (names[0][relation], *(names[1][number] for number in found[2][start:end].tolist()))
        for relation, (start, end) in zip(found[0].tolist(), itertools.pairwise([0, *ends]), strict=True)
    ]


@given(LINES, st.sampled_from(["\n", "\r\n"]), st.sampled_from([(RELATION,), (ENTITY, RELATION), (IGNORED, RELATION)]))
def test_lines_are_scanned_as_python_splits_them(lines: list[list[str]], end: str, kinds: tuple[int, ...]) -> None:
    expected = [
        (line[kinds.index(RELATION)], *(name for n, name in enumerate(line) if n >= len(kinds) or kinds[n] == ENTITY))
        for line in lines
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(field_scan, "_PART", 40)
        for threads in (1, 3):
            parallel.set_threads(threads)
            assert scanned("".join("\t".join(line) + end for line in lines).encode(), kinds) == expected
    parallel.set_threads(None)


def test_a_relation_has_one_arity_or_nothing_is_learned() -> None:
    known = np.array([2, 0, 0], np.int32)
    assert not same_arities(np.array([1, 2, 0], np.int32), np.array([5, 4, 3], np.int32), known)
    assert known.tolist() == [2, 0, 0]
    assert not same_arities(np.array([1, 1], np.int32), np.array([5, 4], np.int32), known)
    assert known.tolist() == [2, 0, 0]
    assert same_arities(np.array([1, 0, 1], np.int32), np.array([5, 2, 5], np.int32), known)
    assert known.tolist() == [2, 5, 0]


def test_lines_of_many_arities_become_columns() -> None:
    arities = np.array([2, 1, 2, 3, 1], np.int32)
    pieces = columns_of(np.arange(5, dtype=np.int32), arities, np.arange(9, dtype=np.int32))
    assert [(relations.tolist(), columns.tolist()) for relations, columns in pieces] == [
        ([1, 4], [[2, 8]]),
        ([0, 2], [[0, 3], [1, 4]]),
        ([3], [[5], [6], [7]]),
    ]
