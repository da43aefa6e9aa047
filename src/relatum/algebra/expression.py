"""Relational algebra as small frozen nodes: checked when built, so that a malformed expression cannot exist.

    sold = Relation(RelationSchema("sold", 3, ("seller", "buyer", "item")))
    bought = sold.permute("buyer", "seller", "item")
    needs_filter = bought.select("item", "coffee") - bought.select("item", "filter")

Columns count from 0. The fluent methods take roles wherever roles are known; the nodes themselves hold plain numbers, so
that one expression has one form. Two expressions are equal when they are built alike, not when they mean the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from relatum.algebra.lexer import as_written
from relatum.algebra.node import Node, PositionOrRole, post_order
from relatum.data.schema import RelationSchema
from relatum.errors import DataError

# A relation that is called by one of these words is written in quotes.
OPERATIONS = frozenset(
    {"permute", "project", "select", "select_equal", "filter", "filter_equal", "filter_unequal"}
    | {"union", "difference", "intersection", "product", "join"}
)
_OPERANDS = ("child", "left", "right")


class Expression(Node):
    """A relation that is stored or derived; the methods are the ways to derive another."""

    _operands: tuple[Expression, ...]

    @property
    def children(self) -> tuple[Expression, ...]:
        """The operands, from left to right; a stored relation has none."""
        return self._operands

    def permute(self, *positions: PositionOrRole) -> Rename:
        """Return the same columns in another order: all of them, as they are wanted; the paper's renaming."""
        return Rename(self, tuple(map(self.position, positions)))

    def project(self, *positions: PositionOrRole) -> Project:
        """Return only the given columns, in the given order."""
        return Project(self, tuple(map(self.position, positions)))

    def select(self, position: PositionOrRole, entity: str) -> SelectConstant:
        """Return the tuples that hold `entity` at `position`; the column, which would hold nothing else, is dropped."""
        return SelectConstant(self, self.position(position), entity)

    def select_equal(self, dropped: PositionOrRole, kept: PositionOrRole) -> SelectEqual:
        """Return the tuples that hold the same entity at both positions; the first of the two columns is dropped."""
        return SelectEqual(self, self.position(dropped), self.position(kept))

    def filter(self, position: PositionOrRole, entity: str) -> Filter:
        """Return the tuples that hold `entity` at `position`, with all their columns."""
        return Filter(self, self.position(position), entity)

    def filter_not(self, position: PositionOrRole, entity: str) -> Filter:
        """Return the tuples that hold another entity than `entity` at `position`."""
        return Filter(self, self.position(position), entity, equal=False)

    def filter_equal(self, position: PositionOrRole, other: PositionOrRole) -> Filter:
        """Return the tuples that hold the same entity at both positions, with all their columns."""
        return Filter(self, self.position(position), self.position(other))

    def filter_unequal(self, position: PositionOrRole, other: PositionOrRole) -> Filter:
        """Return the tuples that hold different entities at the two positions."""
        return Filter(self, self.position(position), self.position(other), equal=False)

    def join(self, other: Expression, on: PositionOrRole | Mapping[PositionOrRole, PositionOrRole]) -> Join:
        """Return the tuples of this and `other` that agree on `on`: one position for both, or our positions to theirs."""
        matches = on if isinstance(on, Mapping) else {on: on}
        return Join(self, other, tuple((self.position(mine), other.position(theirs)) for mine, theirs in matches.items()))

    def __or__(self, other: Expression) -> Union:
        return Union(self, other) if isinstance(other, Expression) else NotImplemented

    def __sub__(self, other: Expression) -> Difference:
        return Difference(self, other) if isinstance(other, Expression) else NotImplemented

    def __and__(self, other: Expression) -> Intersection:
        return Intersection(self, other) if isinstance(other, Expression) else NotImplemented

    def __mul__(self, other: Expression) -> Product:
        return Product(self, other) if isinstance(other, Expression) else NotImplemented


@dataclass(frozen=True, eq=False, repr=False)
class Relation(Expression):
    """A stored relation, with the roles of its schema."""

    operation: ClassVar[str] = "relation"
    schema: RelationSchema

    def __post_init__(self) -> None:
        if not isinstance(self.schema, RelationSchema):
            raise DataError(
                "bad-expression",
                f"a relation takes a RelationSchema, not {self.schema!r}: Relation(split.schema['sold']), or"
                " run['sold'] of a run",
            )
        self._become(self.schema, (), (self.schema,))

    @property
    def name(self) -> str:
        """The name under which the facts are stored."""
        return self.schema.name

    def _head(self, names: list[list[str]]) -> str:
        return as_written(self.name, quote=self.name in OPERATIONS)


