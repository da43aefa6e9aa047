"""Expressions as one line of text, both ways: `project[0, 2](where[1 = coffee](sold))`.

    rename[1, 0, 2](a)     project[0, 2](a)      where_equal[0, 1](a)    where[2 = coffee](a)
    union(a, b)            difference(a, b)      product(a, b)           join[0 = 1, 2 = 0](a, b)

An operation is a word followed by a bracket; any other word is a stored relation. Positions are numbers or roles; in
`where` an entity stands behind the equals sign, in `join` a position of the right side. Names are quoted as in questions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any, NamedTuple

from relatum.algebra.expression import (
    Difference,
    Expression,
    Join,
    Product,
    Project,
    Relation,
    Rename,
    SelectConstant,
    SelectEqual,
    Union,
)
from relatum.algebra.node import post_order
from relatum.algebra.reading import Reader, Word, as_written
from relatum.data.schema import Schema
from relatum.errors import RelatumError, UnknownNameError

__all__ = ["is_operation", "parse", "read_expression", "write"]


def write(expression: Expression, *, roles: bool = False) -> str:
    """Return the expression as one line that `parse` reads back as an equal one.

    Positions are written as numbers, so that the line is read alike with a schema that knows no roles; for people, `roles`
    are written where they are known. What is shared within an expression is written out wherever it stands.
    """
    written: dict[Expression, str] = {}
    for node in post_order(expression, lambda node: node.children):
        operands = [written[child] for child in node.children]
        head = _head(node, [_places(child, roles) for child in node.children])
        written[node] = f"{head}({', '.join(operands)})" if operands else head
    return written[expression]


def _places(operand: Expression, roles: bool) -> list[str]:
    """Return how the positions of an operand are called; a role that is a number would be read as one."""
    named = operand.roles if roles else None
    return [
        as_written(named[place]) if named and not named[place].isdecimal() else str(place) for place in range(operand.arity)
    ]


@singledispatch
def _head(node: Expression, places: list[list[str]]) -> str:
    return node.operation  # union, difference and product take nothing but their operands


@_head.register
def _(node: Relation, places: list[list[str]]) -> str:
    return as_written(node.name, quote=node.name in _FORMS)


@_head.register
def _(node: Rename, places: list[list[str]]) -> str:
    return f"rename[{', '.join(places[0][position] for position in node.permutation)}]"


@_head.register
def _(node: Project, places: list[list[str]]) -> str:
    return f"project[{', '.join(places[0][position] for position in node.positions)}]"


@_head.register
def _(node: SelectEqual, places: list[list[str]]) -> str:
    return f"where_equal[{places[0][node.dropped]}, {places[0][node.kept]}]"


@_head.register
def _(node: SelectConstant, places: list[list[str]]) -> str:
    # Bare digits would be read rightly, but a person would take them for a position.
    return f"where[{places[0][node.dropped]} = {as_written(node.entity, quote=node.entity.isdecimal())}]"


@_head.register
def _(node: Join, places: list[list[str]]) -> str:
    return f"join[{', '.join(f'{places[0][p]} = {places[1][q]}' for p, q in node.pairs)}]"


def is_operation(name: str) -> bool:
    """Return whether a word is the name of an operation."""
    return name in _FORMS


def parse(text: str, schema: Schema) -> Expression:
    """Return the expression in `text`, over the stored relations of `schema`."""
    reader = Reader(text)
    found = read_expression(reader, schema)
    reader.end()
    return found


def read_expression(reader: Reader, schema: Schema, *, applied: bool = False) -> Expression:
    """Return the expression that comes next; what follows it is left to the caller.

    Operations that wait for operands stand on a list, not on Python's stack: a text may be as deep as it likes.

    Args:
        reader: the text.
        schema: the stored relations.
        applied: let a relation that stands alone be followed by arguments: `sold(drew, ?)`.
    """
    waiting = list[_Operation]()
    while True:
        word = reader.word("a relation or an operation")
        alone = applied and not waiting and word.name not in _FORMS and not reader.ahead("[")
        if not word.quoted and not alone and (reader.ahead("[") or reader.ahead("(")):
            waiting.append(_open(reader, word))
            continue
        found: Expression = Relation(reader.relation(word, schema))
        while waiting:
            operation = waiting[-1]
            operation.operands.append(found)
            if len(operation.operands) < operation.form.operands:
                reader.expect(",")
                break
            reader.expect(")")
            found = waiting.pop().build()
        else:
            return found


def _open(reader: Reader, word: Word) -> _Operation:
    """Return the operation that `word` opens, read up to its first operand."""
    if word.name not in _FORMS:
        raise reader.error(UnknownNameError("operation", word.name, _FORMS), word.place)
    operation = _Operation(reader, word, _FORMS[word.name])
    if reader.take("["):
        while not reader.take("]"):
            if operation.arguments:
                reader.expect(",")
            argument = reader.word("a position")
            operation.arguments.append((argument, reader.word("a name") if reader.take("=") else None))
            if not reader.ahead("]") and not reader.ahead(","):
                raise reader.error("expected ',' or ']'")
    reader.expect("(")
    return operation


@dataclass(slots=True)
class _Operation:
    """An operation that is being read: its own word, what stands in its square brackets, and its operands so far."""

    reader: Reader
    word: Word
    form: _Form
    arguments: list[tuple[Word, Word | None]] = field(default_factory=list)
    operands: list[Expression] = field(default_factory=list)

    def build(self) -> Expression:
        values = self.form.values(self)
        try:
            return self.form.node(*self.operands, *values)
        except RelatumError as error:
            raise self.reader.error(error, self.word.place) from None

    def position(self, word: Word, operand: int = 0) -> int:
        try:
            return self.operands[operand].position(word.name)
        except RelatumError as error:
            raise self.reader.error(error, word.place) from None

    def singles(self) -> tuple[int, ...]:
        """Return the arguments as positions."""
        if any(match for _, match in self.arguments):
            raise self.misshapen()
        return tuple(self.position(word) for word, _ in self.arguments)

    def pairs(self) -> list[tuple[Word, Word]]:
        """Return the arguments as what stands before and behind their equals signs."""
        found = [(word, match) for word, match in self.arguments if match]
        if len(found) < len(self.arguments) or not found:
            raise self.misshapen()
        return found

    def misshapen(self) -> RelatumError:
        return self.reader.error(f"{self.word.name} is written {self.form.example}", self.word.place)


def _nothing(operation: _Operation) -> tuple[()]:
    if operation.arguments:
        raise operation.misshapen()
    return ()


def _positions(operation: _Operation) -> tuple[tuple[int, ...]]:
    return (operation.singles(),)


def _two_positions(operation: _Operation) -> tuple[int, ...]:
    if len(operation.arguments) != 2:
        raise operation.misshapen()
    return operation.singles()


def _position_and_entity(operation: _Operation) -> tuple[int, str]:
    (word, entity), *more = operation.pairs()
    if more:
        raise operation.misshapen()
    return operation.position(word), entity.name


def _matches(operation: _Operation) -> tuple[tuple[tuple[int, int], ...]]:
    return (tuple((operation.position(p), operation.position(q, 1)) for p, q in operation.pairs()),)


class _Form(NamedTuple):
    """How an operation is written: the number of its operands, what its square brackets give, and its node."""

    operands: int
    values: Callable[[_Operation], tuple[Any, ...]]
    node: Callable[..., Expression]
    example: str


_FORMS = {
    "rename": _Form(1, _positions, Rename, "rename[1, 0, 2](a)"),
    "project": _Form(1, _positions, Project, "project[0, 2](a)"),
    "where_equal": _Form(1, _two_positions, SelectEqual, "where_equal[0, 1](a)"),
    "where": _Form(1, _position_and_entity, SelectConstant, "where[2 = coffee](a)"),
    "union": _Form(2, _nothing, Union, "union(a, b)"),
    "difference": _Form(2, _nothing, Difference, "difference(a, b)"),
    "product": _Form(2, _nothing, Product, "product(a, b)"),
    "join": _Form(2, _matches, Join, "join[0 = 1, 2 = 0](a, b)"),
}
