"""What a run believes about the columns of tables, as joins need it: the empty cells of a column, filled once.

A row has one value in a column, so how likely a fact is does not depend on where it is asked: `which rows are Rock?` and
`what is row 7?` read the same cells.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from relatum.arrays import Bool, Float64, Int64
from relatum.data.vocabulary import Ids
from relatum.runs.column_answers import ColumnQuestions
from relatum.runs.trained import Trained

_VALUES = 64  # of a cell, at most: others are next to impossible
_CELLS = 4096  # that are filled at once
_MOST = 1 << 24  # values of cells that are kept


class ColumnTruths:
    """The empty cells of a column whose facts are a row and its value.

    Args:
        column: what fills them.
        rows: the entities of rows without a known value, ascending.
    """

    def __init__(self, column: ColumnQuestions, rows: Ids) -> None:
        self._column, self._rows = column, rows

    @classmethod
    def of(cls, run: Trained, relation: str, rows: Ids) -> ColumnTruths | None:
        """Return what a run believes about a relation; None if that is no column of a table, or has too many gaps."""
        schema = run.schema[relation]
        if schema.arity != 2 or (0,) not in run.keys_of(relation) or len(rows) * _VALUES > _MOST:
            return None
        column = ColumnQuestions.of(run, relation, 1)
        return None if column is None else cls(column, rows)

    def best(self, position: int, questions: Ids, k: int) -> tuple[Ids, Float64, Float64]:
        """Return the best answers to questions at a position, [n, width] both, -1 for none; and what others are at most."""
        if position == 1:
            found = np.full((questions.shape[1], _VALUES), -1, np.int32)
            values = np.zeros(found.shape)
            where, there = self._where(questions[0])
            found[there], values[there] = self._cells[0][where[there]], self._cells[1][where[there]]
            return found, values, np.zeros(len(found))
        lists = [self._of_value(int(value)) for value in questions[1]]
        width = max([1, *(len(rows) for rows, _ in lists)])
        found, values = np.full((len(lists), width), -1, np.int32), np.zeros((len(lists), width))
        for number, (rows, likely) in enumerate(lists):
            found[number, : len(rows)], values[number, : len(rows)] = rows, likely
        return found, values, np.zeros(len(lists))

    def values(self, facts: Ids) -> Float64:
        """Return how likely it is that rows have values, int32[2, n]; 0 for a row that has another."""
        where, there = self._where(facts[0])
        same = (self._cells[0][where] == facts[1][:, None]) & there[:, None]
        return np.asarray(np.where(same, self._cells[1][where], 0.0).sum(1))

    def _where(self, rows: Ids) -> tuple[Int64, Bool]:
        """Return where rows stand among those with a gap, and which do."""
        if not len(self._rows):
            return np.zeros(len(rows), np.int64), np.zeros(len(rows), np.bool_)
        where = np.minimum(np.searchsorted(self._rows, rows), len(self._rows) - 1)
        return where, self._rows[where] == rows

    @cached_property
    def _cells(self) -> tuple[Ids, Float64]:
        """The most probable values of each row with a gap, [rows, values], and their probabilities."""
        if not len(self._rows):
            return np.full((1, _VALUES), -1, np.int32), np.zeros((1, _VALUES))
        parts = []
        for start in range(0, len(self._rows), _CELLS):
            rows = self._rows[start : start + _CELLS]
            parts.append(self._column.best(np.stack([rows, np.zeros_like(rows)]), _VALUES))
        entities, likely = zip(*parts, strict=True)
        return np.concatenate(entities), np.concatenate(likely)

    @cached_property
    def _by_value(self) -> tuple[Ids, Int64, Float64]:
        """All values of cells, ascending, with the rows that may have them and how likely, the likeliest first."""
        entities, likely = self._cells
        rows, columns = np.nonzero((entities >= 0) & (likely > 0))
        values, worth = entities[rows, columns], likely[rows, columns]
        order = np.lexsort((rows, -worth, values))
        return values[order], rows[order], worth[order]

    def _of_value(self, value: int) -> tuple[Ids, Float64]:
        values, rows, worth = self._by_value
        low, high = np.searchsorted(values, [value, value + 1])
        return self._rows[rows[low:high]], worth[low:high]
