"""The models of all columns of a store: fitted once, kept as plain data, and asked about cells of old and new rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relatum.arrays import Bool, Float64, Int64
from relatum.artefacts import Declared
from relatum.data.row_store import EMPTY, RowStore, RowTable
from relatum.data.vocabulary import Ids
from relatum.errors import DataError, UnknownNameError
from relatum.imputation.answers import Imputed, Scores, answered, centred, merged
from relatum.imputation.column_model import BoundColumn, ColumnModel
from relatum.imputation.contexts import TableView
from relatum.imputation.fitting import fit_column
from relatum.imputation.later_rows import time_column, with_later
from relatum.imputation.paths import PathReader
from relatum.imputation.weights import best_of, fit_curve, fit_weights, probabilities

_KEPT = 4  # columns whose counts are kept
_NUMBERS = 4_000_000  # in an array of features, about
_VALID = 2000  # validation cells that the weight of an embedding is fitted on
_FEW = 20  # with fewer it has none
_APART = 0.8  # the share of cells held out with a fact of their own, at least, if they are to stand for empty ones
_RARITIES, _MOST_TIMES = 6, 5.0  # how rare values are told apart, by powers of two, and what a cell stands for at most
_GAIN, _LEAST_SHARE = 4.0, 1e-12  # nats over all validation cells that an embedding must be worth, and a share at least
_PULL = (20.0, 2.0)  # how strongly sharpness is drawn to 1, and the weight of the embedding to 0


def columns_to_fill(store: RowStore, table: str) -> list[str]:
    """Return the columns of a table whose cells can be filled: not those that name the row or follow from other columns."""
    schema = store[table].schema
    keys = {key[0] for key in schema.keys if len(key) == 1}
    return [one.name for one in schema.columns if one.part_of is None and not one.is_generated and one.name not in keys]


def fit_columns(
    store: RowStore,
    *,
    seed: int = 0,
    columns: Iterable[tuple[str, str]] | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> ColumnModels:
    """Return the models of the columns of a store, or of those given as pairs of table and column.

    They are fitted on training and validation cells, each taken out of the counts in its turn: rare values are left to the
    training part, and it alone would make them look frequent. `advance` is called with 1 after each column.
    """
    everything = ((table, one) for table in store.tables for one in columns_to_fill(store, table))
    chosen = list(everything if columns is None else columns)
    found = ColumnModels(store)
    for table, column in sorted(chosen, key=lambda one: list(store.tables).index(one[0])):
        found.models[table, column] = fit_column(found.view(table, 1), column, seed)
        advance(1)
    return found


def weigh_embedding(
    models: ColumnModels, scores: Scores | None, advance: Callable[[int], None] = lambda _: None
) -> ColumnModels:
    """Return models whose sharpness, and the weight of an embedding beside them, are fitted on validation cells.

    How sure they are of later rows is fitted on the latest ones. That is quick beside fitting the models, which do not know
    of an embedding.
    """
    found = ColumnModels(models.store)
    times = {table: time_column(models.store, table) for table in {table for table, _ in models.models}}
    for (table, column), model in models.models.items():
        weighed = model if scores is None else _by_validation(models.store, found.view(table, 1), model, scores)
        found.models[table, column] = with_later(models.store, found.view(table, 1), weighed, times[table], scores)
        advance(1)
    return found


def _by_validation(store: RowStore, view: TableView, model: ColumnModel, scores: Scores) -> ColumnModel:
    """Return a model with the weight of an embedding by validation cells, each taken out of the counts, if it adds to them.

    The embedding has not learned them. All cells of the column take part in the counts otherwise, as those beside empty
    ones do.
    """
    table, index = store[model.table], store[model.table].schema.index(model.column)
    rows = np.flatnonzero((table.parts[index] == 1) & (table.cells[index] >= 0))
    rows = rows[:: -(-len(rows) // _VALID)] if len(rows) else rows
    bound = BoundColumn(view, model.column, model.contexts, model.copies)
    if len(rows) < _FEW or len(bound.values.ids) < 2 or _come_together(table, index, rows):
        return model
    rows, times = _standing_for_all(bound, rows)
    cells, right = view.cells[:, rows].copy(), bound.values.v[rows]
    cells[index] = EMPTY
    scored = bound.score(cells, rows, right)
    candidates, right = scored.candidates, scored.candidates.right
    by_score = centred(scores(model.table, model.column, cells, np.append(bound.values.ids, -1)[candidates.values]), scored)
    unit = float(by_score.std())
    if not unit:
        return model
    features = np.stack([scored.features @ model.weights, np.pad(by_score / unit, ((0, 0), (0, 1)))], -1)
    features *= candidates.open[..., None]
    hits, costs, found = [], [], []
    for count in (1, 2):
        centre, pull, least = (np.array(each[:count]) for each in ((1.0, 0.0), _PULL, (0.3, 0.0)))
        weights = fit_weights(features[..., :count], candidates.open, right, centre, pull, least, times=times)
        shares = probabilities(features[..., :count] @ weights, candidates.open)
        costs.append(-float(times @ np.log(np.maximum(shares[np.arange(len(rows)), right], _LEAST_SHARE))))
        hits.append(best_of(shares, right))
        found.append(weights)
    if costs[0] - costs[1] < _GAIN or times @ hits[1][1] < times @ hits[0][1]:
        # Counts that leave a cell out know what came at the same time; cells that were held out say better how sure to be.
        alone = best_of(probabilities(features[..., 0], candidates.open), right)
        return replace(model, curve=fit_curve(*alone, start=model.curve, times=times))
    sharpness, weight = (float(each) for each in found[1])
    curve = fit_curve(*hits[1], start=model.curve, times=times)
    return replace(model, curve=curve, sharpness=round(sharpness, 6), embedding=weight / unit)


def _come_together(table: RowTable, index: int, rows: Int64) -> bool:
    """Return whether the cells of a column in some rows were held out by facts that many rows have in common.

    Then no row with such a fact is left to learn from, which is not what empty cells are like.
    """
    relation = table.schema.columns[index].relation
    if relation is None or relation != table.schema.relation:
        return False
    facts = table.cells[[number for number, one in enumerate(table.schema.columns) if one.relation == relation]][:, rows]
    return bool(np.unique(facts, axis=1).shape[1] < _APART * len(rows))


def _standing_for_all(bound: BoundColumn, held: Int64) -> tuple[Int64, Float64]:
    """Return rows that were held out, with some whose value no other row has, and how many cells each of them stands for.

    A value that one row alone has is never held out, or nothing could be learned of it, and a rare one seldom; but what is
    really empty may well have been such a value. So the cells of each rarity stand for as many as there are of that.
    """
    values = bound.values.v
    rarity = np.append(np.minimum(np.log2(np.maximum(bound.prior.counts, 1)).astype(np.int64), _RARITIES), -1)[values]
    single = np.flatnonzero(np.append(bound.prior.counts, 0)[values] == 1)
    rows = np.concatenate([held, single[:: -(-max(1, len(single)) // len(held))]])
    every, here = (np.bincount(each, minlength=_RARITIES + 1) for each in (rarity[rarity >= 0], rarity[rows]))
    often = (every / max(1, every.sum())) / np.maximum(here / len(rows), 1e-12)
    times = np.minimum(often[rarity[rows]], _MOST_TIMES)
    return rows, times * len(held) / times.sum()


def _questions(table: RowTable, column: str, rows: Int64, view: TableView, most_part: int) -> tuple[Ids, Int64 | None]:
    """Return the cells that rows are asked about a column with, and their numbers as far as these say the same.

    Where a whole fact is held out, the row in the store lacks what the question says.
    """
    index = table.schema.index(column)
    relation = table.schema.columns[index].relation
    if relation is not None and relation == table.schema.relation and (table.parts[index, rows] > most_part).any():
        return table.given(column, rows, most=most_part), None
    return view.cells[:, rows], rows


@dataclass(frozen=True)
class ColumnsFile(Declared):
    """Models of columns as files hold them; counts follow from the store."""

    columns: tuple[ColumnModel, ...]


class ColumnModels:
    """Models by table and column, over a store whose rows they count."""

    def __init__(self, store: RowStore, models: Mapping[tuple[str, str], ColumnModel] | None = None) -> None:
        self.store = store
        self.models: dict[tuple[str, str], ColumnModel] = dict(models or {})
        self._readers: dict[int, PathReader] = {}
        self._views: dict[tuple[str, int], TableView] = {}
        self._bound: dict[tuple[str, str, int], BoundColumn] = {}

    def view(self, table: str, most_part: int) -> TableView:
        """Return the rows of a table as far as they are seen; only those of one table are kept."""
        if (table, most_part) not in self._views:
            if most_part not in self._readers:
                self._readers = {most_part: PathReader(self.store, most_part)}
            self._views = {(table, most_part): TableView(self._readers[most_part], table)}
        return self._views[table, most_part]

    def answer(
        self,
        table: str,
        column: str,
        rows: Int64 | None = None,
        cells: Ids | None = None,
        *,
        most_part: int = 0,
        scores: Scores | None = None,
        reasons: int = 0,
        later: Bool | None = None,
    ) -> Imputed:
        """Return what cells of a column may hold, of rows of the store by number or of any rows by their cells.

        What a row of the store itself holds there is not counted. Counts are of cells of no later part than `most_part`.

        The cells, int32[columns, n], need not be in the store. `most_part` is 0 for train cells only, 1 with validation
        cells, 2 with all; `scores` are those of the embedding that the models were fitted with. So many `reasons` are
        returned for the best answer of each cell, at most. `later` says which rows come later than all whose cell is known;
        by default none.
        """
        model = self.models.get((table, column))
        if model is None:
            raise UnknownNameError("column", f"{table}.{column}", [".".join(one) for one in self.models])
        if (rows is None) == (cells is None):
            raise DataError("contradictory-options", "give either numbers of rows or cells", place=f"{table}.{column}")
        bound = self._column(model, most_part)
        index = bound.view.schema.index(column)
        if rows is not None:
            rows = np.asarray(rows, np.int64)
            count = bound.view.cells.shape[1]
            if len(rows) and (rows.min() < 0 or rows.max() >= count):
                raise DataError("no-such-position", f"there is no row of that number; there are {count}", place=table)
            own = bound.values.v[rows]
            cells, rows = _questions(self.store[table], column, rows, bound.view, most_part)
        else:
            cells = np.asarray(cells, np.int32)
            if cells.ndim != 2 or len(cells) != len(bound.view.schema.columns):
                raise DataError("fact-arity", f"a row has {len(bound.view.schema.columns)} cells", place=table)
            if cells.size and (cells.min() < -2 or cells.max() >= len(self.store.names)):
                raise DataError("damaged-file", "a cell holds no name of the store", place=table)
            own = np.full(cells.shape[1], -1, np.int64)
        cells = cells.copy()
        cells[index] = EMPTY
        step = max(100, _NUMBERS // (50 * len(model.weights)))
        parts = []
        for start in range(0, max(1, cells.shape[1]), step):
            part = slice(start, start + step)
            here = None if rows is None else rows[part]
            scored = bound.score(cells[:, part], here, own[part])
            ids = np.append(bound.values.ids, -1)[scored.candidates.values]
            by_score = scores(table, column, cells[:, part], ids) if scores is not None and model.embedding else None
            after = None if later is None else later[part]
            parts.append(answered(model, bound, scored, by_score, cells[:, part], here, reasons, after))
        return merged(parts)

    def _column(self, model: ColumnModel, most_part: int) -> BoundColumn:
        key = (model.table, model.column, most_part)
        if key not in self._bound:
            while len(self._bound) >= _KEPT:
                self._bound.pop(next(iter(self._bound)))
            view = self.view(model.table, most_part)
            self._bound[key] = BoundColumn(view, model.column, model.contexts, model.copies)
        return self._bound[key]

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return ColumnsFile(tuple(self.models.values())).to_json()

    @classmethod
    def from_json(cls, data: Any, **known: Any) -> ColumnModels:
        """Return what plain data says about the columns of a `store`; anything else is refused."""
        columns = ColumnsFile.from_json(data, **known).columns
        return cls(known["store"], {(one.table, one.column): one for one in columns})
