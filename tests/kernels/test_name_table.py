"""The table numbers names as a dict does, and knows white space as Python does."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum.kernels import name_table
from relatum.kernels.byte_words import PADDING
from relatum.kernels.name_table import MISS_FIELDS, NameTable

NAMES = st.lists(st.binary(min_size=1, max_size=20).map(lambda name: b"n" + name.replace(b"\n", b"-")), max_size=60)


def plain_numbers(names: list[bytes]) -> list[int]:
    """Number names as a dict does: the definition."""
    known: dict[bytes, int] = {}
    return [known.setdefault(name, len(known)) for name in names]


@given(NAMES, NAMES)
def test_names_are_numbered_by_first_sight(first: list[bytes], second: list[bytes]) -> None:
    table = NameTable()
    numbers = [*table.number_all(first).tolist(), *table.number_all(second).tolist()]
    assert numbers == plain_numbers([*first, *second])
    distinct = list(dict.fromkeys([*first, *second]))
    assert len(table) == len(distinct)
    assert table.text[: table.starts[len(table)]].tobytes() == b"".join(name + b"\n" for name in distinct)


def test_a_growing_table_keeps_every_number() -> None:
    names = [b"%d" % number for number in range(30_000)]
    table = NameTable()
    for start in range(0, len(names), 700):
        table.number_all(names[start : start + 700])
    assert table.number_all(names).tolist() == list(range(len(names)))


def test_names_that_share_a_hash_are_told_apart_and_every_table_has_its_own() -> None:
    names = [b"%d" % number for number in range(300)]
    table = NameTable()
    source = np.frombuffer(b"".join(names) + bytes(PADDING), np.uint8)
    fields = np.zeros((len(names), MISS_FIELDS), np.int64)
    fields[:, 1] = [len(name) for name in names]
    fields[1:, 0] = np.cumsum(fields[:-1, 1])
    fields[:, 2] = (1 << 32) - 1  # the last slot of all
    fields[:, 3] = np.arange(len(names))
    numbers = np.empty(len(names), np.int32)
    assert table.add_missed(source, fields, numbers)
    assert numbers.tolist() == list(range(300))
    numbers[:] = -1
    assert name_table.look_up(source, fields, *table.arrays, numbers) == 0
    assert numbers.tolist() == list(range(300))
    assert not np.array_equal(NameTable().keys, NameTable().keys)


def test_white_space_is_what_python_takes_for_it() -> None:
    codes = [
        code for code in range(1, sys.maxunicode + 1) if not 0xD800 <= code < 0xE000 and (code < 0x3100 or code % 97 == 0)
    ]
    for code in codes:
        name = " " * (code % 3) + chr(code)
        encoded = name.encode()
        assert blank(np.frombuffer(encoded + bytes(PADDING), np.uint8), len(encoded)) == name.isspace(), hex(code)


def blank(source: np.ndarray, length: int) -> bool:
    fields = np.array([[0, length, 0, 0]], np.int64)
    slots, starts, text = np.zeros(4, np.uint64), np.zeros(3, np.int64), np.zeros(64, np.uint8)
    count, clean = name_table.add_missed(source, fields, slots, starts, text, 0, np.empty(1, np.int32))
    assert count == clean
    return not clean


@pytest.mark.parametrize("name", [b" ", b"\xe3\x80\x80"])
def test_a_blank_name_is_not_added(name: bytes) -> None:
    several, starts = np.frombuffer(b"ab\n" + name + b"\nc" + bytes(PADDING), np.uint8), np.array([0, 3, 4 + len(name)])
    assert name_table.any_blank(several, starts)
    assert not name_table.any_blank(several, starts[:2])
    table = NameTable()
    fields = np.array([[0, len(name), 0, 0]], np.int64)
    assert not table.add_missed(np.frombuffer(name + bytes(PADDING), np.uint8), fields, np.empty(1, np.int32))
    assert len(table) == 0
