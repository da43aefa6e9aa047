"""Vectors that a person brings for the rows of a table, such as those of a text model: one for each key, checked."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from relatum.arrays import Float32, Int64
from relatum.data.vocabulary import Ids
from relatum.errors import DataError

__all__ = ["Vectors"]

_LONGEST = 4096  # numbers in a vector


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors of the rows of a table, by what is in their key.

    Attributes:
        ids: int32[n], the keys by number in the names of the store, ascending and each once.
        values: float32[n, d], of length 1 each, so that a product of two is their cosine.
    """

    ids: Ids
    values: Float32

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.ids.shape != (len(self.values),) or not 0 < self.values.shape[1] <= _LONGEST:
            raise DataError(f"vectors: {self.values.shape} numbers for {self.ids.shape} names; each has 1 to {_LONGEST}")
        if not np.isfinite(self.values).all():
            raise DataError("vectors: a number is not finite")
        if np.any(self.ids[1:] <= self.ids[:-1]) or (len(self.ids) and self.ids[0] < 0):
            raise DataError("vectors: names are not in order, or one is there twice")

    def __len__(self) -> int:
        return len(self.ids)

    def numbers(self, ids: Ids | Int64) -> Int64:
        """Return which vector each key has, -1 for none."""
        if not len(self.ids):
            return np.full(len(ids), -1, np.int64)
        where = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return np.where(self.ids[where] == ids, where, -1)

    def with_ids(self, ids: Ids) -> Vectors:
        """Return the same vectors under other numbers of their keys."""
        order = np.argsort(ids, kind="stable")
        return replace(self, ids=ids[order], values=self.values[order])

    @classmethod
    def of(cls, ids: Ids, values: Float32) -> Vectors:
        """Return vectors of any length and in any order, brought to length 1; those that are 0 stay so."""
        lengths = np.linalg.norm(values.astype(np.float64), axis=1, keepdims=True)
        order = np.argsort(ids, kind="stable")
        units = (values / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
        return cls(ids[order], units[order])
