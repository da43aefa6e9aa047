"""A column's model: which contexts speak, how strongly, and what follows for a cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from relatum.arrays import Float64, Int64
from relatum.artefacts import Declared, Known, Within
from relatum.data.vocabulary import Ids
from relatum.errors import DataError
from relatum.imputation.contexts import ColumnValues, Context, Counted, TableView
from relatum.imputation.features import (
    Beside,
    Candidates,
    Prior,
    candidates_of,
    context_counts,
    log_ratio,
    repeat_features,
    same_features,
    shared_features,
    smoothed,
    without_taken,
)
from relatum.imputation.key_order import KeyOrder
from relatum.imputation.paths import Path

REPEATS = 2  # columns of the row that are looked at for whether values come with the same there again
# The slope and the offset of a curve in logits; a slope is fitted to be no less than 0.3.
Curve = tuple[Annotated[float, Within(0.1, 1000)], Annotated[float, Within(-1000, 1000)]]
FIRST = 4  # features before those of contexts: the prior, being no candidate, the mean and the maximum over contexts


@dataclass(frozen=True, slots=True)
class Later:
    """How sure a column is of rows that come later than all that are known."""

    column: str  # the one that says which rows come later
    curve: Curve  # slope and offset, in logits, as `ColumnModel.curve` has them for other rows


@dataclass(frozen=True, eq=False)
class ColumnModel(Declared):
    """What was fitted for a column."""

    table: str
    column: str
    contexts: tuple[Context, ...]
    copies: tuple[Path, ...]  # paths that lead to values which the column itself may have
    # of the features: the prior; being none of the candidates; the mean and the maximum over contexts; each context;
    # being the value of the row before, and after, by key; being the value of each copy; being a value that other
    # rows have with the same in the first columns of the row that speak, which may speak against it
    weights: Annotated[Float64, Within(-1000, 1000, shape=(None,))]
    # slope and offset, in logits, from the share of the best candidate to how often it is right
    curve: Curve = (1.0, 0.0)
    sharpness: Annotated[float, Within(0.1, 1000)] = 1.0  # what all of that is multiplied by, by validation cells
    embedding: Annotated[float, Within(0, 1e30)] = 0.0  # the weight of an embedding's scores beside it
    later: Later | None = None  # how sure it is of later rows; None if nothing says which these are

    def check(self, known: Known) -> None:
        """Refuse weights of other features, and what leads nowhere in the rows."""
        features = FIRST + len(self.contexts) + 2 + len(self.copies) + REPEATS
        if len(self.weights) != features:
            raise DataError("damaged-file", f"there must be {features}, not {len(self.weights)}", place="weights")
        for index, context in enumerate(self.contexts):
            if context.parent is not None and context.parent >= index:
                raise DataError("damaged-file", f"must be below {index}", place=f"contexts[{index}].parent")
        known["store"][self.table].schema.index(self.column)
        for path in (*self.copies, *(path for context in self.contexts for path in context.paths)):
            path.check(known["store"], self.table)


@dataclass(frozen=True, eq=False)
class Scored:
    """Candidates of cells with their features, float64[m, c + 1, k], and what each context says of them."""

    candidates: Candidates
    features: Float64
    beside: list[Beside]


class BoundColumn:
    """A column's contexts counted over the rows of a view: what turns cells into features."""

    def __init__(
        self,
        view: TableView,
        column: str,
        contexts: tuple[Context, ...] = (),
        copies: tuple[Path, ...] = (),
    ) -> None:
        self.view, self.column, self.copies = view, column, copies
        self.values = ColumnValues(view, column)
        self.prior = Prior(self.values.v, len(self.values.ids))
        self.order = KeyOrder(view, column, self.values)
        self.counted: list[Counted] = []
        self._repeats: list[Counted] = []
        for context in contexts:
            self.add(context)
        self._taken: list[Counted] = []
        for key in view.schema.keys:
            paths = tuple(Path(one) for one in key if one != column)
            # Rows in one group of values may well be alike in the rest of the key.
            whole = all(view.schema.has(one) and view.schema.column(one).bins is None for one in key)
            if len(paths) == len(key) - 1 > 0 and whole:
                self._taken.append(Counted(view, Context(paths, (1,) * len(paths)), self.values))

    @property
    def contexts(self) -> tuple[Context, ...]:
        """The contexts that are counted."""
        return tuple(one.context for one in self.counted)

    def add(self, context: Context) -> None:
        """Count one more context."""
        self.counted.append(Counted(self.view, context, self.values))
        if context.is_own and len(context.paths) == 1 and len(self._repeats) < REPEATS:
            plain = Context(context.paths, context.groups)
            shared = context.share or context.spread
            self._repeats.append(Counted(self.view, plain, self.values) if shared else self.counted[-1])

    def score(self, cells: Ids, rows: Int64 | None, own: Int64) -> Scored:
        """Return the candidates of cells with their features; `own` is what the counts know each to hold, -1 for nothing."""
        codes = [one.of(cells, rows) for one in self.counted]
        around = self.order.of(cells, rows)
        reader, table = self.view.reader, self.view.table
        copied = [self.values.numbers(reader.values(path, table, cells, rows)) for path in self.copies]
        candidates = candidates_of(self.prior, self.counted, codes, own, np.concatenate([around, *copied], 1))
        for key in self._taken:
            candidates = without_taken(candidates, key, key.of(cells, rows)[:, 0])
        beside: list[Beside] = []
        columns = []
        for one, x in zip(self.counted, codes, strict=True):
            base = candidates.share if one.context.parent is None else beside[one.context.parent].share
            beside.append(smoothed(context_counts(one, x, candidates), one.context.strength, base))
            columns.append(log_ratio(beside[-1].share, base))
        alone = [each.share for each, one in zip(beside, self.counted, strict=True) if one.context.parent is None]
        rest = np.zeros_like(candidates.share)
        rest[:, -1] = 1.0
        shared = shared_features(alone, candidates.share)
        same = [same_features(candidates, one) for one in (around[:, :1], around[:, 1:], *copied)]
        again = [repeat_features(one, one.of(cells, rows), candidates) for one in self._repeats]
        again += [np.zeros_like(rest)] * (REPEATS - len(again))
        first = [np.log(candidates.share), rest, shared[..., 0], shared[..., 1]]
        features = np.stack([*first, *columns, *same, *again], -1)
        features[~candidates.open] = 0.0
        return Scored(candidates, features, beside)
