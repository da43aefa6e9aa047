"""Expressions read from one line of text: `project[0, 2](select[1 = coffee](sold))`.

    permute[1, 0, 2](a)    project[0, 2](a)         select_equal[0, 1](a)   select[2 = coffee](a)
    filter[2 = coffee](a)  filter[2 != coffee](a)   filter_equal[0, 1](a)   filter_unequal[0, 1](a)
    union(a, b)            difference(a, b)         intersection(a, b)
    product(a, b)          join[0 = 1, 2 = 0](a, b)

An operation is a word followed by a bracket; any other word is a stored relation. Positions are numbers or roles; in
`select` and `filter` an entity stands behind the sign, in `join` a position of the right side. Names are quoted as in
questions. Selections drop the column that they select by, filters keep it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from relatum.algebra import expression as nodes
from relatum.algebra.expression import OPERATIONS, Expression, Relation
from relatum.algebra.lexer import Reader, Word
from relatum.data.schema import Schema
from relatum.errors import RelatumError, UnknownNameError


def parse(text: str, schema: Schema) -> Expression:
    """Return the expression in `text`, over the stored relations of `schema`."""
    reader = Reader(text)
    found = read_expression(reader, schema)
    reader.end()
    return found


def read_expression(reader: Reader, schema: Schema, *, applied: bool = False) -> Expression:
    """Return the expression that comes next; what follows it is left to the caller.

    Operations that wait for operands stand on a list, not on Python's stack: a text may be as deep as it likes. Where
    `applied`, a relation that stands alone may be followed by arguments: `sold(drew, ?)`.
    """
    waiting = list[_Operation]()
    while True:
        word = reader.word("a relation or an operation")
        alone = applied and not waiting and word.name not in OPERATIONS and not reader.ahead("[")
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
        raise reader.error(UnknownNameError("operation", word.name, _FORMS), word.offset)
    operation = _Operation(reader, word, _FORMS[word.name])
    if reader.take("["):
        while not reader.take("]"):
            if operation.arguments:
                reader.expect(",")
            argument, sign = reader.compared(reader.word("a position"))
            operation.arguments.append(_Argument(argument, sign, reader.word("a name") if sign else None))
            if not reader.ahead("]") and not reader.ahead(","):
                raise reader.error("expected ',' or ']'")
    reader.expect("(")
    return operation


class _Argument(NamedTuple):
    """What stands between the commas of square brackets: a word, or two with = or != between them."""

    word: Word
    sign: str
    match: Word | None


@dataclass(slots=True)
class _Operation:
    """An operation that is being read: its own word, its arguments in square brackets, and its operands so far."""

    reader: Reader
    word: Word
    form: _Form
    arguments: list[_Argument] = field(default_factory=list)
    operands: list[Expression] = field(default_factory=list)

    def build(self) -> Expression:
        values = self.form.values(self)
        try:
            return self.form.node(*self.operands, *values)
        except RelatumError as error:
            raise self.reader.error(error, self.word.offset) from None

    def position(self, word: Word, operand: int = 0) -> int:
        try:
            return self.operands[operand].position(word.name)
        except RelatumError as error:
            raise self.reader.error(error, word.offset) from None

    def singles(self) -> tuple[int, ...]:
        """Return the arguments as positions."""
        if any(argument.match for argument in self.arguments):
            raise self.misshapen()
        return tuple(self.position(argument.word) for argument in self.arguments)

    def pairs(self) -> list[tuple[Word, Word]]:
        """Return the arguments as what stands before and behind their equals signs."""
        found = [(one.word, one.match) for one in self.arguments if one.match and one.sign == "="]
        if len(found) < len(self.arguments) or not found:
            raise self.misshapen()
        return found

    def misshapen(self) -> RelatumError:
        return self.reader.error(f"{self.word.name} is written {self.form.example}", self.word.offset)


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


def _comparison(operation: _Operation) -> tuple[int, str, bool]:
    (word, sign, entity), *more = operation.arguments or [_Argument(operation.word, "", None)]
    if more or not entity:
        raise operation.misshapen()
    return operation.position(word), entity.name, sign == "="


def _matches(operation: _Operation) -> tuple[tuple[tuple[int, int], ...]]:
    return (tuple((operation.position(p), operation.position(q, 1)) for p, q in operation.pairs()),)


class _Form(NamedTuple):
    """How an operation is written: the number of its operands, what its square brackets give, and its node."""

    operands: int
    values: Callable[[_Operation], tuple[Any, ...]]
    node: Callable[..., Expression]
    example: str


_FORMS = {
    "permute": _Form(1, _positions, nodes.Rename, "permute[1, 0, 2](a)"),
    "project": _Form(1, _positions, nodes.Project, "project[0, 2](a)"),
    "select_equal": _Form(1, _two_positions, nodes.SelectEqual, "select_equal[0, 1](a)"),
    "select": _Form(1, _position_and_entity, nodes.SelectConstant, "select[2 = coffee](a)"),
    "filter": _Form(1, _comparison, nodes.Filter, "filter[2 = coffee](a) or filter[2 != coffee](a)"),
    "filter_equal": _Form(1, _two_positions, nodes.Filter, "filter_equal[0, 1](a)"),
    "filter_unequal": _Form(1, _two_positions, partial(nodes.Filter, equal=False), "filter_unequal[0, 1](a)"),
    "union": _Form(2, _nothing, nodes.Union, "union(a, b)"),
    "difference": _Form(2, _nothing, nodes.Difference, "difference(a, b)"),
    "intersection": _Form(2, _nothing, nodes.Intersection, "intersection(a, b)"),
    "product": _Form(2, _nothing, nodes.Product, "product(a, b)"),
    "join": _Form(2, _matches, nodes.Join, "join[0 = 1, 2 = 0](a, b)"),
}
