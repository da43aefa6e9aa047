"""Some rows and columns of a table: gathered, and moved by Adagrad."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from relatum.kernels import parallel
from relatum.kernels.jit import exact

__all__ = ["adagrad", "block"]

Floats = npt.NDArray[np.float32]

_ROWS = 512  # in a part at least


def adagrad(
    table: Floats,
    history: Floats,
    rows: npt.NDArray[np.int64],
    gradient: Floats,
    learning_rate: float,
    weight_decay: float = 0.0,
    epsilon: float = 1e-10,
    columns: npt.NDArray[np.int64] | None = None,
) -> None:
    """Take one step, in place, on the given distinct rows of table [n, d] and its sums of squares, history [n, d].

    Args:
        table: the parameters.
        history: the sum of squared slopes of each parameter so far.
        rows: int64[m], distinct; the other rows are not touched.
        gradient: [m, d], of those rows; [m, c] if columns are given.
        learning_rate: the learning rate.
        weight_decay: added to the gradient, times the parameter.
        epsilon: what keeps the first step finite.
        columns: int64[c], distinct; the other columns are not touched. None takes all.
    """
    ranges = parallel.cuts(len(rows), _ROWS)
    numbers = (np.float32(learning_rate), np.float32(weight_decay), np.float32(epsilon))
    if columns is None:
        parallel.run(lambda n: _step(table, history, rows, gradient, *numbers, *ranges[n]), len(ranges))
    else:
        parallel.run(lambda n: _step_block(table, history, rows, columns, gradient, *numbers, *ranges[n]), len(ranges))


@exact
def _step(table, history, rows, gradient, learning_rate, weight_decay, epsilon, first, last):  # type: ignore[no-untyped-def]
    """Take one Adagrad step on table[rows[i]] for i in first..last, in place."""
    for i in range(first, last):
        values, sums, slopes = table[rows[i]], history[rows[i]], gradient[i]
        for k in range(len(values)):
            slope = slopes[k] + weight_decay * values[k]
            sums[k] += slope * slope
            values[k] -= learning_rate * slope / (np.sqrt(sums[k]) + epsilon)


@exact
def _step_block(table, history, rows, columns, gradient, learning_rate, weight_decay, epsilon, first, last):  # type: ignore[no-untyped-def]
    """Take one Adagrad step on table[rows[i], columns] for i in first..last, in place."""
    old, squares = np.empty(len(columns), np.float32), np.empty(len(columns), np.float32)
    for i in range(first, last):
        values, sums, slopes = table[rows[i]], history[rows[i]], gradient[i]
        for k in range(len(columns)):  # taken out of the rows, numbers can be computed side by side
            old[k] = values[columns[k]]
            squares[k] = sums[columns[k]]
        for k in range(len(columns)):
            slope = slopes[k] + weight_decay * old[k]
            squares[k] += slope * slope
            old[k] -= learning_rate * slope / (np.sqrt(squares[k]) + epsilon)
        for k in range(len(columns)):
            values[columns[k]] = old[k]
            sums[columns[k]] = squares[k]


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
