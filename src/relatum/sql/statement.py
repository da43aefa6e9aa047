"""What a statement of SQL is once it has been read: an expression, and what is wanted of its rows."""

from __future__ import annotations

from dataclasses import dataclass

from relatum.algebra import Expression

__all__ = ["Statement"]


@dataclass(frozen=True, slots=True)
class Statement:
    """A query that can be answered.

    Attributes:
        expression: what is selected, over stored relations.
        columns: what the columns of the result are called.
        positions: for each of these, the column of the expression that it shows: two that are always equal are one there.
        kind: `select`, `view` (to define `name`) or `explain`.
        name: of the view.
        limit: how many rows at most.
        order: `probability` if the rows are to be sorted, the most probable first.
        known: whether only known rows are wanted, or only new ones; None for all.
        least: the least probability of a row.
    """

    expression: Expression
    columns: tuple[str, ...]
    positions: tuple[int, ...]
    kind: str = "select"
    name: str | None = None
    limit: int | None = None
    order: str | None = None
    known: bool | None = None
    least: float | None = None
