"""The rows that answer a query with joins: what stands in each column, how likely it is, and what that rests on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from relatum.algebra.lexer import as_written
from relatum.formatting import percent
from relatum.records import Records

__all__ = ["QueryRow", "QueryRows", "WitnessFact"]


@dataclass(frozen=True, slots=True)
class WitnessFact:
    """A fact that a row rests on.

    Attributes:
        relation: its relation.
        entities: its entities.
        probability: 1 if it is known, else how likely it is.
        known: whether it is known.
        negated: whether the row rests on it being false.
        shown: the entities as people read them.
    """

    relation: str
    entities: tuple[str, ...]
    probability: float
    known: bool
    negated: bool = False
    shown: tuple[str, ...] = ()

    def __str__(self) -> str:
        fact = f"{as_written(self.relation)}({', '.join(map(as_written, self.shown or self.entities))})"
        how = "known" if self.known else percent(self.probability)
        return f"not {fact}, which is {how}" if self.negated else f"{fact}: {how}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fact as plain data."""
        names = ("relation", "probability", "known", "negated")
        return {**{name: getattr(self, name) for name in names}, "entities": list(self.entities)}


@dataclass(frozen=True, slots=True)
class QueryRow:
    """A row that answers a query.

    Attributes:
        values: what stands in each column, as in the table that it came from.
        entities: the entities that these are.
        probability: of all facts that the row rests on together.
        known: whether the row follows exactly from known facts.
        proven: whether there is surely no better row but those above it.
        witness: the facts that it rests on.
        columns: how the columns are called.
        shown: the values as people read them.
    """

    values: tuple[str, ...]
    entities: tuple[str, ...]
    probability: float
    known: bool
    proven: bool
    witness: tuple[WitnessFact, ...]
    columns: tuple[str, ...]
    shown: tuple[str, ...] = ()

    def __getitem__(self, column: str | int) -> str:
        """Return what stands in a column, by its name or number."""
        return self.values[column if isinstance(column, int) else self.columns.index(column)]

    def to_dict(self) -> dict[str, Any]:
        """Return the values by column, and how likely they are."""
        return {**dict(zip(self.columns, self.values, strict=True)), "probability": self.probability, "known": self.known}

    def to_json(self) -> dict[str, Any]:
        """Return the row as plain data, witness included."""
        return {**self.to_dict(), "proven": self.proven, "witness": [fact.to_dict() for fact in self.witness]}


class QueryRows(Records[QueryRow]):
    """The rows that answer a query, best first.

    Attributes:
        query: what was asked.
        conjunction: how the probabilities of facts become that of a row, `product` or `minimum`.
        cap: what a predicted fact counts at most.
        floor: the probability below which one counts nothing.
        proven: whether there are surely no better rows.
        stopped: whether the time was over before that was certain.
        plan: how the query was answered, line by line, where that was wanted.
    """

    def __init__(
        self,
        rows: Iterable[QueryRow],
        columns: Sequence[str],
        query: str,
        *,
        conjunction: str,
        cap: float,
        floor: float,
        proven: bool,
        stopped: bool,
        plan: tuple[str, ...] = (),
    ) -> None:
        super().__init__(rows, {**dict.fromkeys(columns, str), "probability": float, "known": bool}, query)
        self.query, self.conjunction, self.cap, self.floor = query, conjunction, cap, floor
        self.proven, self.stopped, self.plan = proven, stopped, plan

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain data."""
        names = ("query", "conjunction", "cap", "floor", "proven", "stopped")
        whole = {name: getattr(self, name) for name in names}
        if self.plan:
            whole["plan"] = list(self.plan)
        return {**whole, "rows": [row.to_json() for row in self]}
