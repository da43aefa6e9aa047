"""The obvious ways to fill a cell, over the other columns of its row, and how good filled cells are.

Any model has to be better than these ways: by accuracy, by macro-F1 and by calibration error.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from relatum.arrays import Float64, Int64
from relatum.data.row_store import RowStore
from relatum.data.vocabulary import Ids
from relatum.imputation.contexts import ColumnValues, Context, Counted, TableView
from relatum.imputation.paths import Path, PathReader


def accuracy(predicted: Int64, truth: Int64 | Ids) -> float:
    """Return the share of cells that are right; NaN without any."""
    return float(np.mean(predicted == truth)) if len(truth) else float("nan")


def macro_f1(predicted: Int64, truth: Int64 | Ids) -> float:
    """Return the mean of F1 over the values that some cell has, each counted alike; NaN without any."""
    values, at = np.unique(truth, return_inverse=True)
    if not len(values):
        return float("nan")
    right = np.bincount(at, predicted == truth, len(values))
    where = np.minimum(np.searchsorted(values, predicted), len(values) - 1)
    named = np.bincount(where, values[where] == predicted, len(values))
    return float(np.mean(2 * right / (named + np.bincount(at, minlength=len(values)))))


def calibration_error(probabilities: Float64, right: np.ndarray, groups: int = 10) -> float:
    """Return by how much probabilities miss how often answers are right, as a mean over groups of equal width."""
    if not len(probabilities):
        return float("nan")
    group = np.minimum((probabilities * groups).astype(np.int64), groups - 1)
    return float(np.abs(np.bincount(group, probabilities - right, groups)).sum() / len(probabilities))


BASELINES = ("most frequent", "counting", "naive Bayes", "best single column")

_NUMBERS = 8_000_000  # in an array of scores
_SMALL = 1e-6  # how much the most frequent value counts where nothing else tells


def baseline_answers(store: RowStore, table: str, column: str, rows: Int64, *, most_part: int = 0) -> dict[str, Int64]:
    """Return what each of `BASELINES` puts into cells of rows that are not seen, by id; -1 where a column has no value.

    Most frequent: the value that the column has most often. Counting: the value with the largest sum of P(value | other
    cell). Naive Bayes: P(value) times each P(other cell | value), with one more of each counted. Best single column: the
    value that comes most often with what one column holds, the column that finds most known cells, each left out.
    """
    view = TableView(PathReader(store, most_part), table)
    values = ColumnValues(view, column)
    rows = np.asarray(rows, np.int64)
    if not len(values.ids):
        return {name: np.full(len(rows), -1, np.int64) for name in BASELINES}
    counts = np.bincount(values.v[values.v >= 0], minlength=len(values.ids)).astype(np.float64)
    others = list(_others(view, column, values))
    rule = _best_rule(others, values, counts)
    found: dict[str, list[Int64]] = {name: [] for name in BASELINES}
    step = max(1, _NUMBERS // len(values.ids))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        cells = store[table].given(column, part, most=most_part)
        sums, logs = _scores(others, cells, counts)
        best = np.full(len(part), counts.argmax())
        found["most frequent"].append(best)
        found["counting"].append(sums.argmax(1))
        found["naive Bayes"].append(logs.argmax(1))
        if rule is None:
            found["best single column"].append(best)
        else:
            named = rule.counts.most(rule.of(cells, None)[:, 0], 1)[0][:, 0]
            found["best single column"].append(np.where(named >= 0, named, best))
    return {name: values.ids[np.concatenate(each)] if each else np.zeros(0, np.int64) for name, each in found.items()}


def _others(view: TableView, column: str, values: ColumnValues) -> Iterator[Counted]:
    """Yield the other columns of the table, counted; not those that are a part of this one, nor constants."""
    for one in view.schema.columns:
        if one.name != column and one.part_of != column and view.codes(Path(one.name))[0].size > 1:
            yield Counted(view, Context((Path(one.name),), (1,)), values)


def _scores(others: list[Counted], cells: Ids, counts: Float64) -> tuple[Float64, Float64]:
    """Return for each row, by its cells, and value the sum of P(value | other cell), and the logarithm of naive Bayes."""
    share, rows = counts / counts.sum(), cells.shape[1]
    sums = np.tile(_SMALL * share, (rows, 1))
    logs = np.tile(np.log(share), (rows, 1))
    every = np.arange(len(counts))[None, :]
    for one in others:
        x = one.of(cells, None)
        known = x >= 0
        here = one.counts.of(np.broadcast_to(x, (rows, len(counts))), np.broadcast_to(every, (rows, len(counts))))
        sums += np.where(known, here / np.maximum(one.counts.total(x), 1.0), 0.0)
        logs += np.where(known, np.log((here + 1) / (counts + one.size)), 0.0)
    return sums, logs


def _best_rule(others: list[Counted], values: ColumnValues, counts: Float64) -> Counted | None:
    """Return the column that is most often right for known cells, each of which is left out in its turn."""
    known = np.flatnonzero(values.v >= 0)
    own = values.v[known]
    best, chosen = -1.0, None
    for one in others:
        x = one.view.codes(one.context.paths[0])[1][known, 0]
        if not ((x >= 0).any() and one.size < len(known)):
            continue
        first, often = one.counts.most(x, 2)
        # without the cell itself its value must still come first; where nothing else is left, the most frequent one counts
        left = often[:, 0] - 1
        alone = (x < 0) | (one.counts.total(x) <= 1)
        right = (first[:, 0] == own) & (left > 0) & (left >= often[:, 1])
        right = np.where(alone, own == counts.argmax(), right)
        if right.mean() > best:
            best, chosen = float(right.mean()), one
    return chosen