@dataclass(frozen=True, eq=False, repr=False)
class Rename(Expression):
    """The columns of `child` in another order: column i of the result is column `permutation[i]`. Roles move along.

    This is how `Project` counts too, and how a list of roles reads. The paper counts the other way round, t(x) if and
    only if s(x[pi(0)], ..., x[pi(n - 1)]): its pi is `inverse`, the inverse.
    """

    operation: ClassVar[str] = "permute"
    child: Expression
    permutation: tuple[int, ...]

    def __post_init__(self) -> None:
        self._check_operands(self.child)
        self._set(permutation=self._check_positions(self.child, *self.permutation))
        if (named := len(self.permutation)) != self.child.arity:
            raise DataError(
                "bad-permutation", f"permute names all {self.child.arity} positions of {self.child.schema}, not {named}"
            )
        roles = _roles(self.child)
        self._derive((self.child,), [roles[position] for position in self.permutation], self.permutation)

    @property
    def inverse(self) -> tuple[int, ...]:
        """The position in the result of each column of the child: the paper's pi."""
        return tuple(sorted(range(self.arity), key=self.permutation.__getitem__))

    def _head(self, names: list[list[str]]) -> str:
        return f"permute[{', '.join(names[0][position] for position in self.permutation)}]"


@dataclass(frozen=True, eq=False, repr=False)
class Project(Expression):
    """Some columns of `child`, at least one and each once, in the given order; they keep their roles."""

    operation: ClassVar[str] = "project"
    child: Expression
    positions: tuple[int, ...]

    def __post_init__(self) -> None:
        self._check_operands(self.child)
        self._set(positions=self._check_positions(self.child, *self.positions))
        if not self.positions:
            raise DataError(
                "nothing-kept", f"project keeps at least one of the {self.child.arity} columns of {self.child.schema}"
            )
        roles = _roles(self.child)
        self._derive((self.child,), [roles[position] for position in self.positions], self.positions)

    def _head(self, names: list[list[str]]) -> str:
        return f"project[{', '.join(names[0][position] for position in self.positions)}]"


@dataclass(frozen=True, eq=False, repr=False)
class SelectEqual(Expression):
    """The tuples of `child` that hold one entity at both positions, without column `dropped`, which would repeat `kept`.

    The paper's first selection, whose p is `dropped` and whose q is `kept`. What remains keeps its order and its roles.
    """

    operation: ClassVar[str] = "select_equal"
    child: Expression
    dropped: int
    kept: int

    def __post_init__(self) -> None:
        self._check_operands(self.child)
        dropped, kept = self._check_positions(self.child, self.dropped, self.kept)
        self._set(dropped=dropped, kept=kept)
        self._derive((self.child,), _without(_roles(self.child), dropped), dropped, kept)

    def _head(self, names: list[list[str]]) -> str:
        return f"select_equal[{names[0][self.dropped]}, {names[0][self.kept]}]"


@dataclass(frozen=True, eq=False, repr=False)
class SelectConstant(Expression):
    """The tuples of `child` that hold `entity` at `dropped`, without that column: the paper's second selection.

    What remains keeps its order and its roles. From a relation of one column nothing would remain but a plain yes or no,
    which is not a relation: that is refused.
    """

    operation: ClassVar[str] = "select"
    child: Expression
    dropped: int
    entity: str

    def __post_init__(self) -> None:
        self._check_operands(self.child)
        (dropped,) = self._check_positions(self.child, self.dropped)
        self._check_entity(self.entity)
        if self.child.arity == 1:
            raise DataError("last-column", f"select drops the column it selects by, and {self.child.schema} has no other")
        self._set(dropped=dropped)
        self._derive((self.child,), _without(_roles(self.child), dropped), dropped, self.entity)

    def _head(self, names: list[list[str]]) -> str:
        return f"select[{names[0][self.dropped]} = {_written_entity(self.entity)}]"


@dataclass(frozen=True, eq=False, repr=False)
class Filter(Expression):
    """The tuples of `child` whose entity at `column` is, or is not, `other`; all columns stay, with their roles.

    `other` is another position or the name of an entity. This is Codd's selection: unlike those of the paper it may tell
    unequals, and filter a relation of one column. Of two positions the smaller comes first; they may be one.
    """

    operation: ClassVar[str] = "filter"
    child: Expression
    column: int
    other: int | str
    equal: bool = True

    def __post_init__(self) -> None:
        self._check_operands(self.child)
        column, other = self.child.position(self.column), self.other
        if isinstance(other, int):
            column, other = sorted((column, self.child.position(other)))
        else:
            self._check_entity(other)
        self._set(column=column, other=other, equal=bool(self.equal))
        self._derive((self.child,), _roles(self.child), column, other, self.equal)

    def _head(self, names: list[list[str]]) -> str:
        if isinstance(self.other, int):
            return f"filter_{'equal' if self.equal else 'unequal'}[{names[0][self.column]}, {names[0][self.other]}]"
        return f"filter[{names[0][self.column]} {'=' if self.equal else '!='} {_written_entity(self.other)}]"


@dataclass(frozen=True, eq=False, repr=False)
class _SetOperation(Expression):
    """Two relations of one arity, whose columns meet by position, whatever their roles; the result has those of `left`."""

    left: Expression
    right: Expression

    def __post_init__(self) -> None:
        self._check_operands(self.left, self.right)
        if self.left.arity != self.right.arity:
            sides = " and ".join(f"{side.schema} of arity {side.arity}" for side in (self.left, self.right))
            raise DataError("unlike-relations", f"{self.operation} takes two relations of one arity, not {sides}")
        self._derive((self.left, self.right), self._kept_roles())

    def _kept_roles(self) -> list[str | None]:
        return _roles(self.left)


@dataclass(frozen=True, eq=False, repr=False)
class Union(_SetOperation):
    """The tuples of `left` or `right`, which have one arity; roles are kept if both have the same.

    Columns meet by position, whatever their roles.
    """

    operation: ClassVar[str] = "union"

    def _kept_roles(self) -> list[str | None]:
        return _roles(self.left) if self.left.roles == self.right.roles else [None] * self.left.arity


@dataclass(frozen=True, eq=False, repr=False)
class Difference(_SetOperation):
    """The tuples of `left` that `right`, of the same arity, does not hold; with the roles of `left`.

    Columns meet by position, whatever their roles.
    """

    operation: ClassVar[str] = "difference"


@dataclass(frozen=True, eq=False, repr=False)
class Intersection(_SetOperation):
    """The tuples that both `left` and `right`, of one arity, hold; with the roles of `left`.

    Columns meet by position, whatever their roles.
    """

    operation: ClassVar[str] = "intersection"


@dataclass(frozen=True, eq=False, repr=False)
class Product(Expression):
    """Every tuple of `left` followed by every tuple of `right`; roles are kept if both have them and none occurs twice."""

    operation: ClassVar[str] = "product"
    left: Expression
    right: Expression

    def __post_init__(self) -> None:
        self._check_operands(self.left, self.right)
        self._derive((self.left, self.right), _roles(self.left) + _roles(self.right))


@dataclass(frozen=True, eq=False, repr=False)
class Join(Expression):
    """The tuples of the product of `left` and `right` that agree on `pairs`, without the columns of `right` in them.

    So it is a product followed by one `SelectEqual` for each pair (position in left, position in right), but a node of its
    own: evaluation need not make the product, and depth counts one operation. Roles are those of the remaining columns, if
    both sides have them and none occurs twice. Pairs are kept in the order of `right`, where each column stands once.
    """

    operation: ClassVar[str] = "join"
    left: Expression
    right: Expression
    pairs: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        self._check_operands(self.left, self.right)
        lefts = [self.left.position(p) for p, _ in self.pairs]
        rights = self._check_positions(self.right, *(q for _, q in self.pairs))
        if not rights:
            raise DataError(
                "no-join-columns", "join takes at least one pair of positions", remedy="without any it is a product"
            )
        self._set(pairs=tuple(sorted(zip(lefts, rights, strict=True), key=lambda pair: pair[1])))
        roles = _roles(self.right)
        self._derive((self.left, self.right), _roles(self.left) + [roles[q] for q in self.rest], self.pairs)

    @property
    def rest(self) -> list[int]:
        """The columns of `right` that are not matched; they follow those of `left` in the result."""
        matched = {q for _, q in self.pairs}
        return [position for position in range(self.right.arity) if position not in matched]

    def _head(self, names: list[list[str]]) -> str:
        return f"join[{', '.join(f'{names[0][p]} = {names[1][q]}' for p, q in self.pairs)}]"


def rebuilt(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Return the expression with `change` made to each node, operands first; what is shared is changed once."""
    done: dict[Expression, Expression] = {}
    for node in post_order(expression, lambda node: node.children):
        operands = {name: done[part] for name, part in vars(node).items() if name in _OPERANDS}
        done[node] = change(replace(node, **operands) if operands else node)  # type: ignore[type-var]
    return done[expression]


def expanded(expression: Expression, definitions: Mapping[str, Expression]) -> Expression:
    """Return the expression with relations that are defined replaced by what defines them."""
    return rebuilt(expression, lambda node: definitions.get(node.name, node) if isinstance(node, Relation) else node)


def _roles(expression: Expression) -> list[str | None]:
    return list(expression.roles or [None] * expression.arity)


def _without(roles: list[str | None], position: int) -> list[str | None]:
    return roles[:position] + roles[position + 1 :]


def _written_entity(entity: str) -> str:
    # Bare digits would be read rightly, but a person would take them for a position.
    return as_written(entity, quote=entity.isdecimal())
