"""Questions about facts, their text, and what a run answers."""

from __future__ import annotations

from dataclasses import dataclass

from relatum.algebra.lexer import Arguments, Reader, as_written, read_arguments, write_arguments
from relatum.data.schema import Schema

__all__ = ["Answer", "FactScore", "Question", "parse_question"]


@dataclass(frozen=True, slots=True)
class Answer:
    """Entities that complete a question, one for each open position, and what is known of the fact that they make.

    Attributes:
        entities: the entities, in the order of the open positions.
        score: the model's score; comparable among facts of one relation.
        probability: the calibrated one, comparable among all facts; None where there were no facts to calibrate with.
        source: the part that holds the fact already, `derived` if it follows from them by definition, or None.
    """

    entities: tuple[str, ...]
    score: float
    probability: float | None
    source: str | None

    @property
    def entity(self) -> str:
        """The entity at the only open position."""
        (entity,) = self.entities
        return entity

    @property
    def known(self) -> bool:
        """Whether the fact is among those that the run was given."""
        return self.source is not None


@dataclass(frozen=True, slots=True)
class FactScore:
    """What a run thinks of a fact.

    Attributes:
        score: the model's score; comparable among facts of one relation.
        probability: the calibrated one, comparable among all facts; None where there were no facts to calibrate with.
        percentile: the share of its alternatives that score below it, in percent; alternatives are all facts that differ
            from it in one entity and are not known to be true; equal ones count by half.
        source: the part that holds the fact already, `derived` if it follows from them by definition, or None.
    """

    score: float
    probability: float | None
    percentile: float
    source: str | None


@dataclass(frozen=True, slots=True)
class Question:
    """A relation and its arguments in the order of its positions; None is open."""

    relation: str
    arguments: Arguments

    @property
    def open(self) -> list[int]:
        """The open positions."""
        return [position for position, argument in enumerate(self.arguments) if argument is None]

    def __str__(self) -> str:
        return as_written(self.relation) + write_arguments(self.arguments)


def parse_question(text: str, schema: Schema) -> Question:
    """Return the question in `text`: a name with arguments in brackets, by position or as role=argument."""
    reader = Reader(text)
    relation = schema[reader.word("a relation").name]
    arguments = read_arguments(reader, relation)
    reader.end()
    return Question(relation.name, arguments)
