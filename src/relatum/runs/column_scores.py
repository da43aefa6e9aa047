"""What the embedding says about the cells of a table, for the models of its columns."""

from __future__ import annotations

import numpy as np
import torch

from relatum.arrays import Bool, Float64, Int64
from relatum.data.row_store import UNKNOWN, RowStore, TableSchema
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.imputation.answers import Scores
from relatum.models.base import Model, Parameters

_PAIRS = 1 << 16  # of a question and a candidate that are scored at once


def embedding_scores(model: Model, tables: Parameters, rows: RowStore) -> Scores:
    """Return what scores candidates for cells: as answers to the question that the row's other cells are.

    A cell that is in no relation, or whose question lacks an entity that the model knows, has no scores.
    """
    known = {name: number for number, name in enumerate(model.graph.entities)}
    numbers = np.array([*(known.get(name, -1) for name in rows.names), -1, -1], np.int64)  # EMPTY and UNKNOWN are the last

    @torch.no_grad()
    def scores(table: str, column: str, cells: Ids, candidates: Int64) -> Float64:
        found = np.full(candidates.shape, np.nan)
        schema = rows[table].schema
        one = schema.column(column)
        if one.relation is None or one.position is None or one.relation not in model.schema:
            return found
        questions = numbers[cells[_columns(schema, one.relation, model.schema[one.relation].arity)]]
        questions[one.position] = 0
        whole: Bool = np.all(questions >= 0, axis=0)
        entities = np.where((candidates >= 0) & whole[:, None], numbers[candidates], -1)
        pairs, where = np.nonzero(entities >= 0)
        relation = torch.tensor(model.schema.id(one.relation))
        side = model.candidates(tables, relation, one.position, None)
        distinct = np.unique(pairs)
        given = torch.from_numpy(np.ascontiguousarray(questions[:, distinct]))
        queries = model.queries(tables, relation.expand(len(distinct)), given, one.position)
        combine, index = model.combine(tables), np.searchsorted(distinct, pairs)
        for start in range(0, len(pairs), _PAIRS):
            part = slice(start, start + _PAIRS)
            right = torch.from_numpy(entities[pairs[part], where[part]])
            values = combine.pairs(queries[torch.from_numpy(index[part])], side[right])
            found[pairs[part], where[part]] = values.double().numpy(force=True)
        return found

    return scores


def cells_of_entities(entities: Vocabulary, rows: RowStore) -> Ids:
    """Return what each entity is called in the cells of tables, int32[entities]; UNKNOWN for what no cell holds."""
    names = {name: number for number, name in enumerate(rows.names)}
    return np.array([names.get(name, UNKNOWN) for name in entities], np.int32)


def _columns(schema: TableSchema, relation: str, arity: int) -> list[int]:
    """Return which columns of a table are at the positions of a relation that it gave."""
    by_position = {one.position: index for index, one in enumerate(schema.columns) if one.relation == relation}
    if relation != schema.relation and schema.row_key is not None:
        by_position[0] = schema.index(schema.row_key)
    return [by_position[position] for position in range(arity)]
