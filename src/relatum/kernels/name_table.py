"""A compiled hash table of names: each distinct run of bytes gets a number, in order of first sight.

The names stand one after the other in one growing array of bytes, each followed by a line feed; a slot of the table holds
32 bits of a name's hash and its number. The hash has keys of its own in every table, so that no file can be written whose
names all meet in one slot. Looking up changes nothing, so that many threads may; adding is for one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from relatum.arrays import Int32, Int64
from relatum.kernels.byte_words import PADDING, fetch_ahead, fold, low_bytes, new_keys, same_bytes, word_at
from relatum.kernels.jit import exact, strict_inline

Bytes = npt.NDArray[np.uint8]

MISS_FIELDS = 4  # of a name that was not found: start, length, upper half of the hash, and where its number belongs

_LINE_FEED = np.uint8(10)
_BLOCK = 1 << 20  # names that are looked up at once
_FAR = 32  # fields ahead of the one looked up, whose slot is fetched
_LEAST_SLOTS = 1 << 10
_MOST_NAMES = (1 << 31) - 2  # ids are int32
_U = np.uint64


class NameTable:
    """Names by number: `text` holds them one a line, number n from starts[n] to before starts[n + 1] - 1."""

    def __init__(self) -> None:
        self.keys = new_keys()
        self.slots = np.zeros(_LEAST_SLOTS, np.uint64)
        self.starts = np.zeros(_LEAST_SLOTS, np.int64)
        self.text = np.zeros(1 << 14, np.uint8)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def arrays(self) -> tuple[npt.NDArray[np.uint64], Int64, Bytes]:
        """What kernels that look names up are given: slots, starts and text; they are others when names were added."""
        return self.slots, self.starts, self.text

    def add_missed(self, source: Bytes, missed: Int64, numbers: Int32) -> bool:
        """Number the names that were not found, and write each number where it belongs; return whether none is blank.

        The source is padded; `missed` has each one's start, length, upper half of the hash and index in `numbers`.
        """
        self._make_room(len(missed), int(missed[:, 1].sum()))
        self._count, clean = add_missed(source, missed, *self.arrays, self._count, numbers)
        return bool(clean)

    def number_all(self, names: Iterable[bytes]) -> Int32:
        """Return the number of each name; a new one gets the next."""
        names = list(names)
        starts = np.zeros(len(names) + 1, np.int64)
        np.cumsum([len(name) + 1 for name in names], out=starts[1:])
        return self.number_lines(np.frombuffer(b"\n".join(names), np.uint8), starts)

    def number_lines(self, text: Bytes, starts: Int64, *, add: bool = True) -> Int32:
        """Return the number of each name, from starts[i] to before starts[i + 1] - 1; a new one gets the next.

        Without `add` nothing is added, and the number of a new one is negative.
        """
        numbers = np.empty(len(starts) - 1, np.int32)
        for first in range(0, len(numbers), _BLOCK):
            some = starts[first : first + _BLOCK + 1]
            source = np.concatenate([text[some[0] : some[-1] - 1], np.zeros(PADDING, np.uint8)])
            fields = np.zeros((len(some) - 1, MISS_FIELDS), np.int64)
            fields[:, 0], fields[:, 1] = some[:-1] - some[0], np.diff(some) - 1
            fields[:, 3] = np.arange(first, first + len(fields))
            hash_names(source, fields, self.keys)
            if add:
                self.add_missed(source, fields, numbers)
            else:
                look_up(source, fields, *self.arrays, numbers)
        return numbers

    def _make_room(self, more: int, size: int) -> None:
        names = self._count + more
        if names > _MOST_NAMES:
            raise MemoryError(f"more than {_MOST_NAMES} names")
        used = int(self.starts[self._count])
        if len(self.starts) <= names:
            self.starts = _grown(self.starts, self._count + 1, names + 1)
        if len(self.text) < used + size + more + PADDING:
            self.text = _grown(self.text, used, used + size + more + PADDING)
        if len(self.slots) < 2 * names:
            slots = np.zeros(1 << (2 * names - 1).bit_length(), np.uint64)
            grow_slots(self.slots, slots)
            self.slots = slots


def _grown(array: npt.NDArray[Any], used: int, least: int) -> npt.NDArray[Any]:
    """Return an array with the same beginning, half as long again or longer: room that is not used takes no memory."""
    found = np.zeros(max(least, len(array) * 3 // 2), array.dtype)
    found[:used] = array[:used]
    return found


@strict_inline
def _slot_of(tag, slots):  # type: ignore[no-untyped-def]
    """Return the slot where the search for a tag of 32 bits begins: it takes the upper bits, and grows with the table."""
    return np.int64((_U(tag) * _U(len(slots))) >> _U(32))


@strict_inline
def find(source, start, length, tag, slots, starts, text):  # type: ignore[no-untyped-def]
    """Return the number of the name source[start:start + length], or -1 - the free slot where it belongs."""
    at = _slot_of(tag, slots)
    while True:
        slot = slots[at]
        if slot == 0:
            return -1 - at
        if slot >> _U(32) == _U(tag):
            number = np.int64(slot & _U(0xFFFFFFFF)) - 1
            begin = starts[number]
            if starts[number + 1] - begin == length + 1 and same_bytes(source, start, text, begin, length):
                return number
        at += 1
        if at == len(slots):
            at = 0


@exact
def look_up(source, fields, slots, starts, text, numbers):  # type: ignore[no-untyped-def]
    """Write the number of each field that is there to its index; return how many are not, which come first from then on."""
    count = 0
    for i in range(len(fields)):
        if i + _FAR < len(fields):
            fetch_ahead(slots, _slot_of(fields[i + _FAR, 2], slots))
        if i + _FAR // 2 < len(fields):
            tag = fields[i + _FAR // 2, 2]
            slot = slots[_slot_of(tag, slots)]
            if slot != 0:
                fetch_ahead(starts, np.int64(slot & _U(0xFFFFFFFF)) - 1)
        if i + _FAR // 4 < len(fields):
            tag = fields[i + _FAR // 4, 2]
            slot = slots[_slot_of(tag, slots)]
            if slot >> _U(32) == _U(tag):
                fetch_ahead(text, starts[np.int64(slot & _U(0xFFFFFFFF)) - 1])
        start, length, tag, index = fields[i]
        number = find(source, start, length, tag, slots, starts, text)
        numbers[index] = number
        if number < 0:
            fields[count] = fields[i]
            count += 1
    return count


@exact
def hash_names(source, missed, keys):  # type: ignore[no-untyped-def]
    """Fill in the upper half of each name's hash: of its words, the last with zeros above, and of its length."""
    for i in range(len(missed)):
        start, length = missed[i, 0], missed[i, 1]
        mixed = keys[0]
        done = 0
        while length - done >= 8:
            mixed = fold(mixed ^ word_at(source, start + done), keys[1])
            done += 8
        mixed = fold(mixed ^ low_bytes(word_at(source, start + done), length - done), keys[1])
        missed[i, 2] = np.int64(fold(mixed ^ _U(length), keys[2]) >> _U(32))


