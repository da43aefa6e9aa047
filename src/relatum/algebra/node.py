"""What all expressions share: the schema of their result, their text, depth and equality, and an order to visit them in."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import ClassVar, TypeVar

from relatum.algebra.lexer import as_written
from relatum.data.schema import RelationSchema
from relatum.data.vocabulary import fault_of
from relatum.errors import DataError
from relatum.time_limit import check_time

PositionOrRole = int | str  # a position, from 0, or a role
Visited = TypeVar("Visited", bound=Hashable)


class Node:
    """A frozen node; `schema` is what its result looks like, and is named after the operation.

    `depth` is the paper's: a stored relation has depth 0, and every operation one more than the deepest of its operands,
    whether it has one (rename, project, selections, filters) or two (union, difference, intersection, product, join).
    """

    operation: ClassVar[str]
    schema: RelationSchema
    depth: int
    _operands: tuple[Node, ...]
    _own: tuple[Hashable, ...]  # what tells this node from others of its class with the same operands
    _hash: int

    @property
    def arity(self) -> int:
        """The number of columns."""
        return self.schema.arity

    @property
    def roles(self) -> tuple[str, ...] | None:
        """The roles of the columns, where they are known."""
        return self.schema.roles

    def position(self, position: PositionOrRole) -> int:
        """Return the position, from 0, that a position, its digits, or a role means."""
        return self.schema.position(position)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Node):
            return NotImplemented
        # A loop, for deep expressions; and each pair of nodes once, for those in which many parts are shared.
        pairs, agreed = [(self, other)], set()
        while pairs:
            mine, theirs = pairs.pop()
            if mine is theirs or (id(mine), id(theirs)) in agreed:
                continue
            if (mine._hash, type(mine), mine._own) != (theirs._hash, type(theirs), theirs._own):
                return False
            agreed.add((id(mine), id(theirs)))
            pairs += zip(mine._operands, theirs._operands, strict=True)
        return True

    def __hash__(self) -> int:
        return self._hash

    def text(self, *, roles: bool = False, names: Mapping[Node, str] | None = None) -> str:
        """Return the expression as one line that `parse` reads back as an equal one.

        Positions are written as numbers, so that the line is read alike with a schema that knows no roles; for people,
        `roles` are written where they are known. What is shared within an expression is written out wherever it stands,
        unless it is among `names`: then its name is written, and the line is read with a schema that knows it.
        """
        pieces: list[str] = []
        waiting: list[Node | str] = [self]  # not Python's stack: an expression may be as deep as it likes
        while waiting:
            part = waiting.pop()
            if isinstance(part, str):
                pieces.append(part)
                continue
            if names and part in names:
                pieces.append(as_written(names[part]))
                continue
            pieces.append(part._head([_position_names(child, roles) for child in part._operands]))
            if part._operands:
                first, *rest = part._operands
                waiting += [")", *(one for child in reversed(rest) for one in (child, ", ")), first, "("]
        return "".join(pieces)

    def _head(self, names: list[list[str]]) -> str:
        """Return what is written before the operands, whose positions are called `names`."""
        return self.operation  # union, difference, intersection and product take nothing but their operands

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        # What is shared is written out wherever it stands: the text of a deep expression can be without end.
        return f"<{type(self).__name__} {self if self.depth <= 12 else f'{self.schema} of depth {self.depth}'}>"

    def _become(self, schema: RelationSchema, operands: tuple[Node, ...], own: tuple[Hashable, ...]) -> None:
        """Set what follows from the fields, once: as properties they would be computed again at every level above."""
        self._set(
            schema=schema,
            depth=1 + max(operand.depth for operand in operands) if operands else 0,
            _operands=operands,
            _own=own,
            _hash=hash((self.operation, own, operands)),
        )

    def _derive(self, operands: tuple[Node, ...], roles: Sequence[str | None], *own: Hashable) -> None:
        """Become the result of an operation whose columns have these roles; they are kept if all are known and distinct."""
        known = tuple(role for role in roles if role is not None)
        whole = len(known) == len(roles) == len(set(known))
        self._become(RelationSchema(self.operation, len(roles), known if whole else None), operands, own)

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)  # the way past `frozen` while a node is being built

    def _check_operands(self, *operands: object) -> None:
        for operand in operands:
            if not isinstance(operand, Node):
                raise DataError("bad-expression", f"{self.operation} takes expressions, not {operand!r}")

    def _check_entity(self, entity: object) -> None:
        if not isinstance(entity, str):
            raise DataError("bad-expression", f"{self.operation} takes the name of an entity, not {entity!r}")
        if fault := fault_of(entity):
            raise DataError("bad-expression", f"{self.operation} takes the name of an entity, but: {fault}")

    def _check_positions(self, operand: Node, *positions: int) -> tuple[int, ...]:
        """Return positions of an operand, or refuse what is out of range or named twice."""
        found = tuple(map(operand.position, positions))
        for position in found:
            if found.count(position) > 1:
                raise DataError("position-twice", f"{self.operation} names position {position} of {operand.schema} twice")
        return found


def post_order(root: Visited, children: Callable[[Visited], Iterable[Visited]]) -> list[Visited]:
    """Return every distinct node once, children before parents and the root last; without recursion."""
    found: dict[Visited, None] = {}
    waiting = [root]
    while waiting:
        check_time()
        missing = [child for child in children(waiting[-1]) if child not in found]
        if missing:
            waiting += reversed(missing)
        else:
            found[waiting.pop()] = None
    return list(found)


def _position_names(operand: Node, roles: bool) -> list[str]:
    """Return how the positions of an operand are called; a role that is a number would be read as one."""
    named = operand.roles if roles else None
    return [
        as_written(named[position]) if named and not named[position].isdecimal() else str(position)
        for position in range(operand.arity)
    ]
