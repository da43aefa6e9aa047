"""Some rows and columns of a table: gathered, and moved by Adagrad.

Columns that come in runs of neighbours are copied a run at a time, several times as fast as one by one.
"""

from __future__ import annotations

import numpy as np

from relatum.arrays import Float32, Int64
from relatum.kernels import parallel
from relatum.kernels.jit import exact, strict_inline

_ROWS = 512  # in a part at least
_EPSILON = np.float32(1e-10)  # what keeps the first step finite


def adagrad(
    table: Float32,
    history: Float32,
    rows: Int64,
    gradient: Float32,
    learning_rate: float,
    weight_decay: float = 0.0,
    columns: Int64 | None = None,
    among: tuple[int, int] | None = None,
) -> None:
    """Take one step, in place, on the given distinct rows of table [n, d] and its sums of squares, history [n, d].

    The gradient is [rows, d], or [rows, columns] where distinct columns are given: the others are not touched. With `among`
    only rows from its first to before its second are, by the calling thread, and `rows` ascend; else threads share them.
    """
    with np.errstate(over="ignore"):  # a rate beyond float32 is infinite: the model diverges, and that is told
        numbers = (np.float32(learning_rate), np.float32(weight_decay))

    def step(first: int, last: int) -> None:
        if columns is None:
            _step(table, history, rows, gradient, *numbers, first, last)
        else:
            _step_block(table, history, rows, columns, gradient, *numbers, first, last)

    if among is not None:
        step(*np.searchsorted(rows, among).tolist())
        return
    ranges = parallel.cuts(len(rows), _ROWS)
    parallel.run(lambda n: step(*ranges[n]), len(ranges))


@exact
def _step(table, history, rows, gradient, learning_rate, weight_decay, first, last):  # type: ignore[no-untyped-def]
    """Take one Adagrad step on table[rows[i]] for i in first..last, in place."""
    for i in range(first, last):
        values, sums, slopes = table[rows[i]], history[rows[i]], gradient[i]
        for k in range(len(values)):
            slope = slopes[k] + weight_decay * values[k]
            sums[k] += slope * slope
            values[k] -= learning_rate * slope / (np.sqrt(sums[k]) + _EPSILON)


@exact
def _step_block(table, history, rows, columns, gradient, learning_rate, weight_decay, first, last):  # type: ignore[no-untyped-def]
    """Take one Adagrad step on table[rows[i], columns] for i in first..last, in place."""
    old, squares = np.empty(len(columns), np.float32), np.empty(len(columns), np.float32)
    runs = runs_of(columns)
    for i in range(first, last):
        values, sums, slopes = table[rows[i]], history[rows[i]], gradient[i]
        gather(values, columns, runs, old)  # taken out of the rows, numbers can be computed side by side
        gather(sums, columns, runs, squares)
        for k in range(len(columns)):
            slope = slopes[k] + weight_decay * old[k]
            squares[k] += slope * slope
            old[k] -= learning_rate * slope / (np.sqrt(squares[k]) + _EPSILON)
        _scatter(old, columns, runs, values)
        _scatter(squares, columns, runs, sums)


@strict_inline
def runs_of(columns):  # type: ignore[no-untyped-def]
    """Return where each run of 8 neighbours begins, if the columns are made of such runs, and else nothing."""
    none = np.empty(0, np.uint64)
    if len(columns) % 8:
        return none
    for k in range(len(columns)):
        if k % 8 and columns[k] != columns[k - 1] + 1:
            return none
    return columns[::8].astype(np.uint64)


@strict_inline
def gather(row, columns, runs, out):  # type: ignore[no-untyped-def]
    """Copy row[columns] to out."""
    if len(runs):
        at = np.uint64(0)
        for run in runs:
            _copy_run(row, run, out, at)
            at += np.uint64(8)
    else:
        for k in range(len(columns)):
            out[k] = row[columns[k]]


@strict_inline
def _scatter(values, columns, runs, row):  # type: ignore[no-untyped-def]
    """Copy values to row[columns]."""
    if len(runs):
        at = np.uint64(0)
        for run in runs:
            _copy_run(values, at, row, run)
            at += np.uint64(8)
    else:
        for k in range(len(columns)):
            row[columns[k]] = values[k]


@strict_inline
def _copy_run(source, i, target, j):  # type: ignore[no-untyped-def]
    """Copy 8 neighbours: all are read before one is written, and no index can be negative, so that it is one move."""
    one = np.uint64(1)
    j1, j2, j3 = j + one, j + np.uint64(2), j + np.uint64(3)
    j4, j5, j6, j7 = j + np.uint64(4), j + np.uint64(5), j + np.uint64(6), j + np.uint64(7)
    a, b, c, d = source[i], source[i + one], source[i + np.uint64(2)], source[i + np.uint64(3)]
    e, f, g, h = source[i + np.uint64(4)], source[i + np.uint64(5)], source[i + np.uint64(6)], source[i + np.uint64(7)]
    target[j], target[j1], target[j2], target[j3] = a, b, c, d
    target[j4], target[j5], target[j6], target[j7] = e, f, g, h


def block(table: Float32, rows: Int64, columns: Int64) -> Float32:
    """Return table[rows][:, columns]."""
    found = np.empty((len(rows), len(columns)), np.float32)
    _take(table, rows, columns, found)
    return found


@exact
def _take(table, rows, columns, found):  # type: ignore[no-untyped-def]
    runs = runs_of(columns)
    for i in range(len(rows)):
        gather(table[rows[i]], columns, runs, found[i])
