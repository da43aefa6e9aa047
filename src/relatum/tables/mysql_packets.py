"""Rows as servers of MySQL send them, a packet of fields each, written as CSV in one compiled pass over their bytes."""

from __future__ import annotations

import numpy as np

from relatum.kernels.jit import exact

_HEAD = 4  # bytes before a packet: three of its length and one of its number
_LONGEST = 0xFFFFFF  # bytes of a packet, which goes on in the next one
_NULL, _TWO, _THREE, _END, _ERROR = 0xFB, 0xFC, 0xFD, 0xFE, 0xFF  # what a field, or a packet, may start with
_SHORT_END = 9  # bytes that a packet has less than if it says that there are no more rows
_QUOTE, _COMMA, _LINE_FEED = 34, 44, 10
_GROWTH = 3  # a field of n bytes, which has one or more before them, becomes up to 2 n bytes, two quotes and a comma


def packets_as_csv(packets: memoryview | bytes, width: int, number: int) -> tuple[bytes, int, int, int]:
    """Return the rows at the start of packets as CSV, how many these are, their bytes there, and the longest one's as CSV.

    They end where a packet is not the whole of a row: cut, in several parts, no row at all, or not the next by its number.

    A row has `width` fields; `number` is that of the first packet: they count up to 255 and start anew.
    """
    received = np.frombuffer(packets, np.uint8)
    text = np.empty(_GROWTH * len(received), np.uint8)
    counts = np.zeros(4, np.int64)
    write_rows(received, width, number, text, counts)
    rows, taken, written, longest = counts.tolist()
    return text[:written].tobytes(), rows, taken, longest


@exact
def write_rows(packets, width, number, text, counts):  # type: ignore[no-untyped-def]
    """Write rows as CSV; counts has how many they are, their bytes in packets and in text, and the most of one in text."""
    at = written = rows = longest = np.int64(0)
    size = len(packets)
    while at + _HEAD < size:
        length = np.int64(packets[at]) | np.int64(packets[at + 1]) << 8 | np.int64(packets[at + 2]) << 16
        here, stop = at + _HEAD, at + _HEAD + length
        if packets[at + 3] != (number + rows) % 256 or length == 0 or length == _LONGEST or stop > size:
            break
        if packets[here] == _ERROR or (packets[here] == _END and length < _SHORT_END):
            break
        end, fields = written, 0
        while fields < width and here < stop:
            count = np.int64(packets[here])
            here += 1
            if fields > 0:
                text[end] = _COMMA
                end += 1
            fields += 1
            if count == _NULL:
                continue
            if count == _TWO and here + 2 <= stop:
                count = np.int64(packets[here]) | np.int64(packets[here + 1]) << 8
                here += 2
            elif count == _THREE and here + 3 <= stop:
                count = np.int64(packets[here]) | np.int64(packets[here + 1]) << 8 | np.int64(packets[here + 2]) << 16
                here += 3
            elif count > _NULL:
                fields = width + 1  # longer than a packet is
                break
            if here + count > stop:
                fields = width + 1
                break
            text[end] = _QUOTE
            end += 1
            for k in range(here, here + count):
                text[end] = packets[k]
                end += 1
                if packets[k] == _QUOTE:
                    text[end] = _QUOTE
                    end += 1
            text[end] = _QUOTE
            end += 1
            here += count
        if fields != width or here != stop:
            break
        text[end] = _LINE_FEED
        end += 1
        longest = max(longest, end - written)
        at, written = stop, end
        rows += 1
    counts[0], counts[1], counts[2], counts[3] = rows, at, written, longest
