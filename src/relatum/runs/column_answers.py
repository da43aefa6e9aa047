"""Questions that have one answer, since the given entities hold a key: answered as an empty cell is filled."""

from __future__ import annotations

import numpy as np

from relatum.data.row_store import EMPTY, RowStore, TableColumn, TableSchema
from relatum.imputation.answers import Imputed
from relatum.runs.answers import Answer, Question
from relatum.runs.trained import Trained

__all__ = ["column_answers"]

_ALL_PARTS = 2


def column_answers(run: Trained, question: Question, k: int) -> list[Answer] | None:
    """Return the k most probable answers to a question about a column of a table, whose probabilities sum to 1 at most.

    None if it is no such question: the entities that are given do not hold a key, or there are no tables.
    """
    rows, keys = run.split.rows, run.keys_of(question.relation)
    if rows is None or run.columns is None or len(question.open) != 1 or question.free:
        return None
    (position,) = question.open
    column = _column(rows, question.relation, position)
    if column is None or all(position in key for key in keys) or (column[0].name, column[1].name) not in run.columns.models:
        return None
    imputed = _imputed(run, rows, *column, question)
    names = [(rows.names[one], likely) for one, likely in _first(imputed) if rows.names[one] in run.entities][:k]
    facts = np.repeat(run.entities_of(question), len(names), axis=1)
    facts[position] = [run.entities.id(name) for name, _ in names]
    scores = run.scorer(question.relation).scores(position, facts) if names else np.empty(0)
    return [
        Answer((name,), float(score), likely, None) for (name, likely), score in zip(names, scores.tolist(), strict=True)
    ]


def _column(rows: RowStore, relation: str, position: int) -> tuple[TableSchema, TableColumn] | None:
    """Return the column of a table that is at a position of a relation."""
    for schema in rows.schemas:
        for column in schema.columns:
            if (column.relation, column.position) == (relation, position) and column.name != schema.row_key:
                return schema, column
    return None


def _imputed(run: Trained, rows: RowStore, schema: TableSchema, column: TableColumn, question: Question) -> Imputed:
    """Return what the cell in question may hold: that of the row with the key, or of a row like the question."""
    models, table = run.columns, rows[schema.name]
    if models is None:
        raise AssertionError("there are models of columns")
    given = {position: run.entities[one] for position, one in enumerate(run.entities_of(question)[:, 0].tolist())}
    cells = np.full((len(schema.columns), 1), EMPTY, np.int32)
    key = schema.row_key
    for index, one in enumerate(schema.columns):
        is_key = one.name == key and question.relation != schema.relation
        position = 0 if is_key else one.position
        if (
            (is_key or one.relation == question.relation)
            and position in given
            and position != column.position
            and given[position] in rows.names
        ):
            cells[index] = rows.names.id(given[position])
    if key is not None and question.relation != schema.relation:
        own = np.flatnonzero(table.column(key) == cells[schema.index(key), 0])
        if len(own):
            return models.answer(schema.name, column.name, own[:1], most_part=_ALL_PARTS, scores=run.cell_scores)
    return models.answer(schema.name, column.name, cells=cells, most_part=_ALL_PARTS, scores=run.cell_scores)


def _first(imputed: Imputed) -> list[tuple[int, float]]:
    pairs = zip(imputed.ids[0].tolist(), imputed.probabilities[0].tolist(), strict=True)
    return [(one, likely) for one, likely in pairs if one >= 0]
