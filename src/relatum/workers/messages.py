"""Arrays as bytes and back: what workers send each other. No pickle is written or read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Array = npt.NDArray[Any]

_TYPES = [np.dtype(name) for name in ("uint8", "int32", "int64", "float32", "float64")]
_ALIGNED = 8  # bytes


def packed(arrays: Sequence[Array]) -> Bytes:
    """Return arrays one after the other, behind a header with their types and shapes."""
    header: list[int] = [len(arrays)]
    for array in arrays:
        header += [_TYPES.index(array.dtype), array.ndim, *array.shape]
    parts = [np.array([len(header), *header], np.int64), *arrays]
    ends = np.cumsum([_padded(part.nbytes) for part in parts])
    found = np.zeros(int(ends[-1]), np.uint8)
    for part, end in zip(parts, ends.tolist(), strict=True):
        start = end - _padded(part.nbytes)
        found[start : start + part.nbytes] = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
    return found


def packed_size(shapes: Sequence[tuple[int, ...]], itemsize: int) -> int:
    """Return how many bytes a message of arrays has, given their shapes and the size of their numbers."""
    header = 2 + sum(2 + len(shape) for shape in shapes)
    return _ALIGNED * header + sum(_padded(itemsize * math.prod(shape)) for shape in shapes)


def unpacked(message: Bytes) -> list[Array]:
    """Return the arrays of a message; those that are not empty are views of it."""
    length = int(message[:_ALIGNED].view(np.int64)[0])
    start = _ALIGNED * (1 + length)
    header = iter(message[_ALIGNED:start].view(np.int64).tolist())
    found = []
    for _ in range(next(header)):
        dtype, ndim = _TYPES[next(header)], next(header)
        shape = [next(header) for _ in range(ndim)]
        size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        found.append(message[start : start + size].view(dtype).reshape(shape))
        start += _padded(size)
    return found


def _padded(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED
