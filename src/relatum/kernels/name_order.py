"""The order that sorts names by their bytes, which is the order of their code points; and names copied in an order.

Names are sorted by eight bytes at a time. After each round only those go on that are equal so far, so that a common
beginning costs one round for each eight bytes of it; after a few rounds the rest is sorted by comparing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from relatum.arrays import Int32, Int64
from relatum.kernels import parallel
from relatum.kernels.byte_words import low_bytes, reversed_bytes, word_at
from relatum.kernels.jit import exact, strict_inline
from relatum.kernels.radix_sort import sorted_order, take

Bytes = npt.NDArray[np.uint8]

_ROUNDS = 8
_LEAST = 1 << 12  # names in a part
_U = np.uint64


def name_order(text: Bytes, starts: Int64) -> Int32:
    """Return the numbers of names in the order of their bytes: name i goes from starts[i] to before starts[i + 1] - 1.

    The names are distinct and without NUL, each followed by one byte that is none of it; then comes padding.
    """
    names = len(starts) - 1
    found = np.arange(names, dtype=np.int32)
    active, ranks, groups = found.copy(), np.arange(names), np.zeros(names, np.uint64)
    depth = int(_common(text, starts))
    for _ in range(_ROUNDS):
        if len(active) < 2:
            return found
        keys = np.empty(len(active), np.uint64)
        ranges = parallel.cuts(len(active), _LEAST)
        parallel.run(lambda n, a=active, k=keys, d=depth, r=ranges: _keys(text, starts, a, d, k, *r[n]), len(ranges))  # type: ignore[misc]
        order = sorted_order([groups, keys])
        active, keys = take(active, order), take(keys, order)
        found[ranks] = active
        new = np.ones(len(active) + 1, np.bool_)  # whether a name differs from the one before, as far as is known
        new[1:-1] = (keys[1:] != keys[:-1]) | (groups[1:] != groups[:-1])
        alike = ~(new[:-1] & new[1:])
        active, ranks, groups = active[alike], ranks[alike], np.cumsum(new[:-1])[alike].astype(np.uint64)
        depth += 8
    if len(active):
        bounds = np.append(np.flatnonzero(np.diff(groups, prepend=_U(0))), len(active))
        _merge_groups(text, starts, active, bounds, depth, np.empty_like(active))
        found[ranks] = active
    return found


def copy_names(text: Bytes, starts: Int64, order: Int32) -> tuple[Bytes, Int64]:
    """Return the names in an order: their text, one a line, without the last line end, and where each starts."""
    copied = np.zeros(len(order) + 1, np.int64)
    np.cumsum(np.diff(starts)[order], out=copied[1:])
    found = np.empty(int(copied[-1]), np.uint8)
    ranges = parallel.cuts(len(order), _LEAST)
    parallel.run(lambda n: _copy(text, starts, order, copied, found, *ranges[n]), len(ranges))
    return found[:-1], copied


@strict_inline
def _key(text, start, end, depth):  # type: ignore[no-untyped-def]
    """Return eight bytes of a name as a number that compares as they do; what is past its end is zero."""
    rest = end - start - depth
    if rest <= 0:
        return _U(0)
    word = word_at(text, start + depth)
    return reversed_bytes(word if rest >= 8 else low_bytes(word, rest))


@exact
def _keys(text, starts, numbers, depth, keys, first, last):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        keys[i] = _key(text, starts[numbers[i]], starts[numbers[i] + 1] - 1, depth)


@exact
def _common(text, starts):  # type: ignore[no-untyped-def]
    """Return how many bytes all names begin with."""
    if len(starts) < 2:
        return 0
    length = starts[1] - 1 - starts[0]
    for i in range(1, len(starts) - 1):
        length = min(length, starts[i + 1] - 1 - starts[i])
        k = 0
        while k < length and text[starts[i] + k] == text[starts[0] + k]:
            k += 1
        length = k
        if length == 0:
            break
    return length


@strict_inline
def _is_before(text, starts, a, b, depth):  # type: ignore[no-untyped-def]
    """Return whether name a comes before name b, whose first `depth` bytes are the same."""
    start_a, end_a, start_b, end_b = starts[a], starts[a + 1] - 1, starts[b], starts[b + 1] - 1
    while depth < end_a - start_a or depth < end_b - start_b:
        key_a, key_b = _key(text, start_a, end_a, depth), _key(text, start_b, end_b, depth)
        if key_a != key_b:
            return key_a < key_b
        depth += 8
    return False


@exact
def are_ascending(text, starts, first, last):  # type: ignore[no-untyped-def]
    """Return whether each name from number first + 1 to last - 1 comes after the one before it."""
    for i in range(first + 1, last):  # noqa: SIM110  # Numba compiles loops, not generators
        if not _is_before(text, starts, i - 1, i, 0):
            return False
    return True


@exact
def _merge_groups(text, starts, names, bounds, depth, spare):  # type: ignore[no-untyped-def]
    """Sort names[bounds[g]:bounds[g + 1]] for every g, in place, by merging runs of doubling length."""
    for g in range(len(bounds) - 1):
        first, last = bounds[g], bounds[g + 1]
        width = 1
        while width < last - first:
            for low in range(first, last, 2 * width):
                middle, high = min(low + width, last), min(low + 2 * width, last)
                i, j = low, middle
                for k in range(low, high):
                    if j == high or (i < middle and _is_before(text, starts, names[i], names[j], depth)):
                        spare[k] = names[i]
                        i += 1
                    else:
                        spare[k] = names[j]
                        j += 1
            names[first:last] = spare[first:last]
            width *= 2


@exact
def _copy(text, starts, order, copied, found, first, last):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        start = starts[order[i]]
        for k in range(copied[i + 1] - copied[i]):
            found[copied[i] + k] = text[start + k]
