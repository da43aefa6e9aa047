"""Packets of rows as CSV: what is the whole of a row is written as it was sent, and all else is left where it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum.tables.mysql_packets import packets_as_csv

Row = list[bytes | None]

FIELDS = st.none() | st.sampled_from([b"", b'"', b",\n\r\t\\\0", "日本".encode(), b"7"]) | st.binary(max_size=300)
WIDTHS = st.integers(1, 4)
ROWS = WIDTHS.flatmap(lambda width: st.lists(st.lists(FIELDS, min_size=width, max_size=width), max_size=8))


def field(value: bytes | None) -> bytes:
    if value is None:
        return b"\xfb"
    size = len(value)
    head = (
        bytes([size])
        if size < 251
        else (b"\xfc" if size < 1 << 16 else b"\xfd") + size.to_bytes(2 + (size >= 1 << 16), "little")
    )
    return head + value


def packet(body: bytes, number: int) -> bytes:
    return len(body).to_bytes(3, "little") + bytes([number % 256]) + body


def packets(rows: list[Row], number: int = 0) -> bytes:
    return b"".join(packet(b"".join(map(field, row)), number + index) for index, row in enumerate(rows))


def line(row: Row) -> bytes:
    return b",".join(b"" if value is None else b'"' + value.replace(b'"', b'""') + b'"' for value in row) + b"\n"


def expected(rows: list[Row]) -> tuple[bytes, int, int, int]:
    lines = list(map(line, rows))
    return b"".join(lines), len(rows), len(packets(rows)), max(map(len, lines), default=0)


@given(ROWS, st.integers(0, 255), st.data())
def test_whole_rows_are_lines_of_csv_and_the_rest_is_left(rows: list[Row], number: int, data: st.DataObject) -> None:
    width, sent = len(rows[0]) if rows else 1, packets(rows, number)
    assert packets_as_csv(sent, width, number) == expected(rows)
    cut = data.draw(st.integers(0, len(sent)))
    ends = [len(packets(rows[:count])) for count in range(len(rows) + 1)]
    whole = max(count for count, end in enumerate(ends) if end <= cut)
    assert packets_as_csv(sent[:cut], width, number) == expected(rows[:whole])


@pytest.mark.parametrize("size", [250, 251, 65535, 65536, 0xFFFFFF - 5])
def test_lengths_of_every_form(size: int) -> None:
    rows: list[Row] = [[b"x" * size], [b"y"]]
    assert packets_as_csv(packets(rows), 1, 0) == expected(rows)


ODD = {
    "the end": packet(b"\xfe\0\0\2\0", 1),
    "an error": packet(b"\xff\x15\x04#28000no", 1),
    "another number": packet(field(b"b") * 2, 2),
    "in several packets": packet(b"\xfe" + b"x" * 0xFFFFFE, 1),
    "too few fields": packet(field(b"b"), 1),
    "too many fields": packet(field(b"b") * 3, 1),
    "a field beyond the packet": packet(field(b"b") + b"\x09b", 1) + b"x" * 20,
    "a length beyond the packet": packet(field(b"b") + b"\xfd\1", 1) + b"x" * 20,
    "eight bytes of length": packet(field(b"b") + b"\xfe" + (1).to_bytes(8, "little") + b"b", 1),
    "nothing": packet(b"", 1),
}


@pytest.mark.parametrize("what", ODD)
def test_what_is_no_plain_row_is_left_with_all_behind_it(what: str) -> None:
    good: list[Row] = [[b"a", None]]
    assert packets_as_csv(packets(good) + ODD[what] + packets(good, 2), 2, 0) == expected(good)
