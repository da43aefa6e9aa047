"""Counting digits sorts as numpy does, on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from relatum.kernels import parallel, radix_sort
from relatum.kernels.radix_sort import sorted_order, take


@pytest.mark.parametrize("rows", [0, 1, 2, 1000, 70_000])
@pytest.mark.parametrize("bits", [(0,), (1,), (20,), (64,), (8, 60), (64, 3, 33)])
def test_rows_are_sorted_as_numpy_sorts_them(rows: int, bits: tuple[int, ...]) -> None:
    rng = np.random.default_rng(rows)
    words = [rng.integers(0, 1 << bit, rows, np.uint64, endpoint=True) if bit < 64 else rng.bytes(8 * rows) for bit in bits]
    words = [np.frombuffer(word, np.uint64) if isinstance(word, bytes) else word << np.uint64(2) for word in words]
    expected = np.lexsort(words[::-1])
    for threads in (1, 3):
        parallel.set_threads(threads)
        assert np.array_equal(sorted_order(words), expected)
    parallel.set_threads(None)
    assert np.array_equal(take(words[0], expected.astype(np.int32)), words[0][expected])


def test_words_whose_digits_are_all_the_same_are_not_moved() -> None:
    assert radix_sort._shifts(0) == []
    assert radix_sort._shifts(1 << 63 | 1) == [0, 63]
