"""Functional dependencies of a table, found in its rows: which column determines which, always or nearly so."""

from __future__ import annotations

import numpy as np

from relatum.arrays import Bool
from relatum.data.row_store import EMPTY, Dependency
from relatum.data.vocabulary import Ids

__all__ = ["find_dependencies"]

_SAMPLED = 20_000  # rows that show which pairs of columns are worth a look at all rows
_LIKELY = 0.9  # the share of neighbours in a group that agree, from which on a pair is looked at
_LEAST = 0.95  # the share of rows that have the usual value of their group, if this is a dependency
_ROWS = 10  # in groups of two or more, at least
_WRONG = 0.5  # of what the most frequent value alone gets wrong, at most
_MOST_COLUMNS = 400


def find_dependencies(cells: Ids, names: list[str], seed: int = 0) -> tuple[Dependency, ...]:
    """Return which single columns determine which others, by the name of the columns; best first.

    Groups of one row say nothing and are left out, so a key determines nothing here: that it does is known.

    Args:
        cells: int32[columns, rows], with gaps.
        names: of the columns.
        seed: which rows are drawn where there are many.
    """
    count, rows = cells.shape
    some = cells
    if rows > _SAMPLED:
        some = cells[:, np.sort(np.random.default_rng(seed).choice(rows, _SAMPLED, replace=False))]
    found = []
    for first in range(min(count, _MOST_COLUMNS)):
        for second in np.flatnonzero(_likely(some, first)).tolist():
            share, telling = _share(cells[first], cells[second])
            usual = np.bincount(cells[second][cells[second] >= 0]).max() / np.count_nonzero(cells[second] >= 0)
            if telling >= _ROWS and share >= _LEAST and 1 - share <= _WRONG * (1 - usual):
                found.append(Dependency((names[first],), names[second], float(share), int(telling)))
    return tuple(sorted(found, key=lambda one: (-one.share, -one.rows, one.columns, one.determines)))


def _likely(cells: Ids, first: int) -> Bool:
    """Return for each column whether neighbours agree in it where the rows are sorted by one column."""
    order = np.argsort(cells[first], kind="stable")
    given = cells[first][order]
    same = (given[1:] == given[:-1]) & (given[1:] >= 0)
    if not same.any():
        return np.zeros(len(cells), np.bool_)
    left, right = cells[:, order[1:][same]], cells[:, order[:-1][same]]
    both = (left != EMPTY) & (right != EMPTY)
    agree = np.count_nonzero((left == right) & both, axis=1) / np.maximum(np.count_nonzero(both, axis=1), 1)
    likely: Bool = agree >= _LIKELY
    likely[first] = False
    return likely


def _share(given: Ids, determined: Ids) -> tuple[float, int]:
    """Return how many of the rows in groups of two or more have the usual value of their group, and how many these are."""
    both = (given >= 0) & (determined >= 0)
    keys = given[both].astype(np.int64) << 32 | determined[both].astype(np.int64)
    pairs, counts = np.unique(keys, return_counts=True)
    groups = pairs >> 32
    starts = np.flatnonzero(np.append(True, groups[1:] != groups[:-1])) if len(groups) else np.empty(0, np.int64)
    if not len(starts):
        return 0.0, 0
    sizes, most = np.add.reduceat(counts, starts), np.maximum.reduceat(counts, starts)
    several = sizes > 1
    rows = int(sizes[several].sum())
    return (float(most[several].sum() / rows), rows) if rows else (0.0, 0)
