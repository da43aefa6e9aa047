"""Sorting rows of integer columns, as a dictionary sorts words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from relatum.arrays import Bool, Int64
from relatum.data.vocabulary import Ids

_MANY, _MOST = 1 << 18, 1 << 31  # rows that are sorted by compiled loops
LARGEST_KEY = 1 << 63  # an int64 holds the numbers below it


def row_order(columns: Sequence[Ids], sizes: Iterable[int]) -> Int64:
    """Return the order that sorts rows by `columns[0]`, then `columns[1]`, ...; `sizes[i]` bounds the ids of column i.

    As many columns as fit are packed into one int64 key, so that sorting facts of arity 3 is one sort of numbers
    instead of four. Equal rows may come in any order: they are equal.
    """
    words: list[Int64] = []
    rows = len(columns[0])
    room = 0
    for column, size in zip(columns, sizes, strict=True):
        size = max(size, 1)
        if room >= size:
            words[-1] *= size
            words[-1] += column
        else:
            words.append(column.astype(np.int64))
            room = LARGEST_KEY
        room //= size
    if _MANY <= rows < _MOST:
        from relatum.kernels.radix_sort import sorted_order  # loading Numba takes longer than sorting few rows

        # No word is negative, so that its bits sort as it does.
        return sorted_order([word.view(np.uint64) for word in words]).astype(np.int64)
    if len(words) == 1:
        return np.argsort(words[0]).astype(np.int64, copy=False)
    return np.lexsort(words[::-1]).astype(np.int64, copy=False)


def differs_from_previous(columns: Sequence[npt.NDArray[np.signedinteger]]) -> Bool:
    """Return, for rows in sorted order, whether each differs from the one before it; the first always does."""
    new = np.zeros(len(columns[0]), np.bool_)
    new[:1] = True
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    return new


def spread(starts: Int64, counts: Int64) -> Int64:
    """Return the numbers starts[i] .. starts[i] + counts[i] - 1 of every i, one run after the other."""
    ends = np.cumsum(counts)
    return np.repeat(starts - (ends - counts), counts) + np.arange(ends[-1] if len(ends) else 0)
