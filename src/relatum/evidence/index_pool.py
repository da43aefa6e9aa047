"""Many indexes of answers in a few arrays, so that a compiled loop can look things up in any of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

from relatum.data.answer_index import AnswerIndex
from relatum.kernels.soft_rules import PooledIndexes


class IndexPool:
    """Indexes that are put together, one after the other; what was there stays as it is."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._lock = threading.Lock()
        integers = [_Growing(np.int64) for _ in range(6)]
        self._levels, self._widths, self._bounds, self._keys, self._offset_starts, self._answer_starts = integers
        self._offsets, self._answers = _Growing(np.int32), _Growing(np.int32)
        self._levels.extend([0])
        self._bounds.extend([0])

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, name: Hashable, make: Callable[[], AnswerIndex]) -> int:
        """Return the number of the index of a name; `make` makes it where it is not there yet."""
        with self._lock:
            if name not in self._numbers:
                self._numbers[name] = self._add(make())
            return self._numbers[name]

    @property
    def arrays(self) -> PooledIndexes:
        """The arrays as they are now; what is added later does not change them."""
        with self._lock:
            return PooledIndexes(
                self._levels.values,
                self._widths.values,
                self._bounds.values,
                self._keys.values,
                self._offset_starts.values,
                self._offsets.values,
                self._answer_starts.values,
                self._answers.values,
            )

    def _add(self, index: AnswerIndex) -> int:
        number = len(self._levels) - 1
        self._offset_starts.extend([len(self._offsets)])
        self._answer_starts.extend([len(self._answers)])
        self._offsets.extend(index.offsets)
        self._answers.extend(index.answers)
        for columns, keys in index.levels:
            self._widths.extend([len(columns)])
            self._keys.extend(keys)
            self._bounds.extend([len(self._keys)])
        self._levels.extend([len(self._widths)])
        return number


class _Growing:
    """An array that grows at its end; views of it stay valid."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._array, self._size = np.empty(64, dtype), 0

    def __len__(self) -> int:
        return self._size

    @property
    def values(self) -> npt.NDArray[Any]:
        return self._array[: self._size]

    def extend(self, values: npt.ArrayLike) -> None:
        more = np.asarray(values, self._array.dtype)
        wanted = self._size + len(more)
        if wanted > len(self._array):
            larger = np.empty(max(wanted, len(self._array) * 3 // 2), self._array.dtype)
            larger[: self._size] = self.values
            self._array = larger
        self._array[self._size : wanted] = more
        self._size = wanted
