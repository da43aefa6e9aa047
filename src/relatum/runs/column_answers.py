"""Questions that have one answer, since the given entities hold a key: answered as an empty cell is filled."""

from __future__ import annotations

import numpy as np

from relatum.arrays import Float64, Int64
from relatum.data.row_store import EMPTY, RowStore, TableColumn, TableSchema
from relatum.data.vocabulary import Ids
from relatum.imputation.answers import Imputed
from relatum.imputation.models import ColumnModels
from relatum.runs.trained import Trained

_ALL_PARTS = 2


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
