"""Queries in SQL, relational algebra or as a question, answered by known and predicted facts."""

from __future__ import annotations

from dataclasses import dataclass

from relatum.api import Run
from relatum.resources.references import EntityRef, FactRef
from relatum.runs.trained import SECONDS

__all__ = ["QueryAnswers", "QueryItem", "WitnessItem", "language_of", "query"]


@dataclass(frozen=True, slots=True)
class WitnessItem:
    """A fact that a row rests on, and whether it rests on its being false."""

    fact: FactRef
    negated: bool


@dataclass(frozen=True, slots=True)
class QueryItem:
    """A row that answers a query.

    Attributes:
        values: what stands in each column.
        probability: how likely the facts that it rests on are together; None without calibration.
        known: whether it follows exactly from known facts.
        proven: whether there is surely no better row but those above it.
        witness: the facts that it rests on, known or predicted.
    """

    values: tuple[EntityRef, ...]
    probability: float | None
    known: bool
    proven: bool
    witness: tuple[WitnessItem, ...]


@dataclass(frozen=True, slots=True)
class QueryAnswers:
    """The rows that answer a query, best first.

    Attributes:
        language: what the text was taken for: `sql`, `algebra` or `question`.
        text: the query.
        columns: how the columns are called.
        rows: the rows.
        proven: whether there are surely no better rows.
        bound: `equal` where probabilities are those of the query, `at least` where the search ended early.
        message: what there is to say of the rows, such as that the time was over; None if nothing.
        truncated: whether there may be more rows than are listed.
    """

    language: str
    text: str
    columns: tuple[str, ...]
    rows: tuple[QueryItem, ...]
    proven: bool
    bound: str
    message: str | None
    truncated: bool


def language_of(run: Run, text: str) -> str:
    """Return what a text is taken for: `sql`, `algebra` or `question`."""
    raise NotImplementedError


def query(run: Run, text: str, k: int = 10, *, new_only: bool = False, seconds: float = SECONDS) -> QueryAnswers:
    """Return the k best rows that answer a query, in whichever language it is; a statement that changes is refused."""
    raise NotImplementedError
