"""What a query says, in the words of SQL: the only trees that are translated. Each node knows its offset in the text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier; unless it is quoted, its case does not matter."""

    text: str
    quoted: bool
    at: int


@dataclass(frozen=True, slots=True)
class ColumnName:
    """A column, with or without the table that it is of."""

    table: Name | None
    name: Name

    @property
    def at(self) -> int:
        """Where it begins."""
        return self.name.at if self.table is None else self.table.at


@dataclass(frozen=True, slots=True)
class Constant:
    """A text or a number."""

    text: str
    is_number: bool
    at: int


@dataclass(frozen=True, slots=True)
class All:
    """`*`, or `t.*`."""

    table: Name | None
    at: int


Term = ColumnName | Constant


@dataclass(frozen=True, slots=True)
class Comparison:
    """That two terms are equal, or unequal."""

    left: Term
    right: Term
    equal: bool
    at: int


@dataclass(frozen=True, slots=True)
class Membership:
    """That terms are a row of a query."""

    row: tuple[Term, ...]
    query: Query
    at: int


@dataclass(frozen=True, slots=True)
class Exists:
    """That a query has a row."""

    query: Query
    at: int


@dataclass(frozen=True, slots=True)
class Conjuncts:
    """That all parts hold."""

    parts: tuple[Condition, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Alternatives:
    """That at least one of the parts holds."""

    parts: tuple[Condition, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Negation:
    """That a condition does not hold."""

    part: Condition
    at: int


@dataclass(frozen=True, slots=True)
class Known:
    """That a row follows from what is known."""

    at: int


@dataclass(frozen=True, slots=True)
class Least:
    """That a row is at least so probable."""

    probability: float
    at: int


Condition = Comparison | Membership | Exists | Conjuncts | Alternatives | Negation | Known | Least


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table, a view or a name of WITH, under an alias or its own name."""

    name: Name
    alias: Name | None

    @property
    def at(self) -> int:
        """Where it begins."""
        return self.name.at


@dataclass(frozen=True, slots=True)
class SubqueryTable:
    """A query in the stead of a table, under an alias."""

    query: Query
    alias: Name
    at: int


AnySource = NamedTable | SubqueryTable


@dataclass(frozen=True, slots=True)
class Joined:
    """A table of FROM and how it is joined to those before it.

    Attributes:
        source: the table.
        how: `first` of FROM or behind a comma; `cross`, `on`, `using` or `natural`.
        condition: of ON.
        using: the columns of USING.
    """

    source: AnySource
    how: str
    condition: Condition | None = None
    using: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class SelectItem:
    """A column of the result, under an alias or its own name; a constant can only stand where no one reads it."""

    term: Term | All
    alias: Name | None
    at: int


@dataclass(frozen=True, slots=True)
class Select:
    """One SELECT."""

    items: tuple[SelectItem, ...]
    sources: tuple[Joined, ...]
    where: Condition | None
    at: int


@dataclass(frozen=True, slots=True)
class SetOperation:
    """`union`, `except` or `intersect` of two queries."""

    operation: str
    left: Query
    right: Query
    at: int


@dataclass(frozen=True, slots=True)
class WithQueries:
    """A query, and the names that others have in it."""

    named: tuple[tuple[Name, Query], ...]
    query: Query
    at: int


Query = Select | SetOperation | WithQueries


@dataclass(frozen=True, slots=True)
class Outermost:
    """A whole statement.

    Attributes:
        query: what is selected.
        kind: `select`, `view` or `explain`.
        name: of the view.
        limit: how many rows at most.
        is_ordered: whether it says ORDER BY probability.
        at: where what no view can have stands, if there is such.
    """

    query: Query
    kind: str
    name: Name | None = None
    limit: int | None = None
    is_ordered: bool = False
    at: int | None = None
