"""Queries as people write them: `project[0](select[2 = coffee](sold))`, `(sold)(drew, ?, book)`, and their answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from relatum.algebra.expression import Expression
from relatum.algebra.lexer import Arguments, Reader, read_arguments, write_arguments
from relatum.algebra.text import read_expression
from relatum.data.schema import Schema
from relatum.errors import DataError
from relatum.reasoning.closed_form import Bound
from relatum.records import Records


@dataclass(frozen=True)
class Query:
    """An expression and an argument for each of its columns; None is open."""

    expression: Expression
    arguments: Arguments

    def __post_init__(self) -> None:
        if (given := len(self.arguments)) != (arity := self.expression.arity):
            raise DataError("argument-count", f"{self.expression} takes {arity} arguments, not {given}")

    @property
    def open(self) -> list[int]:
        """The open columns."""
        return [position for position, argument in enumerate(self.arguments) if argument is None]

    @property
    def fields(self) -> list[str]:
        """How the entities at the open columns are called: by role where there are roles."""
        roles = self.expression.roles
        if roles:
            return [roles[position] for position in self.open]
        return ["entity"] if len(self.open) == 1 else [f"column_{position}" for position in self.open]

    def __str__(self) -> str:
        return f"({self.expression}){write_arguments(self.arguments)}"


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """Entities at the open columns, and how true the tuple is that they make.

    Attributes:
        entities: the entities, in the order of the open columns.
        probability: by the exact value of the plan, from calibrated scores; None without a calibration.
        degree: the degree of truth by the exact value of the plan, from the scores as they are.
        closed: the degree of truth by the closed form, which the bound of the query is about; None where there is none.
        known: whether the tuple follows exactly from the facts that the run was given.
        proven: whether there is surely no better answer of its kind, known or new, but those above it.
    """

    entities: tuple[str, ...]
    probability: float | None
    degree: float
    closed: float | None
    known: bool
    proven: bool = True

    @property
    def entity(self) -> str:
        """The entity at the only open column."""
        (entity,) = self.entities
        return entity

    def to_dict(self) -> dict[str, Any]:
        """Return the values of the tuple; its entities are named by the query."""
        return {name: getattr(self, name) for name in ("probability", "degree", "closed", "known", "proven")}

    @property
    def slack(self) -> float | None:
        """How far the closed form lies above the exact value."""
        return None if self.closed is None else self.closed - self.degree


class QueryResult(Records[QueryAnswer]):
    """The answers to a query: the known ones, best first, and behind them the new ones, best first.

    Attributes:
        query: the query.
        mode: how answers were ranked, `exact` or `closed`.
        bound: what the closed form promises.
        proven: whether there are surely no better answers in that mode.
        stopped: whether the time was over before that was certain.
    """

    def __init__(
        self, query: Query, mode: str, bound: Bound, proven: bool, stopped: bool, answers: Iterable[QueryAnswer]
    ) -> None:
        own = {"probability": float, "degree": float, "closed": float, "known": bool, "proven": bool}
        super().__init__(answers, {**dict.fromkeys(query.fields, str), **own}, str(query))
        self.query, self.mode, self.bound, self.proven, self.stopped = query, mode, bound, proven, stopped

    def _plain(self, row: QueryAnswer) -> dict[str, Any]:
        return {**dict(zip(self.query.fields, row.entities, strict=True)), **row.to_dict()}

    @property
    def answers(self) -> list[QueryAnswer]:
        """All answers, as a list."""
        return list(self)

    @property
    def known(self) -> list[QueryAnswer]:
        """The answers that follow from facts."""
        return [one for one in self if one.known]

    @property
    def new(self) -> list[QueryAnswer]:
        """The answers that do not."""
        return [one for one in self if not one.known]

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {
            "query": str(self.query),
            "mode": self.mode,
            "bound": self.bound.value,
            "proven": self.proven,
            "stopped": self.stopped,
            "answers": [{"entities": list(one.entities), **one.to_dict(), "slack": one.slack} for one in self.answers],
        }


def parse_query(text: str, schema: Schema) -> Query:
    """Return the query in `text`: an expression, bare or in brackets, and arguments; without arguments all is open.

    Where arguments are named by role, columns that are not named are free: they are projected away.
    """
    reader = Reader(text)
    bracketed = reader.take("(")
    expression = read_expression(reader, schema, applied=not bracketed)
    if bracketed:
        reader.expect(")")
    arguments: Arguments = (None,) * expression.arity
    free: set[int] = set()
    if reader.ahead("("):
        arguments = read_arguments(reader, expression.schema, free)
    reader.end()
    kept = [position for position in range(expression.arity) if position not in free]
    whole = expression.project(*kept) if free else expression
    return Query(whole, tuple(arguments[position] for position in kept))
