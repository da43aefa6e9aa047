"""The rows of imported tables, gaps included: what facts are made of, and what is known about the columns.

A fact has an entity at every position, a row may lack some. Rows keep what facts cannot: empty cells, which are what there
is to fill; how often the same row came; and which cells belong together where a table became several relations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from relatum.arrays import Int64
from relatum.artefacts import Count, Declared, Known, Share
from relatum.data.stored_values import StoredTable
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.errors import DataError, UnknownNameError

EMPTY = -1  # a cell without a value
UNKNOWN = -2  # a cell whose value no row had at the import
HELD_OUT_PARTS = {"valid": 1, "test": 2}  # what `RowTable.parts` says of a cell; 0 is train
ValueType = Literal["whole", "number", "date", "text"]
Shape = Literal["entity", "fact", "both"]
SHAPES: tuple[Shape, ...] = get_args(Shape)

Parts = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Bins:
    """The groups of neighbouring values that a column of numbers or dates was cut into, as text in the column's own form."""

    edges: tuple[str, ...]  # the greatest value of each group but the last, ascending
    least: tuple[str, ...]  # the least value seen in each group
    greatest: tuple[str, ...]  # the greatest value seen in each
    median: tuple[str, ...]  # the value in the middle of each

    def __post_init__(self) -> None:
        count = len(self.edges) + 1
        if any(len(each) != count for each in (self.least, self.greatest, self.median)):
            raise DataError(
                "damaged-file",
                f"{len(self.edges)} edges make {count} groups, each with least, greatest and median",
                place="bins",
            )

    @property
    def names(self) -> list[str]:
        """What the groups are called, by the values in them."""
        return [low if low == high else f"{low} to {high}" for low, high in zip(self.least, self.greatest, strict=True)]


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column that became entities."""

    name: str
    entity_type: str  # what the names of its entities begin with
    value_type: ValueType = "text"  # what its values are: `whole` numbers, any `number`, `date` or `text`
    relation: str | None = None  # the relation whose facts hold its cells; None if it is kept in the rows alone
    position: Count | None = None  # where in that relation
    bins: Bins | None = None  # the groups of values that its entities are, in their order; None where each value is one
    # the column of dates that this one is the year, month or weekday of; it is read, never filled
    part_of: str | None = None
    is_generated: bool = False  # whether the database works it out from other columns; it is read, never filled


@dataclass(frozen=True, slots=True)
class TableReference:
    """A foreign key: each of `columns` holds what the column of `table` at the same index of `targets` holds."""

    columns: tuple[str, ...]
    table: str
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dependency:
    """That some columns of a table determine another one: in how many of the rows that can tell, and how many these are."""

    columns: tuple[str, ...]
    determines: str
    share: Share
    rows: Count


@dataclass(frozen=True, slots=True)
class TableSchema(Declared):
    """What is known about a table."""

    name: str
    # what its rows became: facts about an `entity`, the row itself; `fact`s over several entities; or `both`
    shape: Shape
    why: str
    columns: tuple[TableColumn, ...]  # those that became entities, in their order
    keys: tuple[tuple[str, ...], ...] = ()  # sets of columns, no two rows of which are alike; the primary key first
    references: tuple[TableReference, ...] = ()  # its foreign keys and links
    label: tuple[str, ...] = ()  # the columns whose text, with blanks between, is what people call the row
    dependencies: tuple[Dependency, ...] = ()  # which columns determine which
    relation: str | None = None  # the relation of its n-ary facts, or None

    def index(self, column: str) -> int:
        """Return the number of a column among `columns`."""
        names = [one.name for one in self.columns]
        if column not in names:
            raise UnknownNameError(f"column of {self.name}", column, names)
        return names.index(column)

    def column(self, name: str) -> TableColumn:
        """Return a column by name."""
        return self.columns[self.index(name)]

    def has(self, column: str) -> bool:
        """Return whether a column became entities."""
        return any(one.name == column for one in self.columns)

    @property
    def row_key(self) -> str | None:
        """The only column of its first key of one column that became entities, a value each: what a row is about."""
        single = (key[0] for key in self.keys if len(key) == 1 and self.has(key[0]))
        return next((name for name in single if self.column(name).bins is None), None)

    def check(self, known: Known) -> None:
        """Refuse columns of one name."""
        if len({one.name for one in self.columns}) < len(self.columns):
            raise DataError("damaged-file", "a name is there twice", place="columns")


@dataclass(frozen=True, eq=False)
class RowTable:
    """The rows of a table."""

    schema: TableSchema  # what is known about the table
    # int32[columns, rows], what each cell holds by its number in the store's names, or `EMPTY`, or `UNKNOWN`
    cells: Ids
    parts: Parts  # int8[columns, rows], in which part of the split each cell is: 0 train, 1 valid, 2 test
    # what people call the rows, or None; one text for each row, empty where there is none
    labels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        wanted = (len(self.schema.columns), self.cells.shape[1] if self.cells.ndim == 2 else -1)
        if self.cells.shape != wanted or self.parts.shape != wanted:
            raise DataError(
                "damaged-file",
                f"{self.cells.shape} cells, {self.parts.shape} parts: not {wanted}",
                place=f"table {self.schema.name!r}",
            )
        if self.parts.size and not 0 <= self.parts.min() <= self.parts.max() <= len(HELD_OUT_PARTS):
            raise DataError("damaged-file", "a cell is in no part", place=f"table {self.schema.name!r}")
        if self.labels is not None and len(self.labels) != len(self):
            raise DataError(
                "damaged-file", f"{len(self.labels)} labels for {len(self)} rows", place=f"table {self.schema.name!r}"
            )

    def column(self, name: str) -> Ids:
        """Return the cells of a column."""
        cells: Ids = self.cells[self.schema.index(name)]
        return cells

    def seen(self, *, most: int = 0) -> Ids:
        """Return the cells with those of later parts than `most` emptied."""
        seen: Ids = np.where(self.parts <= most, self.cells, np.int32(EMPTY))
        return seen

    def given(self, column: str, rows: Int64, *, most: int = 0) -> Ids:
        """Return the cells of some rows that a question about a column comes with, int32[columns, n].

        Cells of later parts than `most` are empty, but for those of the same fact over several entities: where a whole fact
        is held out, the rest of it is what the question says.
        """
        index = self.schema.index(column)
        relation = self.schema.columns[index].relation
        together = [relation is not None and one.relation == relation == self.schema.relation for one in self.schema.columns]
        seen = (self.parts[:, rows] <= most) | np.array(together)[:, None]
        cells: Ids = np.where(seen, self.cells[:, rows], np.int32(EMPTY))
        cells[index] = EMPTY
        return cells

    def __len__(self) -> int:
        return int(self.cells.shape[1])


@dataclass(frozen=True, eq=False)
class RowStore:
    """The rows of all imported tables, over names of their own: of entities, and of values that no fact holds."""

    names: Vocabulary  # all of them, sorted
    tables: Mapping[str, RowTable] = field(default_factory=dict)  # by name
    # what was chosen for the import, as plain data, by which more rows can be read in the same way
    options: Mapping[str, Any] = field(default_factory=dict)
    sources: tuple[str, ...] = ()  # where the tables came from
    # what stands in each column at the source, row by row, also of columns and tables from which nothing is learned
    values: Mapping[str, StoredTable] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, values in self.values.items():
            if name in self.tables and len(values) != len(self[name]):
                raise DataError(
                    "damaged-file", f"{len(values)} rows of values, not {len(self[name])}", place=f"table {name!r}"
                )
        for table in self.tables.values():
            if table.cells.size and (table.cells.max() >= len(self.names) or table.cells.min() < UNKNOWN):
                raise DataError("damaged-file", "a cell holds no name of the store", place=f"table {table.schema.name!r}")

    def __getitem__(self, table: str) -> RowTable:
        if table not in self.tables:
            raise UnknownNameError("table", table, self.tables)
        return self.tables[table]

    @cached_property
    def schemas(self) -> tuple[TableSchema, ...]:
        """What is known about each table."""
        return tuple(table.schema for table in self.tables.values())

    @cached_property
    def keys(self) -> Mapping[str, tuple[tuple[int, ...], ...]]:
        """By relation, the sets of positions by which no two facts are alike; a group of values is no part of a key."""
        found: dict[str, tuple[tuple[int, ...], ...]] = {}
        for schema in self.schemas:
            inside = {
                one.name: one.position or 0 for one in schema.columns if one.relation == schema.relation and one.bins is None
            }
            for column in schema.columns:
                if column.relation is not None and column.relation != schema.relation and column.position == 1:
                    # The key of the row determines what describes it; a column that is a key too determines the row.
                    is_key = (column.name,) in schema.keys and column.bins is None
                    found[column.relation] = ((0,), (1,)) if is_key else ((0,),)
            if schema.relation is not None:
                whole = [key for key in schema.keys if inside.keys() >= set(key)]
                found[schema.relation] = tuple(dict.fromkeys(tuple(sorted(inside[name] for name in key)) for key in whole))
        return {relation: keys for relation, keys in found.items() if keys}

    def with_names(self, names: Vocabulary) -> RowStore:
        """Return the same rows over other names, among which are all of these."""
        ids = names.ids(self.names)

        def moved(table: RowTable) -> RowTable:
            inside = table.cells >= 0
            cells = table.cells.copy()
            cells[inside] = ids[table.cells[inside]]
            return replace(table, cells=cells)

        tables = {name: moved(table) for name, table in self.tables.items()}
        return replace(self, names=names, tables=tables)
