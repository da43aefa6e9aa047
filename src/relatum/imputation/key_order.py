"""What the rows next to a row hold, by the number in their key: what was entered together often has the same values."""

from __future__ import annotations

import numpy as np

from relatum.arrays import Int64
from relatum.data.vocabulary import Ids
from relatum.imputation.contexts import ColumnValues, TableView


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
