"""Ways from a cell to what stands beside it: in its row, in rows that the row refers to, and in rows that refer to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from relatum.arrays import Int64
from relatum.artefacts import Count
from relatum.data.row_store import EMPTY, RowStore, TableColumn, TableReference
from relatum.data.vocabulary import Ids
from relatum.errors import DataError

_HOPS = 2  # references that are followed one after the other
_WIDTH = 16  # values of a row that many rows refer to
_TABLE = 2_000_000  # values that are looked up in a table
_UNIQUE = 0.99  # of what a reference points to: a row for each value, or the reference leads nowhere


@dataclass(frozen=True, slots=True)
class Path:
    """A column, and how to get there from a row."""

    column: str  # of the table at the end
    # which references of each table are followed, one after the other, by their index in its schema
    references: tuple[Count, ...] = ()
    # a table whose rows refer to this one, and the index of the reference; then `references` is empty
    back: tuple[str, Count] | None = None

    def text(self, store: RowStore, table: str) -> str:
        """Return the path as people read it: `AlbumId > Album.ArtistId`, `PlaylistTrack.PlaylistId`."""
        if self.back is not None:
            return f"{self.back[0]}.{self.column}"
        steps = self.steps(store, table)
        columns = [("" if at == table else f"{at}.") + ", ".join(reference.columns) for at, reference in steps]
        return " > ".join([*columns, f"{self.end(store, table)}.{self.column}" if steps else self.column])

    def steps(self, store: RowStore, table: str) -> list[tuple[str, TableReference]]:
        """Return the references that are followed from a table, and the table that each is of."""
        found: list[tuple[str, TableReference]] = []
        for index in self.references:
            at = found[-1][1].table if found else table
            found.append((at, store[at].schema.references[index]))
        return found

    def end(self, store: RowStore, table: str) -> str:
        """Return the table that the path ends in."""
        return self.steps(store, table)[-1][1].table if self.references else table if self.back is None else self.back[0]

    def check(self, store: RowStore, table: str) -> None:
        """Refuse a path that leads nowhere from a table of a store."""
        at = store[table if self.back is None else self.back[0]].schema
        try:
            if self.back is not None:
                there = at.references[self.back[1]].table == table and not self.references
            else:
                there = len(self.references) <= _HOPS
                for index in self.references:
                    at = store[at.references[index].table].schema
        except IndexError:
            there = False
        if not there or not at.has(self.column):
            raise DataError("damaged-file", f"no path of its rows leads to {at.name}.{self.column}", place=table)


def paths_from(store: RowStore, table: str, column: str) -> Iterator[Path]:
    """Yield the paths that lead from a cell of a column to other cells, none of them through the cell itself."""
    schema = store[table].schema
    for one in schema.columns:
        if one.name != column and one.part_of != column:
            yield Path(one.name)
    yield from _forward(store, table, column, (), table)
    for other in store.schemas:
        for index, reference in enumerate(other.references):
            if reference.table == table and column not in reference.targets:
                for one in other.columns:
                    if one.name not in reference.columns:
                        yield Path(one.name, back=(other.name, index))


def _forward(store: RowStore, table: str, column: str, followed: tuple[int, ...], at: str) -> Iterator[Path]:
    if len(followed) == _HOPS:
        return
    for index, reference in enumerate(store[at].schema.references):
        if (not followed and column in reference.columns) or reference.table not in store.tables:
            continue
        far = store[reference.table].schema
        if not all(far.has(target) for target in reference.targets):
            continue
        steps = (*followed, index)
        for one in far.columns:
            if one.name not in reference.targets:
                yield Path(one.name, steps)
        yield from _forward(store, table, column, steps, reference.table)


class Codes:
    """Numbers for combinations of values: 0 up for those that were there when it was built, -1 for all others."""

    def __init__(self, columns: list[Int64]) -> None:
        """Number the combinations that columns[i][n] hold, none of which is empty; an empty value is -1."""
        self._levels: list[_Level] = []
        self._scales: list[int] = []
        code = columns[0]
        for index, column in enumerate(columns):
            if index:
                scale = int(column.max(initial=0)) + 1
                self._scales.append(scale)
                code = np.where((code < 0) | (column < 0), -1, code * scale + column)
            self._levels.append(_Level(code))
            code = self._levels[-1].of(code)
        self.codes: Int64 = code
        self.size = len(self._levels[-1].values)

    @property
    def first_values(self) -> Int64:
        """The distinct values of the first column, ascending: what the numbers stand for where there is only one."""
        return self._levels[0].values

    def of(self, columns: list[Int64]) -> Int64:
        """Return the numbers of other combinations."""
        code = self._levels[0].of(columns[0])
        for level, scale, column in zip(self._levels[1:], self._scales, columns[1:], strict=True):
            outside = (code < 0) | (column < 0) | (column >= scale)
            code = level.of(np.where(outside, -1, code * scale + column))
        return code


class _Level:
    """Distinct values, ascending, and where each of them is: by a table where that is small, else by search."""

    def __init__(self, code: Int64) -> None:
        self._table: Int64 | None = None
        top = int(code.max(initial=-1)) + 1
        if top <= max(_TABLE, 4 * len(code)):
            there = np.zeros(top + 1, np.bool_)
            there[code] = True  # -1 is the last one, which no value has
            self.values: Int64 = np.flatnonzero(there[:-1])
            self._table = np.full(top + 1, -1, np.int64)
            self._table[self.values] = np.arange(len(self.values))
        else:
            self.values = np.unique(code[code >= 0])

    def of(self, code: Int64) -> Int64:
        if self._table is not None:
            top = len(self._table) - 1
            return self._table[np.where((code < 0) | (code >= top), top, code)]
        where = np.minimum(np.searchsorted(self.values, code), len(self.values) - 1)
        return np.where(self.values[where] == code, where, -1)


@dataclass(eq=False)
class PathReader:
    """Reads what paths lead to, in the cells of no later part than `most_part`."""

    store: RowStore
    most_part: int

    def __post_init__(self) -> None:
        self._keys: dict[tuple[str, tuple[str, ...]], tuple[Codes, Int64, bool]] = {}
        self._seen: dict[str, Ids] = {}
        self._backs: dict[tuple[str, int, str], tuple[Int64, Int64]] = {}

    def seen(self, table: str) -> Ids:
        """Return the visible cells of a table."""
        if table not in self._seen:
            self._seen[table] = self.store[table].seen(most=self.most_part)
        return self._seen[table]

    def values(self, path: Path, table: str, cells: Ids, rows: Int64 | None = None) -> Int64:
        """Return what rows of a table find at the end of a path, int64[n, width], -1 where there is nothing.

        Rows are given by their cells, int32[columns, n]; where they are of the store, `rows` has their numbers, so that no
        path comes back to the row itself.
        """
        schema = self.store[table].schema
        if path.back is not None:
            return self._referring(path, table, cells, path.back)
        if not path.references:
            return _clean(cells[schema.index(path.column)])[:, None]
        at, found, here = table, None, cells
        for start, reference in path.steps(self.store, table):
            found, at = self._rows(start, reference, here), reference.table
            if at == table and rows is not None:
                found = np.where(found == rows, -1, found)
            here = np.where(found >= 0, self.seen(at)[:, found], np.int32(EMPTY))
        return _clean(here[self.store[at].schema.index(path.column)])[:, None]

    def leads_somewhere(self, path: Path, table: str) -> bool:
        """Return whether every reference that a path follows points to single rows."""
        return all(self._key(one.table, one.targets)[2] for _, one in path.steps(self.store, table))

    def _key(self, table: str, columns: tuple[str, ...]) -> tuple[Codes, Int64, bool]:
        """Return the codes of the values of some columns, the first row of each, and if nearly all have one row."""
        if (table, columns) not in self._keys:
            schema, seen = self.store[table].schema, self.seen(table)
            codes = Codes([_clean(seen[schema.index(one)]) for one in columns])
            there = np.flatnonzero(codes.codes >= 0)
            first = np.full(codes.size, -1, np.int64)
            first[codes.codes[there][::-1]] = there[::-1]
            self._keys[table, columns] = codes, first, codes.size >= _UNIQUE * len(there)
        return self._keys[table, columns]

    def _rows(self, table: str, reference: TableReference, cells: Ids) -> Int64:
        schema = self.store[table].schema
        codes, first, _ = self._key(reference.table, reference.targets)
        found = codes.of([_clean(cells[schema.index(one)]) for one in reference.columns])
        return np.where(found >= 0, np.append(first, -1)[found], -1)

    def _referring(self, path: Path, table: str, cells: Ids, back: tuple[str, int]) -> Int64:
        other, index = back
        reference = self.store[other].schema.references[index]
        codes, _, _ = self._key(table, reference.targets)
        key = (other, index, path.column)
        if key not in self._backs:
            seen, far = self.seen(other), self.store[other].schema
            to = codes.of([_clean(seen[far.index(one)]) for one in reference.columns])
            if other == table:  # a row that refers to itself says nothing new
                to = np.where(to == codes.codes, -1, to)
            self._backs[key] = _distinct(to, _clean(seen[far.index(path.column)]), codes.size)
        starts, values = self._backs[key]
        schema = self.store[table].schema
        own = codes.of([_clean(cells[schema.index(one)]) for one in reference.targets])
        count = np.where(own >= 0, np.diff(starts, append=len(values))[own], 0)
        offsets = np.arange(min(_WIDTH, int(count.max(initial=0))) or 1)
        inside = offsets < count[:, None]
        at = np.where(inside, starts[own][:, None] + offsets, 0)
        return np.where(inside, np.append(values, -1)[at], -1)


def _distinct(to: Int64, values: Int64, size: int) -> tuple[Int64, Int64]:
    """Return where the values of each of `size` owners begin, and the distinct values, an owner's most frequent first."""
    there = (to >= 0) & (values >= 0)
    scale = int(values.max(initial=0)) + 1
    pairs, counts = np.unique(to[there] * scale + values[there], return_counts=True)
    owner = pairs // scale
    order = np.lexsort((pairs, -counts, owner))
    return np.searchsorted(owner, np.arange(size)), (pairs % scale)[order]


def _clean(cells: Ids) -> Int64:
    """Return cells as int64, -1 where there is no value or one that no row had."""
    return np.maximum(cells, -1).astype(np.int64)


def order_of(store: RowStore, column: TableColumn, ids: Int64) -> Int64 | None:
    """Return ids of a column's values in their order, from the least up; None if they have no order."""
    texts = [store.names[int(one)].removeprefix(f"{column.entity_type}:") for one in ids]
    if column.bins is not None:
        pairs = zip(column.bins.least, column.bins.greatest, strict=True)
        ranks = {low if low == high else f"{low} to {high}": number for number, (low, high) in enumerate(pairs)}
        if any(text not in ranks for text in texts):
            return None
        return ids[np.argsort([ranks[text] for text in texts], kind="stable")]
    if column.value_type not in {"whole", "number"}:
        return None
    try:
        numbers = np.array([float(text) for text in texts])
    except ValueError:
        return None
    return ids[np.argsort(numbers, kind="stable")] if np.isfinite(numbers).all() else None
