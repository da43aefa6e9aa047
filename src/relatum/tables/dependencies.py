"""Functional dependencies of a table, found in its rows: which column determines which, always or nearly so."""

from __future__ import annotations

import numpy as np

from relatum.arrays import Bool
from relatum.data.row_store import EMPTY, Dependency
from relatum.data.vocabulary import Ids

_SAMPLED = 20_000  # rows that show which pairs of columns are worth a look at all rows
_LEAST_SAMPLED = 1_000
_COMPARED = 1 << 29  # cells in all: where there are many columns, fewer rows are drawn
_LIKELY = 0.8  # the share of neighbours in a group that agree, from which on a pair is looked at
_LEAST = 0.95  # the share of rows that have the usual value of their group, if this is a dependency
_ROWS = 10  # in groups of two or more, at least
_WRONG = 0.5  # of what the most frequent value alone gets wrong, at most
_SLACK = 1.5  # how much more may be wrong in a sample
_MOST_COLUMNS = 400


def find_dependencies(cells: Ids, names: list[str], seed: int = 0) -> tuple[Dependency, ...]:
    """Return which single columns determine which others, by the name of the columns; best first.

    Groups of one row say nothing and are left out, so a key determines nothing here: that it does is known.

    Args:
        cells: int32[columns, rows], with gaps.
        names: of the columns.
        seed: which rows are drawn where there are many.
    """
    looked = cells[:_MOST_COLUMNS]
    count, rows = looked.shape
    drawn = min(_SAMPLED, max(_LEAST_SAMPLED, _COMPARED // max(count, 1) ** 2))
    is_sampled = rows > drawn
    some = looked
    if is_sampled:
        some = looked[:, np.sort(np.random.default_rng(seed).choice(rows, drawn, replace=False))]
    usual = [_usual(column) for column in looked]
    found = []
    for first in range(count):
        for second in np.flatnonzero(_likely(some, first)).tolist():
            if is_sampled and not _is_dependency(_share(some[first], some[second])[0], usual[second], _SLACK):
                continue
            share, telling = _share(looked[first], looked[second])
            if telling >= _ROWS and _is_dependency(share, usual[second]):
                found.append(Dependency((names[first],), names[second], float(share), int(telling)))
    return tuple(sorted(found, key=lambda one: (-one.share, -one.rows, one.columns, one.determines)))


def _is_dependency(share: float, usual: float, slack: float = 1.0) -> bool:
    """Return whether so many rows have the usual value of their group that more is behind it than a frequent value."""
    return 1 - share <= slack * min(1 - _LEAST, _WRONG * (1 - usual)) + 1e-12


def _usual(column: Ids) -> float:
    """Return how many of the values of a column are the most frequent one, as a share."""
    there = column[column >= 0]
    return float(np.bincount(there).max() / len(there)) if len(there) else 1.0


def _likely(cells: Ids, first: int) -> Bool:
    """Return for each column whether neighbours agree in it where the rows are sorted by one column."""
    order = np.argsort(cells[first], kind="stable")
    given = cells[first][order]
    same = (given[1:] == given[:-1]) & (given[1:] >= 0)
    if not same.any():
        return np.zeros(len(cells), np.bool_)
    left, right = cells[:, order[1:][same]], cells[:, order[:-1][same]]
    differ = (left != right) & (left != EMPTY) & (right != EMPTY)
    both = np.count_nonzero((left != EMPTY) & (right != EMPTY), axis=1)
    likely: Bool = np.count_nonzero(differ, axis=1) <= (1 - _LIKELY) * both
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
