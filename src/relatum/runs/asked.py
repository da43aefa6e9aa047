"""An expression with the run that it is asked of: `run["sold"].permute(1, 0, 2).complete("alex", None, "book")`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from relatum.algebra import Expression
from relatum.algebra.node import Place
from relatum.reasoning.query import Query, QueryAnswer, QueryResult

if TYPE_CHECKING:
    from relatum.runs.run import Run

__all__ = ["Asked"]


@dataclass(frozen=True)
class Asked:
    """An expression over the relations of a run; the methods of expressions make others, and it can be asked."""

    run: Run
    expression: Expression

    def permute(self, *places: Place) -> Asked:
        """Return the same columns in another order."""
        return replace(self, expression=self.expression.permute(*places))

    def project(self, *places: Place) -> Asked:
        """Return only the given columns, in the given order."""
        return replace(self, expression=self.expression.project(*places))

    def select(self, place: Place, entity: str) -> Asked:
        """Return the tuples that hold `entity` at `place`; the column is dropped."""
        return replace(self, expression=self.expression.select(place, entity))

    def select_equal(self, dropped: Place, kept: Place) -> Asked:
        """Return the tuples that hold the same entity at both places; the first of the two columns is dropped."""
        return replace(self, expression=self.expression.select_equal(dropped, kept))

    # The paper's own words.
    rename, where, where_equal = permute, select, select_equal

    def __or__(self, other: Asked) -> Asked:
        return replace(self, expression=self.expression | other.expression)

    def __sub__(self, other: Asked) -> Asked:
        return replace(self, expression=self.expression - other.expression)

    def complete(
        self,
        *arguments: str | None,
        k: int = 10,
        mode: str = "exact",
        new_only: bool = False,
        seconds: float | None = 5.0,
    ) -> QueryResult:
        """Return the k best known and new answers; an argument for each column, None where it is open, or none at all."""
        given = arguments or (None,) * self.expression.arity
        return self.run.query(Query(self.expression, given), k, mode, new_only=new_only, seconds=seconds)

    def score(self, *entities: str) -> QueryAnswer:
        """Return how true one tuple is."""
        (answer,) = self.run.query(Query(self.expression, entities)).answers
        return answer

    def define(self, name: str) -> None:
        """Give the expression a name, under which the run knows it from now on."""
        self.run.define(name, self.expression)
