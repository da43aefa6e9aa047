"""Which condition on a relation's other columns tells the rows that are wanted from those that are not."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from relatum.data.vocabulary import Ids
from relatum.rules.keys import Flags
from relatum.rules.view import Condition, View

__all__ = ["with_conditions"]

Floats = npt.NDArray[np.float64]

_TINY = 1e-12  # stands for 0 in a logarithm that is multiplied by 0
_CLEAR = 3.0  # nats beyond what the best of so many conditions gains by chance


def with_conditions(view: View, columns: Ids, wanted: Flags, unwanted: Flags) -> Iterator[View]:
    """Yield the view with one condition, with two, ..., as long as the next one tells wanted rows from unwanted ones.

    Args:
        view: columns of a relation, without conditions.
        columns: the relation's rows.
        wanted: the rows that the conditions should keep.
        unwanted: the rows that they should not; others do not matter.
    """
    rows = np.flatnonzero(wanted | unwanted)
    while True:
        free = [column for column in range(len(columns)) if column not in {*view.places, *_columns(view)}]
        best = max(_conditions(view, free, columns[:, rows], wanted[rows]), default=None)
        if best is None or best[0] <= 0:
            return
        view = view.given(best[1])
        yield view
        rows = rows[best[1].holds(columns[:, rows])]


def _columns(view: View) -> list[int]:
    return [condition.column for condition in view.conditions]


def _conditions(view: View, free: list[int], columns: Ids, wanted: Flags) -> Iterator[tuple[float, Condition]]:
    """Yield what conditions gain, less what the best of as many would gain by chance; of constants only the best."""
    many, hits = len(wanted), int(np.count_nonzero(wanted))
    if not 0 < hits < many:
        return
    for column in free:
        values, places = np.unique(columns[column], return_inverse=True)
        all_rows = np.bincount(places).astype(np.float64)
        good_rows = np.bincount(places, wanted).astype(np.float64)
        gains = _gain(good_rows, all_rows, hits, many)
        best = int(np.argmax(gains))
        yield float(gains[best]) - math.log(len(values)) - _CLEAR, Condition(column, entity=int(values[best]))
    for column in free:
        for other in (*view.places, *(later for later in free if later > column)):
            same = columns[column] == columns[other]
            good_rows, all_rows = (np.array([np.count_nonzero(rows)], np.float64) for rows in (same & wanted, same))
            gain = float(_gain(good_rows, all_rows, hits, many)[0])
            yield gain - math.log(len(columns) ** 2) - _CLEAR, Condition(column, other=other)


def _gain(hits: Floats, rows: Floats, all_hits: int, all_rows: int) -> Floats:
    """Return how many nats knowing each condition tells about which rows are wanted; 0 where it speaks against them."""
    total = np.zeros_like(hits)
    for count, margin, part in (
        (hits, rows, all_hits),
        (rows - hits, rows, all_rows - all_hits),
        (all_hits - hits, all_rows - rows, all_hits),
        ((all_rows - rows) - (all_hits - hits), all_rows - rows, all_rows - all_hits),
    ):
        expected = np.maximum(margin * (part / all_rows), _TINY)
        total += count * np.log(np.maximum(count, _TINY) / expected)
    return np.where(hits * all_rows > rows * all_hits, total, 0.0)
