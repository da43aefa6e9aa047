"""The order that sorts rows of 64-bit words, by counting digits: as many passes as digits differ, shared out among threads.

Every pass keeps the order of equal digits, so that there is one result, whatever the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from relatum.arrays import Int32
from relatum.kernels import parallel
from relatum.kernels.jit import exact

Words = npt.NDArray[np.uint64]

_BITS = 11  # of a digit
_LEAST = 1 << 15  # rows in a part
_U = np.uint64


def sorted_order(words: Sequence[Words]) -> Int32:
    """Return the order that sorts rows by words[0], then words[1], ...; equal rows keep theirs. At most 2^31 - 1 rows."""
    rows = len(words[0])
    ranges = parallel.cuts(rows, _LEAST)
    order = np.arange(rows, dtype=np.int32)
    spare = np.empty(0, np.int32)
    for position, word in enumerate(reversed(words)):
        keys = take(word, order) if position else word
        varied = _varied_bits(keys, ranges)
        for shift in _shifts(varied):
            if not len(spare):
                spare = np.empty_like(order)
            counts = np.zeros((len(ranges), 1 << _BITS), np.int64)
            parallel.run(lambda n, k=keys, s=shift, c=counts: _count(k, s, *ranges[n], c[n]), len(ranges))  # type: ignore[misc]
            before = np.cumsum(counts.T.ravel()) - counts.T.ravel()
            targets = np.ascontiguousarray(before.reshape(1 << _BITS, len(ranges)).T)
            moved = np.empty_like(keys)
            arrays = (keys, order, shift, targets, moved, spare)
            parallel.run(lambda n, a=arrays: _move(*a, *ranges[n], n), len(ranges))  # type: ignore[misc]
            keys, order, spare = moved, spare, order
    return order


def take(source: npt.NDArray[Any], order: Int32) -> npt.NDArray[Any]:
    """Return source[order], worked out by all threads."""
    found = np.empty(len(order), source.dtype)
    ranges = parallel.cuts(len(order), _LEAST)
    parallel.run(lambda n: _take(source, order, found, *ranges[n]), len(ranges))
    return found


def _varied_bits(keys: Words, ranges: list[tuple[int, int]]) -> int:
    """Return the bits in which keys differ."""
    found = np.zeros(len(ranges), np.uint64)
    parallel.run(lambda n: _vary(keys, *ranges[n], found[n : n + 1]), len(ranges))
    return int(np.bitwise_or.reduce(found)) if len(ranges) else 0


def _shifts(varied: int) -> list[_U]:
    """Return where digits begin that cover all bits which vary, from the lowest up."""
    found = []
    at = 0
    while varied >> at:
        if varied >> at & 1:
            found.append(_U(at))
            at += _BITS
        else:
            at += 1
    return found


@exact
def _vary(keys, first, last, found):  # type: ignore[no-untyped-def]
    bits = _U(0)
    for i in range(first, last):
        bits |= keys[i] ^ keys[0]
    found[0] = bits


@exact
def _count(keys, shift, first, last, counts):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        counts[(keys[i] >> shift) & _U((1 << _BITS) - 1)] += 1


@exact
def _move(keys, order, shift, targets, moved, moved_order, first, last, part):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        digit = (keys[i] >> shift) & _U((1 << _BITS) - 1)
        target = targets[part, digit]
        targets[part, digit] = target + 1
        moved[target] = keys[i]
        moved_order[target] = order[i]


@exact
def _take(source, order, found, first, last):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        found[i] = source[order[i]]
