"""A block of a table: chosen rows, chosen columns, in one pass and without the rows as a whole in between."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from relatum.kernels.jit import exact

__all__ = ["block"]

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


def block(table: Floats, rows: Ints, columns: Ints) -> Floats:
    """Return table[rows][:, columns]."""
    found = np.empty((len(rows), len(columns)), np.float32)
    _take(table, rows, columns, found)
    return found


@exact
def _take(table, rows, columns, found):  # type: ignore[no-untyped-def]
    for i in range(len(rows)):
        row, out = table[rows[i]], found[i]
        for k in range(len(columns)):
            out[k] = row[columns[k]]
