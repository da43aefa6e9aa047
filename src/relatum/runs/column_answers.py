"""Questions that have one answer, since the given entities hold a key: answered as an empty cell is filled."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from relatum.arrays import Bool, Float64, Int64
from relatum.data.row_store import EMPTY, RowStore, TableColumn, TableSchema
from relatum.data.vocabulary import Ids
from relatum.imputation.answers import Imputed
from relatum.imputation.models import ColumnModels
from relatum.runs.trained import Trained

_ALL_PARTS = 2
_VALUES = 64  # of a cell, at most: others are next to impossible
_CELLS = 4096  # that are filled at once
_MOST = 1 << 24  # values of cells that are kept


class ColumnQuestions:
    """What answers questions about a column of a table, whose probabilities sum to 1 at most."""

    def __init__(self, run: Trained, rows: RowStore, models: ColumnModels, schema: TableSchema, column: TableColumn) -> None:
        self._run, self._models, self._schema, self._column = run, models, schema, column
        self._cells = run.entity_cells
        self._entities = np.full(len(rows.names) + 1, -1, np.int64)  # of each cell; the last is none
        there = self._cells >= 0
        self._entities[self._cells[there]] = np.flatnonzero(there)
        self._row_of: Int64 | None = None
        if schema.row_key is not None and column.relation != schema.relation:
            keys = rows[schema.name].column(schema.row_key)
            self._row_of = np.full(len(rows.names), -1, np.int64)
            self._row_of[keys[keys >= 0][::-1]] = np.flatnonzero(keys >= 0)[::-1]

    @classmethod
    def of(cls, run: Trained, relation: str, position: int) -> ColumnQuestions | None:
        """Return what answers questions with this position open; None if the others do not hold a key, or without tables."""
        rows, models, keys = run.split.rows, run.columns, run.keys_of(relation)
        if rows is None or models is None or all(position in key for key in keys):
            return None
        for schema in rows.schemas:
            for column in schema.columns:
                own = (column.relation, column.position) == (relation, position) and column.name != schema.row_key
                if own and (schema.name, column.name) in models.models:
                    return cls(run, rows, models, schema, column)
        return None

    def best(self, questions: Ids, k: int) -> tuple[Ids, Float64]:
        """Return the k most probable answers to questions, int32[arity, n], and their probabilities; -1 for none."""
        cells = np.full((len(self._schema.columns), questions.shape[1]), EMPTY, np.int32)
        for index, one in enumerate(self._schema.columns):
            position = self._position(one)
            if position is not None:
                cells[index] = self._cells[questions[position]]
        found = np.full((questions.shape[1], k), -1, np.int32)
        likely = np.zeros((questions.shape[1], k))
        rows = np.full(questions.shape[1], -1, np.int64)
        if self._row_of is not None and self._schema.row_key is not None:
            keys = cells[self._schema.index(self._schema.row_key)]
            rows = np.where(keys >= 0, self._row_of[keys], -1)
        for some in (np.flatnonzero(rows >= 0), np.flatnonzero(rows < 0)):
            if len(some):
                imputed = self._imputed(rows[some] if rows[some[0]] >= 0 else None, cells[:, some])
                entities = np.where(imputed.ids >= 0, self._entities[imputed.ids], -1)
                order = np.argsort(entities < 0, axis=1, kind="stable")[:, :k]
                width = order.shape[1]
                found[some, :width] = np.take_along_axis(entities, order, 1)
                likely[some, :width] = np.take_along_axis(imputed.probabilities, order, 1)
        return found, np.where(found >= 0, likely, 0.0)

    def held_out(self, part: int) -> Float64:
        """Return the probabilities of what the held-out cells of the column hold, by those of no part; 0 if none has it."""
        held = self._models.store[self._schema.name]
        index = self._schema.index(self._column.name)
        there = np.flatnonzero((held.parts[index] == part) & (held.cells[index] >= 0))
        imputed = self._models.answer(self._schema.name, self._column.name, there, scores=self._run.cell_scores)
        right = imputed.ids == held.cells[index, there].astype(np.int64)[:, None]
        return np.asarray(np.where(right, imputed.probabilities, 0.0).sum(1))

    def _position(self, one: TableColumn) -> int | None:
        """Return the position of a question that has what a column holds; None if none does, or it is the open one."""
        if self._column.relation != self._schema.relation:
            return 0 if one.name == self._schema.row_key else None
        return one.position if one.relation == self._column.relation and one.position != self._column.position else None

    def _imputed(self, rows: Int64 | None, cells: Ids) -> Imputed:
        table, column, scores = self._schema.name, self._column.name, self._run.cell_scores
        if rows is not None:
            return self._models.answer(table, column, rows, most_part=_ALL_PARTS, scores=scores)
        return self._models.answer(table, column, cells=cells, most_part=_ALL_PARTS, scores=scores)


class ColumnTruths:
    """The empty cells of a column whose facts are a row and its value, filled once: what a run believes, as joins need it.

    A row has one value in a column, so how likely a fact is does not depend on where it is asked: `which rows are Rock?` and
    `what is row 7?` read the same cells.
    """

    def __init__(self, column: ColumnQuestions, rows: Ids) -> None:
        self._column, self._rows = column, rows
        self._cells = self._filled()  # all at once: of what takes long, a server need not begin again and again

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

    def all(self) -> tuple[Ids, Float64]:
        """Return all facts about rows with a gap, int32[2, n], the likeliest first, and how likely they are."""
        values, rows, worth = self._by_value
        order = np.argsort(-worth, kind="stable")
        return np.stack([self._rows[rows[order]], values[order]]).astype(np.int32), worth[order]

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

    def _filled(self) -> tuple[Ids, Float64]:
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
