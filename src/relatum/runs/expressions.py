"""An expression with the run that it is asked of: `run["sold"].permute(1, 0, 2).complete("alex", None, "book")`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from relatum.algebra import Expression
from relatum.algebra.node import PositionOrRole
from relatum.reasoning.query import Query, QueryAnswer, QueryResult
from relatum.runs.trained import Trained


@dataclass(frozen=True)
class BoundExpression:
    """An expression over the relations of a run; the methods of expressions make others, and it can be asked."""

    run: Trained
    expression: Expression

    def permute(self, *positions: PositionOrRole) -> BoundExpression:
        """Return the same columns in another order."""
        return replace(self, expression=self.expression.permute(*positions))

    def project(self, *positions: PositionOrRole) -> BoundExpression:
        """Return only the given columns, in the given order."""
        return replace(self, expression=self.expression.project(*positions))

    def select(self, position: PositionOrRole, entity: str) -> BoundExpression:
        """Return the tuples that hold `entity` at `position`; the column is dropped."""
        return replace(self, expression=self.expression.select(position, entity))

    def select_equal(self, dropped: PositionOrRole, kept: PositionOrRole) -> BoundExpression:
        """Return the tuples that hold the same entity at both positions; the first of the two columns is dropped."""
        return replace(self, expression=self.expression.select_equal(dropped, kept))

    def __or__(self, other: BoundExpression) -> BoundExpression:
        return replace(self, expression=self.expression | other.expression)

    def __sub__(self, other: BoundExpression) -> BoundExpression:
        return replace(self, expression=self.expression - other.expression)

    def __str__(self) -> str:
        return self.expression.text(roles=True)

    def complete(
        self, *arguments: str | None, k: int = 10, mode: str = "exact", new_only: bool = False, seconds: float | None = 5.0
    ) -> QueryResult:
        """Return the k best known and new answers; an argument for each column, None where it is open, or none at all."""
        given = arguments or (None,) * self.expression.arity
        return self.run.query(Query(self.expression, given), k, mode, new_only=new_only, seconds=seconds)

    def score(self, *entities: str) -> QueryAnswer:
        """Return how true one tuple is."""
        (answer,) = self.run.query(Query(self.expression, entities))
        return answer

    def define(self, name: str) -> None:
        """Give the expression a name, under which the run knows it from now on."""
        self.run.define(name, self.expression)
