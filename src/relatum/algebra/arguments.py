"""Arguments in brackets behind a relation or an expression: `(drew, ?, book)`, `(seller=drew, buyer=?, item="a, b")`."""

from __future__ import annotations

from relatum.algebra.reading import Reader, as_written
from relatum.data.schema import RelationSchema

__all__ = ["Arguments", "read_arguments", "write_arguments"]

Arguments = tuple[str | None, ...]  # in the order of the positions; None is open


def read_arguments(reader: Reader, relation: RelationSchema) -> Arguments:
    """Return the arguments that come next, by position or as role=argument, one for each position of a relation.

    Names that hold a comma, bracket, quote or equals sign, or a question mark alone, are put in double quotes, within which
    a backslash stands before a quote or a backslash.
    """
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
    if len(found) != relation.arity:
        raise reader.error(f"{relation} takes {relation.arity} arguments, not {len(found)}", reader.place - 1)
    return tuple(found[position] for position in range(relation.arity))


def write_arguments(arguments: Arguments) -> str:
    """Return arguments in brackets, as `read_arguments` reads them."""
    return f"({', '.join('?' if name is None else as_written(name, quote=name == '?') for name in arguments)})"


def _argument(reader: Reader) -> tuple[str | None, int]:
    """Return the entity, or None for an open position, and where it stands."""
    word = reader.word("an entity or ?")
    return (None if word.name == "?" and not word.quoted else word.name), word.place
