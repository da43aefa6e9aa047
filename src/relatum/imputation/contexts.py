"""Contexts of a cell: what one path leads to, or several paths together, as numbers that are counted.

What a row itself adds to a count is taken off exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from relatum.arrays import Float64, Int64
from relatum.artefacts import Count, Within
from relatum.data.row_store import RowStore
from relatum.data.vocabulary import Ids
from relatum.imputation.paths import Codes, Path, PathReader, order_of

_REACH = 4  # neighbours on each side that share
_DENSE = 4_000_000  # cells of a table of counts that is kept whole


class Counts:
    """n(x, v) and n(x) for codes x of a context, 0 to `size` - 1, and values v of a column, 0 to `width` - 1.

    Attributes:
        totals: float64[size], n(x).
    """

    def __init__(self, x: Int64, v: Int64, size: int, width: int) -> None:
        """Count pairs of x[n, k] and v[n]; -1 is none."""
        self.size, self.width = size, width
        there = (x >= 0) & (v >= 0)[:, None]
        pairs = (x * width + v[:, None])[there]
        self._dense: Float64 | None = None
        if size * width <= _DENSE:
            self._dense = np.bincount(pairs, minlength=size * width).astype(np.float64)
            self._keys = np.flatnonzero(self._dense)
            self._counts: Float64 = self._dense[self._keys]
        else:
            self._keys, often = np.unique(pairs, return_counts=True)
            self._counts = np.asarray(often, np.float64)
        self.totals: Float64 = np.asarray(np.bincount(self._keys // max(width, 1), self._counts, size), np.float64)
        self._spread: Float64 | None = None
        self._most: tuple[Int64, Int64, Float64] | None = None

    def smooth(self, order: Int64, share: float) -> None:
        """Let x beside each other in `order`, int64[size], share what they have: `share` of it with the next, and so on."""
        if self._dense is not None:
            kernel = _kernel(self.size, share)
            table = self._dense.reshape(self.size, self.width)
            table[order] = kernel @ table[order]
            self.totals = table.sum(1)

    def spread(self, order: Int64, share: float) -> None:
        """Let each value pass `share` of what it has to the next ones in `order`, int64[width], and so on; totals stay."""
        if self._dense is not None:
            kernel = _kernel(self.width, share)
            kernel /= kernel.sum(1, keepdims=True)
            self._spread = np.empty_like(kernel)
            self._spread[np.ix_(order, order)] = kernel
            self._dense = (self._dense.reshape(self.size, self.width) @ self._spread).reshape(-1)

    def own(self, own: Int64, v: Int64) -> Float64:
        """Return what a row that holds `own` adds to n(x, v), elementwise, for its own x; nothing if either is -1."""
        if self._spread is None:
            return np.asarray((own == v) & (own >= 0), np.float64)
        return np.where((own >= 0) & (v >= 0), self._spread[own, v], 0.0)

    def of(self, x: Int64, v: Int64) -> Float64:
        """Return n(x, v), elementwise; nothing for -1."""
        there = (x >= 0) & (v >= 0)
        keys = np.where(there, x * self.width + v, 0)
        if self._dense is not None:
            return np.where(there, self._dense[keys] if self._dense.size else 0.0, 0.0)
        where = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(there & (self._keys[where] == keys), self._counts[where], 0.0)

    def total(self, x: Int64) -> Float64:
        """Return n(x); nothing for -1."""
        return np.append(self.totals, 0.0)[x]

    def most(self, x: Int64, k: int) -> tuple[Int64, Float64]:
        """Return the values that come most often with each x, and how often, [..., k]; -1 where there are fewer."""
        if self._most is None:
            owner = self._keys // self.width
            order = np.lexsort((self._keys, -self._counts, owner))
            self._most = (
                np.searchsorted(owner, np.arange(self.size + 1)),
                (self._keys % self.width)[order],
                self._counts[order],
            )
        starts, values, counts = self._most
        begin, end = np.append(starts[:-1], 0)[x], np.append(starts[1:], 0)[x]
        at = begin[..., None] + np.arange(k)
        inside = at < end[..., None]
        at = np.where(inside, at, 0)
        if not len(values):
            return np.full(at.shape, -1, np.int64), np.zeros(at.shape)
        return np.where(inside, values[at], -1), np.where(inside, counts[at], 0.0)


def _kernel(size: int, share: float) -> Float64:
    distance = np.abs(np.arange(size)[:, None] - np.arange(size))
    return np.where(distance <= _REACH, share**distance, 0.0)


_ROOM = 1 << 29  # bytes of what paths lead to that are kept
STRENGTH = Within(1e-3, 1e4)  # of rows that something counts for
_ORDERED = 500  # values at most that are looked at in their order


@dataclass(frozen=True, slots=True)
class Context:
    """What is counted beside the values of a column."""

    paths: Annotated[tuple[Path, ...], Within(shape=("paths",))]  # one, or several whose values count together
    # how many neighbouring values of each path count as one, where they have an order
    groups: Annotated[tuple[Annotated[int, Within(1, 1000)], ...], Within(shape=("paths",))]
    # how many rows what is known without this context counts for beside the rows that have it
    strength: Annotated[float, STRENGTH] = 1.0
    # how much of its rows a value shares with the next one, where values have an order
    share: Annotated[float, Within(0, below=1)] = 0.0
    # how much a value of the column itself passes to the next one, where these have an order
    spread: Annotated[float, Within(0, below=1)] = 0.0
    # the index of the context that this one refines, of whose paths it has one more; None if it stands alone
    parent: Count | None = None

    def text(self, store: RowStore, table: str) -> str:
        """Return it as people read it."""
        return " + ".join(path.text(store, table) for path in self.paths)

    @property
    def is_own(self) -> bool:
        """Whether it is a single other column of the row."""
        return len(self.paths) == 1 and not self.paths[0].references and self.paths[0].back is None


class TableView:
    """The rows of a table with what their paths lead to; a path is followed once for all rows, if there is room."""

    def __init__(self, reader: PathReader, table: str) -> None:
        self.reader, self.table = reader, table
        self.store = reader.store
        self.schema = reader.store[table].schema
        self.cells: Ids = reader.seen(table)
        self._paths: dict[Path, tuple[Codes, Int64]] = {}
        self._orders: dict[Path, Int64 | None] = {}

    def codes(self, path: Path) -> tuple[Codes, Int64]:
        """Return the numbers of what a path leads to, and those of all rows, int64[n, width]."""
        if path not in self._paths:
            rows = np.arange(self.cells.shape[1])
            values = self.reader.values(path, self.table, self.cells, rows)
            codes = Codes([values.reshape(-1)])
            found = codes.codes.reshape(values.shape)
            while self._paths and sum(each.nbytes for _, each in self._paths.values()) + found.nbytes > _ROOM:
                self._paths.pop(next(iter(self._paths)))
            self._paths[path] = codes, found
        return self._paths[path]

    def take_paths(self, other: TableView, column: str) -> None:
        """Take over where paths lead from a view of the same rows but for one column, as far as that plays no part."""
        for path, found in other._paths.items():
            steps = path.steps(self.store, self.table)
            passed = steps[0][1].columns if steps else (path.column,)
            if path.back is None and column not in passed and all(one.table != self.table for _, one in steps):
                self._paths[path] = found

    def ranks(self, path: Path) -> Int64 | None:
        """Return the rank of each number of a path, if its values have an order and are not names of rows."""
        if path not in self._orders:
            schema = self.store[path.end(self.store, self.table)].schema
            single = [one.columns for one in schema.references if len(one.columns) == 1]
            # Of a key of several columns each may be a year or a count: these alone name no row.
            names = [*single, *(key for key in schema.keys if len(key) == 1)]
            ids = self.codes(path)[0].first_values
            ordered = len(ids) <= _ORDERED and not any(path.column in columns for columns in names)
            order = order_of(self.store, schema.column(path.column), ids) if ordered else None
            self._orders[path] = None if order is None else np.argsort(np.searchsorted(ids, order))
        return self._orders[path]

    def grouped(self, path: Path, group: int, codes: Int64) -> Int64:
        """Return numbers of a path with as many neighbours as `group` taken together."""
        ranks = self.ranks(path) if group > 1 else None
        return codes if ranks is None else np.append(ranks // group, -1)[codes]

    def of(self, path: Path, cells: Ids, rows: Int64 | None) -> Int64:
        """Return the numbers of what a path leads to from rows, by their cells or their numbers, int64[n, width]."""
        codes, known = self.codes(path)
        if rows is not None:
            return known[rows]
        values = self.reader.values(path, self.table, cells, None)
        return codes.of([values.reshape(-1)]).reshape(values.shape)


class Counted:
    """A context with its counts for a column: all that its rows say."""

    def __init__(self, view: TableView, context: Context, column: ColumnValues, rows: Int64 | None = None) -> None:
        """Count over all rows, or those given."""
        self.view, self.context = view, context
        self._codes: Codes | None = None
        chosen = slice(None) if rows is None else rows
        if len(context.paths) == 1 and context.groups[0] == 1:
            codes, x = view.codes(context.paths[0])
            x, self.size = x[chosen], codes.size
        else:
            self._codes = Codes(self._grouped([view.codes(path)[1][chosen] for path in context.paths]))
            x, self.size = self._codes.codes[:, None], self._codes.size
        self.counts = Counts(x, column.v[chosen], self.size, len(column.ids))
        ranks = view.ranks(context.paths[0]) if context.share else None
        if ranks is not None:
            self.counts.smooth(np.argsort(ranks), context.share)
        if context.spread and column.order is not None:
            self.counts.spread(column.order, context.spread)

    def _grouped(self, parts: list[Int64]) -> list[Int64]:
        together = zip(self.context.paths, self.context.groups, parts, strict=True)
        return [self.view.grouped(path, group, part[:, 0]) for path, group, part in together]

    def of(self, cells: Ids, rows: Int64 | None) -> Int64:
        """Return the numbers of this context for rows, int64[n, width]."""
        parts = [self.view.of(path, cells, rows) for path in self.context.paths]
        return parts[0] if self._codes is None else self._codes.of(self._grouped(parts))[:, None]


class ColumnValues:
    """The values of a column: their ids, ascending; what each row holds by its number among them; and their order.

    Attributes:
        ids: int64[values], those that a visible cell has.
        v: int64[rows], -1 where no value is seen.
        order: their numbers from the least up, or None.
    """

    def __init__(self, view: TableView, column: str) -> None:
        codes, v = view.codes(Path(column))
        self.ids: Int64 = codes.first_values
        self.v: Int64 = v[:, 0]
        ranks = view.ranks(Path(column))
        self.order: Int64 | None = None if ranks is None else np.argsort(ranks)

    def numbers(self, ids: Ids | Int64) -> Int64:
        """Return the numbers of ids among the values; -1 for all others."""
        if not len(self.ids):
            return np.full(ids.shape, -1, np.int64)
        where = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return np.where(self.ids[where] == ids, where, -1)
