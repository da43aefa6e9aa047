"""Facts and questions as people write them: `sold(drew, ?, book)`, `sold(seller=drew, buyer=?, item="a, b")`."""

from __future__ import annotations

from dataclasses import dataclass

from relatum.algebra.arguments import Arguments, read_arguments, write_arguments
from relatum.algebra.reading import Reader, as_written
from relatum.data.schema import Schema

__all__ = ["Question", "parse_question"]


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
