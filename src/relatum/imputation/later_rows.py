"""Rows that come later than all that is known: how sure a column is of them, by the latest rows that are known.

A cell taken out of the counts leaves what came at the same time: the plane's other flights of that day. Rows of tomorrow
have nothing of the kind, so what is right of single cells is too much for them.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from relatum.arrays import Bool, Int64
from relatum.data.row_store import EMPTY, RowStore
from relatum.imputation.answers import Scores, logits_of
from relatum.imputation.column_model import BoundColumn, ColumnModel, Later
from relatum.imputation.contexts import TableView
from relatum.imputation.paths import PathReader, order_of
from relatum.imputation.weights import fit_curve, probabilities

_RISING = 0.99  # the share of rows that are not before the row above them, if the rows are in the order of a column
_BLOCK, _MOST = 0.1, 0.5  # the share of cells that the latest ones are at least, and at most
_CELLS, _FEW = 2000, 50  # of these that the curve is fitted on at most, and with fewer there is none
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T].*)?")


def time_column(store: RowStore, table: str) -> str | None:
    """Return the column that says which rows of a table came later: its times, dates, what rises with its rows, or its key.

    The rows are those of the import, in their order.
    """
    schema = store[table].schema
    own = [one for one in schema.columns if one.part_of is None and one.name != schema.row_key]
    chosen = str(store.options.get("time") or "")
    named = [one.name for one in own if chosen == f"{table}.{one.name}"]
    named += [one.name for one in own if one.bins is not None and one.value_type == "date"]
    for one in own if not named else ():
        ranks = _ranks(store, table, one.name)
        if ranks is not None and (one.value_type == "text" or _rises(ranks)):
            return one.name
    key = schema.row_key
    is_number = key is not None and schema.column(key).value_type == "whole"
    return next(iter(named), key if is_number else None)


def _rises(ranks: Int64) -> bool:
    """Return whether rows are in the order of what they hold."""
    there = ranks[ranks >= 0]
    return len(there) > _FEW and bool(there[0] < there[-1]) and float((np.diff(there) >= 0).mean()) >= _RISING


def _ranks(store: RowStore, table: str, column: str) -> Int64 | None:
    """Return the rank of what each row holds, -1 for nothing; None if it has no order."""
    schema = store[table].schema
    one, cells = schema.column(column), store[table].column(column)
    ids = np.unique(cells[cells >= 0]).astype(np.int64)
    order = order_of(store, one, ids)
    if one.bins is None and one.value_type == "text" and len(ids):
        texts = [store.names[int(each)].removeprefix(f"{one.entity_type}:") for each in ids]
        order = ids[np.argsort(texts, kind="stable")] if all(map(_DATE.fullmatch, texts)) else None
    if order is None:
        return None
    ranks = np.full(len(store.names) + 1, -1, np.int64)  # the last one is of a gap
    ranks[order] = np.arange(len(order))
    return np.asarray(ranks[np.maximum(cells, -1)])


def come_later(store: RowStore, model: ColumnModel, rows: Int64, new: Bool | None = None) -> Bool:
    """Return which rows come after all that have a value in the column; `new` ones also if they come with the last of these.

    The last group of dates has all that come after it.
    """
    none = np.zeros(len(rows), np.bool_)
    if model.later is None or not store[model.table].schema.has(model.later.column):
        return none
    ranks = _ranks(store, model.table, model.later.column)
    known = store[model.table].column(model.column) >= 0
    if ranks is None or not known.any():
        return none
    last = int(ranks[known].max())
    after: Bool = (ranks[rows] > last) if new is None else (ranks[rows] > last) | (new & (ranks[rows] >= last))
    return after


def with_later(store: RowStore, view: TableView, model: ColumnModel, time: str | None, scores: Scores | None) -> ColumnModel:
    """Return a model with how sure it is of later rows, by the latest cells that are seen, all of them hidden at once.

    What an embedding has learned it knows better than rows to come, so where it speaks only validation cells count. Of a row
    that is an entity it knows nothing where that is new.

    `view` has the rows of the table as far as they are seen; `time` is the column that says which came later, if there is
    one.
    """
    ranks = None if time is None or time == model.column else _ranks(store, model.table, time)
    if ranks is None or time is None:
        return model
    table, index = store[model.table], view.schema.index(model.column)
    held = np.flatnonzero((view.cells[index] >= 0) & (ranks >= 0))
    latest = _latest(ranks, held)
    column = view.schema.columns[index]
    is_fact = column.relation is not None and column.relation == view.schema.relation
    uses = bool(model.embedding) and is_fact and scores is not None
    chosen = latest[table.parts[index, latest] == 1] if uses else latest
    chosen = chosen[:: -(-len(chosen) // _CELLS)] if len(chosen) else chosen
    if len(chosen) < _FEW:
        return model
    bound = BoundColumn(_without(view, model.column, latest), model.column, model.contexts, model.copies)
    if len(bound.values.ids) < 2:
        return model
    cells = bound.view.cells[:, chosen]
    scored = bound.score(cells, chosen, np.full(len(chosen), -1))
    ids = np.append(bound.values.ids, -1)[scored.candidates.values]
    by_score = scores(model.table, model.column, cells, ids) if uses and scores is not None else None
    shares = probabilities(logits_of(model, scored, by_score), scored.candidates.open)
    best = shares[:, :-1].argmax(1)
    every = np.arange(len(chosen))
    right = ids[every, best] == view.cells[index, chosen]
    return replace(model, later=Later(time, fit_curve(shares[every, best], right, start=model.curve)))


def _latest(ranks: Int64, held: Int64) -> Int64:
    """Return the rows of the latest ranks: whole ranks, as few as make up a tenth; none if these are most of the rows."""
    counts = np.bincount(ranks[held]) if len(held) else np.zeros(0, np.int64)
    after = np.cumsum(counts[::-1])[::-1]  # rows of this rank or later
    enough = np.flatnonzero(after >= _BLOCK * len(held))
    if not len(enough) or after[enough[-1]] > _MOST * len(held):
        return held[:0]
    return np.asarray(held[ranks[held] >= enough[-1]])


def _without(view: TableView, column: str, rows: Int64) -> TableView:
    """Return a view of the table in which a column is empty in some rows; what does not depend on it is not read again."""
    store, table = view.store, view.store[view.table]
    index = view.schema.index(column)
    cells = table.cells.copy()
    cells[index, rows] = EMPTY
    emptied = replace(store, tables={**store.tables, view.table: replace(table, cells=cells)})
    found = TableView(PathReader(emptied, view.reader.most_part), view.table)
    found.take_paths(view, column)
    return found
