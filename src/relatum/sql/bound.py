"""A query whose names have been found: sources, references to their columns, and conditions without NOT.

NOT has moved inwards, to where it turns equal into unequal, and a query that has a row into one that has none. `branches`
gives a condition as alternatives, each of which is a plain list of what must hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from relatum.algebra import Expression
from relatum.data.column_types import ColumnType
from relatum.errors import DataError
from relatum.sql.catalog import CatalogTable
from relatum.time_limit import check_time

_ALTERNATIVES = "AND, OR, NOT, IN and EXISTS"


@dataclass(frozen=True, eq=False)
class Source:
    """A table of FROM: an expression, or an imported table, of which only the columns that are named are looked at.

    Attributes:
        name: the alias, or the table's name.
        columns: what its columns are called.
        types: what their entities are.
        expression: what it is; None for an imported table, and if it can have no rows.
        table: the imported table.
    """

    name: str
    columns: tuple[str, ...]
    types: tuple[ColumnType | None, ...]
    expression: Expression | None = None
    table: CatalogTable | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """A column of a source."""

    source: Source
    index: int

    @property
    def column_type(self) -> ColumnType | None:
        """What its entities are."""
        return self.source.types[self.index]

    @property
    def name(self) -> str:
        """What it is called."""
        return self.source.columns[self.index]

    def __str__(self) -> str:
        return f"{self.source.name}.{self.name}"


@dataclass(frozen=True, slots=True)
class Equality:
    """That a column is equal, or unequal, to another one or to an entity."""

    left: Reference
    right: Reference | str
    equal: bool


@dataclass(frozen=True, slots=True)
class Demand:
    """What a row of an imported table must hold: in stored cells, or in what is predicted of an empty one."""

    source: Source
    sql: str  # over its bare columns, as DuckDB reads it
    text: str  # the same, as people read it
    columns: tuple[str, ...]  # those that it names


@dataclass(frozen=True, slots=True)
class HasRow:
    """That a query has a row, or has none."""

    select: BoundSelect
    positive: bool


@dataclass(frozen=True, slots=True)
class Both:
    """That all parts hold; without any, nothing is demanded."""

    parts: tuple[BoundCondition, ...] = ()


@dataclass(frozen=True, slots=True)
class Either:
    """That one of the parts holds."""

    parts: tuple[BoundCondition, ...]


BoundCondition = Equality | Demand | HasRow | Both | Either


@dataclass(frozen=True, slots=True)
class BoundSelect:
    """A SELECT; where no one reads its columns, there may be none."""

    sources: tuple[Source, ...]
    condition: BoundCondition
    outputs: tuple[Reference, ...]
    names: tuple[str, ...]
    at: int
    # for each output, the column that is looked up in the stored row whose key it is; None for the output itself
    looked_up: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True)
class BoundSetOperation:
    """`union`, `except` or `intersect` of two queries of as many columns."""

    operation: str
    left: BoundQuery
    right: BoundQuery
    at: int

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns are called: as on the left."""
        return self.left.names

    @property
    def outputs(self) -> tuple[Reference, ...]:
        """The columns of the first SELECT, whose types stand for all."""
        return self.left.outputs


BoundQuery = BoundSelect | BoundSetOperation


@dataclass(frozen=True, slots=True)
class Branch:
    """What must hold together: rows of sources, equalities, inequalities, demands, and that queries have no row.

    Each of `absent` is one alternative of a query that has none, as a branch of its own.
    """

    sources: tuple[Source, ...] = ()
    equalities: tuple[Equality, ...] = ()
    demands: tuple[Demand, ...] = ()
    absent: tuple[Branch, ...] = ()

    def __add__(self, other: Branch) -> Branch:
        check_time()
        return Branch(
            tuple(dict.fromkeys(self.sources + other.sources)),
            tuple(dict.fromkeys(self.equalities + other.equalities)),
            tuple(dict.fromkeys(self.demands + other.demands)),
            tuple(dict.fromkeys(self.absent + other.absent)),
        )

    def references(self) -> Iterator[Reference]:
        """Yield every column that is named, those in what must be absent too."""
        for one in self.equalities:
            yield one.left
            if isinstance(one.right, Reference):
                yield one.right
        for branch in self.absent:
            yield from branch.references()


@dataclass
class Budget:
    """How many branches may still be formed, within a query as a whole."""

    left: int = field(default=1024)

    def spend(self, count: int) -> None:
        """Take off some, or refuse."""
        self.left -= count
        if self.left < 0:
            raise DataError("over-limit", f"{_ALTERNATIVES} of this query come to too many alternatives")


def negated(condition: BoundCondition) -> BoundCondition:
    """Return the condition that holds where another does not."""
    match condition:
        case Equality():
            return replace(condition, equal=not condition.equal)
        case Demand():
            return replace(condition, sql=f"NOT ({condition.sql})", text=f"NOT ({condition.text})")
        case HasRow():
            return replace(condition, positive=not condition.positive)
        case Both(parts):
            return Either(tuple(map(negated, parts)))
        case Either(parts):
            return Both(tuple(map(negated, parts)))


def branches(condition: BoundCondition, most: int, budget: Budget) -> list[Branch]:
    """Return the alternatives of a condition, at most so many."""
    match condition:
        case Equality():
            return [Branch(equalities=(condition,))]
        case Demand():
            return [Branch(demands=(condition,))]
        case HasRow(select, positive):
            inner = [Branch(select.sources) + one for one in branches(select.condition, most, budget)]
            return inner if positive else [Branch(absent=tuple(inner))]
        case Either(parts):
            found = _different(one for part in parts for one in branches(part, most, budget))
        case Both(parts):
            found = [Branch()]
            for part in parts:
                others = branches(part, most, budget)
                _check(len(found) * len(others), most, budget)
                found = _different(one + other for one in found for other in others)
    _check(len(found), most, budget)
    return found


def _different(found: Iterable[Branch]) -> list[Branch]:
    return list(dict.fromkeys(found))


def _check(count: int, most: int, budget: Budget) -> None:
    if count > most:
        raise DataError("over-limit", f"{_ALTERNATIVES} of this SELECT come to more than {most} alternatives")
    budget.spend(count if count > 1 else 0)
