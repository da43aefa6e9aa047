"""Facts and questions as people write them: `sold(drew, ?, book)`, `sold(seller=drew, buyer=?, item="a, b")`."""

from __future__ import annotations

from dataclasses import dataclass

from relatum.algebra.reading import Reader, as_written
from relatum.data.schema import Schema

__all__ = ["Question", "parse_question"]


@dataclass(frozen=True, slots=True)
class Question:
    """A relation and its arguments in the order of its positions; None is open."""

    relation: str
    arguments: tuple[str | None, ...]

    @property
    def open(self) -> list[int]:
        """The open positions."""
        return [position for position, argument in enumerate(self.arguments) if argument is None]

    def __str__(self) -> str:
        arguments = ("?" if name is None else as_written(name, quote=name == "?") for name in self.arguments)
        return f"{as_written(self.relation)}({', '.join(arguments)})"


def parse_question(text: str, schema: Schema) -> Question:
    """Return the question in `text`: a name with arguments in brackets, by position or as role=argument.

    Names that hold a comma, bracket, quote or equals sign, or a question mark alone, are put in double quotes, within which
    a backslash stands before a quote or a backslash.
    """
    reader = Reader(text)
    relation = schema[reader.word("a relation").name]
    reader.expect("(")
    found: dict[int, str | None] = {}
    while not reader.ahead(")"):
        if found:
            reader.expect(",")
        argument, start = _argument(reader)
        place: int | str = len(found)
        if reader.ahead("="):
            if argument is None:
                raise reader.error("before '=' stands a role or a position, not ?", start)
            reader.expect("=")
            place, (argument, _) = argument, _argument(reader)
        if isinstance(place, int) and place >= relation.arity:
            raise reader.error(f"{relation} takes {relation.arity} arguments, and here is one more", start)
        position = relation.position(place)
        if position in found:
            raise reader.error(f"position {position} of {relation} is given twice", start)
        found[position] = argument
    reader.expect(")")
    reader.end()
    if len(found) != relation.arity:
        raise reader.error(f"{relation} takes {relation.arity} arguments, not {len(found)}", len(text) - 1)
    return Question(relation.name, tuple(found[position] for position in range(relation.arity)))


def _argument(reader: Reader) -> tuple[str | None, int]:
    """Return the entity, or None for an open position, and where it stands."""
    word = reader.word("an entity or ?")
    return (None if word.name == "?" and not word.quoted else word.name), word.place
