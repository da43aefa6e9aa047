"""What rows beside a row hold: those next to it by the number in their key, and those with similar vectors.

What was entered together often has the same values; so have rows whose vectors are close, each counted by how close it is.
"""

from __future__ import annotations

import numpy as np

from relatum.arrays import Float64, Int64
from relatum.data.row_store import Vectors
from relatum.data.vocabulary import Ids
from relatum.imputation.contexts import ColumnValues, TableView
from relatum.imputation.features import Candidates


class KeyOrder:
    """The known cells of a column in the order of the table's key, a whole number; none if it has no such key."""

    def __init__(self, view: TableView, column: str, values: ColumnValues) -> None:
        self._view = view
        self._index = -1
        self._numbers: Int64 = np.full(view.cells.shape[1], -1)
        self.key = view.schema.row_key
        if self.key is None or self.key == column or view.schema.column(self.key).value_type != "whole":
            self.key = None
            return
        self._index = view.schema.index(self.key)
        self._numbers = self._parsed(view.cells[self._index])
        order = np.argsort(self._numbers, kind="stable")
        order = order[(self._numbers[order] >= 0) & (values.v[order] >= 0)]
        self._keys, self._values = self._numbers[order], np.append(values.v[order], -1)

    def _parsed(self, cells: Ids) -> Int64:
        """Return the numbers in keys; -1 for what is none."""
        names, prefix = self._view.store.names, f"{self._view.schema.columns[self._index].entity_type}:"
        texts = (names[int(cell)].removeprefix(prefix) if cell >= 0 else "" for cell in cells)
        return np.array(
            [int(text) if text.isascii() and text.isdigit() and len(text) < 19 else -1 for text in texts], np.int64
        )

    def of(self, cells: Ids, rows: Int64 | None) -> Int64:
        """Return what the column holds in the known rows just before and just after, int64[n, 2]; -1 where there is none."""
        found = np.full((cells.shape[1], 2), -1, np.int64)
        if self.key is None or not len(self._keys):
            return found
        numbers = self._numbers[rows] if rows is not None else self._parsed(cells[self._index])
        begin, end = np.searchsorted(self._keys, numbers), np.searchsorted(self._keys, numbers, "right")
        inside = numbers >= 0
        found[:, 0] = np.where(inside & (begin > 0), self._values[begin - 1], -1)
        found[:, 1] = np.where(inside, self._values[end], -1)
        return found


_COUNTED = 24  # neighbours of a row
_COMPARED = 20_000  # rows that may be neighbours; where more have vectors, so many evenly over the table
_AT_ONCE = 1 << 23  # similarities in one array
_DIGITS = 4  # of a similarity: sums of products differ in the last bits by the machine
_POWER = 4  # of the similarity that a neighbour counts with
NAMED = 8  # values of neighbours that are candidates, at most


class Neighbours:
    """The rows of a table with vectors, as far as they hold a value of a column.

    A row is never its own neighbour, so that what it holds itself is not counted.
    """

    def __init__(self, view: TableView, values: ColumnValues, vectors: Vectors) -> None:
        self._vectors = vectors
        self._key = view.schema.index(str(view.schema.row_key))
        rows = np.flatnonzero(values.v >= 0)
        numbers = vectors.numbers(view.cells[self._key, rows])
        rows, numbers = rows[numbers >= 0], numbers[numbers >= 0]
        if len(rows) > _COMPARED:
            chosen = np.linspace(0, len(rows) - 1, _COMPARED).astype(np.int64)
            rows, numbers = rows[chosen], numbers[chosen]
        self._numbers, self._values = numbers, values.v[rows]
        self._beside = vectors.values[numbers]

    def __len__(self) -> int:
        return len(self._numbers)

    def of(self, cells: Ids) -> tuple[Int64, Float64]:
        """Return what the nearest rows hold, by number, -1 for none, and how much each counts; [m, k], nearest first."""
        own = self._vectors.numbers(cells[self._key])
        width = min(_COUNTED, len(self))
        found, weights = np.full((len(own), width), -1, np.int64), np.zeros((len(own), width))
        there = np.flatnonzero(own >= 0)
        step = max(1, _AT_ONCE // max(1, len(self)))
        for start in range(0, len(there) if width else 0, step):
            rows = there[start : start + step]
            close = (self._vectors.values[own[rows]] @ self._beside.T).round(_DIGITS)
            close[own[rows][:, None] == self._numbers] = -1.0
            best = np.sort(np.argpartition(-close, width - 1, 1)[:, :width], 1)
            best = np.take_along_axis(best, np.argsort(-np.take_along_axis(close, best, 1), 1, kind="stable"), 1)
            similar = np.maximum(np.take_along_axis(close, best, 1), 0.0).astype(np.float64)
            weights[rows] = similar**_POWER
            found[rows] = np.where(similar > 0, self._values[best], -1)
        return found, weights

    @staticmethod
    def share(found: Int64, weights: Float64, candidates: Candidates, strength: float) -> Float64:
        """Return P(v | neighbours) of candidates and of all others, [m, c + 1], smoothed towards the prior share."""
        values, base = candidates.values, candidates.share
        here = np.zeros(values.shape)
        for index in range(found.shape[1]):
            same = (values == found[:, index, None]) & (found[:, index, None] >= 0)
            here += same * weights[:, index, None]
        total = weights.sum(1, keepdims=True)
        counts = np.concatenate([here, np.maximum(total - here.sum(1, keepdims=True), 0.0)], 1)
        return np.asarray((counts + strength * base) / (total + strength))
