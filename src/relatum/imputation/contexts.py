"""Contexts of a cell: what one path leads to, or several paths together, as numbers that can be counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from relatum.arrays import Int64
from relatum.data.row_store import RowStore
from relatum.data.vocabulary import Ids
from relatum.errors import DataError
from relatum.imputation.counts import Counts
from relatum.imputation.paths import Codes, Path, PathReader, order_of

_ROOM = 1 << 29  # bytes of what paths lead to that are kept
_ORDERED = 500  # values at most that are looked at in their order


@dataclass(frozen=True, slots=True)
class Context:
    """What is counted beside the values of a column.

    Attributes:
        paths: one, or several whose values count together.
        groups: how many neighbouring values of each path count as one, where they have an order.
        strength: how many rows what is known without this context counts for beside the rows that have it.
        share: how much of its rows a value shares with the next one, where values have an order.
        spread: how much a value of the column itself passes to the next one, where these have an order.
        parent: the index of the context that this one refines, of whose paths it has one more; None if it stands alone.
    """

    paths: tuple[Path, ...]
    groups: tuple[int, ...]
    strength: float = 1.0
    share: float = 0.0
    spread: float = 0.0
    parent: int | None = None

    def text(self, store: RowStore, table: str) -> str:
        """Return it as people read it."""
        return " + ".join(path.text(store, table) for path in self.paths)

    @property
    def is_own(self) -> bool:
        """Whether it is a single other column of the row."""
        return len(self.paths) == 1 and not self.paths[0].references and self.paths[0].back is None

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "paths": [path.to_json() for path in self.paths],
            "groups": list(self.groups),
            "strength": self.strength,
            "share": self.share,
            "spread": self.spread,
            "parent": self.parent,
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Context:
        """Return what plain data says."""
        try:
            parent = plain["parent"]
            return cls(
                tuple(Path.from_json(one) for one in plain["paths"]),
                tuple(int(one) for one in plain["groups"]),
                float(plain["strength"]),
                float(plain["share"]),
                float(plain["spread"]),
                None if parent is None else int(parent),
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            raise DataError("damaged-file", "not the description of a context") from None


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
            passed, at = {path.column} if not path.references else set(), self.table
            tables = []
            for index in path.references:
                reference = self.store[at].schema.references[index]
                passed |= set(reference.columns) if at == self.table else set()
                at = reference.table
                tables.append(at)
            if path.back is None and column not in passed and self.table not in tables:
                self._paths[path] = found

    def end_of(self, path: Path) -> str:
        """Return the table that a path ends in."""
        at = self.table if path.back is None else path.back[0]
        for index in path.references:
            at = self.store[at].schema.references[index].table
        return at

    def ranks(self, path: Path) -> Int64 | None:
        """Return the rank of each number of a path, if its values have an order and are not names of rows."""
        if path not in self._orders:
            schema = self.store[self.end_of(path)].schema
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