@exact
def add_missed(source, missed, slots, starts, text, count, numbers):  # type: ignore[no-untyped-def]
    """Add the names that are new, write each one's number to its index; return how many there are, and if none is blank."""
    for i in range(len(missed)):
        start, length, tag = missed[i, 0], missed[i, 1], missed[i, 2]
        number = find(source, start, length, tag, slots, starts, text)
        if number < 0:
            if is_blank(source, start, length):
                return count, False
            slots[-1 - number] = (_U(tag) << _U(32)) | _U(count + 1)
            begin = starts[count]
            for k in range(length):
                text[begin + k] = source[start + k]
            text[begin + length] = _LINE_FEED
            starts[count + 1] = begin + length + 1
            number = count
            count += 1
        numbers[missed[i, 3]] = number
    return count, True


@exact
def grow_slots(old, slots):  # type: ignore[no-untyped-def]
    """Put every filled slot into a larger, empty table."""
    for slot in old:
        if slot != 0:
            at = _slot_of(slot >> _U(32), slots)
            while slots[at] != 0:
                at += 1
                if at == len(slots):
                    at = 0
            slots[at] = slot


@exact
def any_blank(text, starts):  # type: ignore[no-untyped-def]
    """Return whether any name, from starts[i] to before starts[i + 1] - 1, is nothing but white space."""
    for i in range(len(starts) - 1):  # noqa: SIM110  # Numba compiles loops, not generators
        if is_blank(text, starts[i], starts[i + 1] - 1 - starts[i]):
            return True
    return False


@strict_inline
def is_blank(source, start, length):  # type: ignore[no-untyped-def]
    """Return whether a name, which is valid UTF-8, is nothing but white space, as `str.isspace` has it."""
    at, end = start, start + length
    while at < end:
        byte = source[at]
        if byte == 32 or 9 <= byte <= 13 or 28 <= byte <= 31:
            at += 1
            continue
        if byte < 0xC2 or end - at < 2:
            return False
        second = source[at + 1]
        if byte == 0xC2 and (second == 0x85 or second == 0xA0):
            at += 2
            continue
        if byte < 0xE1 or byte > 0xE3 or end - at < 3:
            return False
        code = (np.int64(byte & 15) << 12) | (np.int64(second & 63) << 6) | np.int64(source[at + 2] & 63)
        if not (code == 0x1680 or 0x2000 <= code <= 0x200A or 0x2028 <= code <= 0x2029 or code in (0x202F, 0x205F, 0x3000)):
            return False
        at += 3
    return length > 0
