"""Facts and questions as people write them: `sold(drew, ?, book)`, `sold(seller=drew, buyer=?, item="a, b")`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from relatum.data.schema import Schema
from relatum.errors import DataError

__all__ = ["Question", "parse_question"]

_SPACE = re.compile(r"\s*")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_BARE = re.compile(r"[^,()=\"]+")


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
        return f"{self.relation}({', '.join('?' if name is None else name for name in self.arguments)})"


def parse_question(text: str, schema: Schema) -> Question:
    """Return the question in `text`: a name with arguments in brackets, by position or as role=argument.

    Names that hold a comma, bracket, quote or equals sign, or a question mark alone, are put in double quotes, within which
    a backslash stands before a quote or a backslash.
    """
    reader = _Reader(text)
    name = reader.name("a relation")
    relation = schema[name]
    reader.expect("(")
    found: dict[int, str | None] = {}
    while not reader.ahead(")"):
        if found:
            reader.expect(",")
        reader.skip()
        start = reader.place
        argument = reader.argument()
        place: int | str = len(found)
        if reader.ahead("="):
            if argument is None:
                raise reader.error("before '=' stands a role or a position, not ?", start)
            reader.expect("=")
            place, argument = argument, reader.argument()
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
    return Question(name, tuple(found[position] for position in range(relation.arity)))


class _Reader:
    """Reads a text from left to right; errors point at the column."""

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0

    def error(self, reason: str, place: int | None = None) -> DataError:
        return DataError(f"{self.text!r}, column {(self.place if place is None else place) + 1}: {reason}")

    def ahead(self, sign: str) -> bool:
        self.skip()
        return self.text.startswith(sign, self.place)

    def expect(self, sign: str) -> None:
        if not self.ahead(sign):
            raise self.error(f"expected {sign!r}")
        self.place += len(sign)

    def end(self) -> None:
        self.skip()
        if self.place < len(self.text):
            raise self.error("nothing should follow")

    def argument(self) -> str | None:
        quoted = self.ahead('"')
        name = self.name("an entity or ?")
        return None if name == "?" and not quoted else name

    def name(self, what: str) -> str:
        self.skip()
        if found := _QUOTED.match(self.text, self.place):
            self.place = found.end()
            return re.sub(r"\\(.)", r"\1", found[1])
        if (found := _BARE.match(self.text, self.place)) and found[0].strip():
            self.place = found.end()
            return found[0].strip()
        raise self.error(f"expected {what}")

    def skip(self) -> None:
        self.place = _SPACE.match(self.text, self.place).end()  # type: ignore[union-attr]
