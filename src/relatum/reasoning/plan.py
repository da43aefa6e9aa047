"""What an expression means on an embedding: maxima, minima and complements of scores, with variables for its columns.

Renamings and selections leave no trace but in which variable stands where, for their closed forms are exact; so what is left
of an expression is a tree of four kinds of node. An `Atom` is one stored relation with its arguments, variables and
constants; `Largest` is a union; `Less` a difference; `Some` a projection: the maximum over what it drops.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import singledispatch

from relatum.algebra.expression import (
    Difference,
    Expression,
    Project,
    Relation,
    Rename,
    SelectConstant,
    SelectEqual,
    Union,
)
from relatum.algebra.node import post_order
from relatum.errors import DataError

__all__ = ["AndNot", "Atom", "Exists", "Max", "Plan", "Term", "as_atom", "most_projected", "plan_of", "projected_variables"]

_MOST_NODES, _MOST_DEPTH = 1000, 100

Term = int | str  # the number of a variable, or the name of an entity


@dataclass(frozen=True, eq=False)
class Atom:
    """A stored relation with an argument for each of its positions."""

    expression: Relation
    arguments: tuple[Term, ...]

    @property
    def variables(self) -> tuple[int, ...]:
        """The variables among the arguments, each once, ascending."""
        return tuple(sorted({term for term in self.arguments if isinstance(term, int)}))


@dataclass(frozen=True, eq=False)
class Max:
    """The larger of two values."""

    expression: Union
    left: Plan
    right: Plan


@dataclass(frozen=True, eq=False)
class AndNot:
    """The smaller of the left value and the complement of the right one."""

    expression: Difference
    left: Plan
    right: Plan


@dataclass(frozen=True, eq=False)
class Exists:
    """The largest value for any entities at the variables that occur nowhere else."""

    expression: Project
    variables: tuple[int, ...]
    part: Plan


Plan = Atom | Max | AndNot | Exists


def as_atom(node: Plan) -> tuple[Atom, tuple[int, ...]] | None:
    """Return an atom and the variables that are projected away from it, if a meaning is nothing else."""
    dropped: tuple[int, ...] = ()
    while isinstance(node, Exists):
        dropped += node.variables
        node = node.part
    return (node, dropped) if isinstance(node, Atom) else None


def projected_variables(node: Plan) -> list[int]:
    """Return the variables that a meaning ranges over by itself."""
    if isinstance(node, Atom):
        return []
    if isinstance(node, Exists):
        return [*node.variables, *projected_variables(node.part)]
    return projected_variables(node.left) + projected_variables(node.right)


def most_projected(node: Plan) -> int:
    """Return how many variables are ranged over at once, at most."""
    if isinstance(node, Atom):
        return 0
    if isinstance(node, Exists):
        return len(node.variables) + most_projected(node.part)
    return max(most_projected(node.left), most_projected(node.right))


def plan_of(expression: Expression) -> Plan:
    """Return the meaning of an expression, whose columns are the variables 0 to arity - 1."""
    sizes: dict[Expression, int] = {}
    for node in post_order(expression, lambda node: node.children):
        sizes[node] = 1 + sum(sizes[child] for child in node.children)  # what is shared is asked wherever it stands
    if sizes[expression] > _MOST_NODES or expression.depth > _MOST_DEPTH:
        raise DataError(
            f"an embedding can be asked expressions of up to {_MOST_NODES} operations and depth {_MOST_DEPTH}, "
            f"and this one has {sizes[expression]} and depth {expression.depth}"
        )
    return _meaning(expression, tuple(range(expression.arity)), itertools.count(expression.arity))


@singledispatch
def _meaning(node: Expression, arguments: tuple[Term, ...], fresh: Iterator[int]) -> Plan:
    raise DataError(f"{node.operation} cannot be asked of an embedding, only of tuples: no closed form is claimed for it")


@_meaning.register
def _(node: Relation, arguments: tuple[Term, ...], fresh: Iterator[int]) -> Plan:
    return Atom(node, arguments)


@_meaning.register
def _(node: Rename, arguments: tuple[Term, ...], fresh: Iterator[int]) -> Plan:
    return _meaning(node.child, tuple(arguments[place] for place in node.places), fresh)


@_meaning.register
def _(node: SelectEqual, arguments: tuple[Term, ...], fresh: Iterator[int]) -> Plan:
    kept = arguments[node.kept - (node.kept > node.dropped)]
    return _meaning(node.child, _with(arguments, node.dropped, kept), fresh)


@_meaning.register
def _(node: SelectConstant, arguments: tuple[Term, ...], fresh: Iterator[int]) -> Plan:
    return _meaning(node.child, _with(arguments, node.dropped, node.entity), fresh)


@_meaning.register
def _(node: Project, arguments: tuple[Term, ...], fresh: Iterator[int]) -> Plan:
    placed = dict(zip(node.positions, arguments, strict=True))
    dropped = {position: next(fresh) for position in range(node.child.arity) if position not in placed}
    filled = {**placed, **dropped}
    part = _meaning(node.child, tuple(filled[position] for position in range(node.child.arity)), fresh)
    return Exists(node, tuple(dropped.values()), part) if dropped else part


@_meaning.register
def _(node: Union, arguments: tuple[Term, ...], fresh: Iterator[int]) -> Plan:
    return Max(node, _meaning(node.left, arguments, fresh), _meaning(node.right, arguments, fresh))


@_meaning.register
def _(node: Difference, arguments: tuple[Term, ...], fresh: Iterator[int]) -> Plan:
    return AndNot(node, _meaning(node.left, arguments, fresh), _meaning(node.right, arguments, fresh))


def _with(arguments: tuple[Term, ...], position: int, term: Term) -> tuple[Term, ...]:
    return (*arguments[:position], term, *arguments[position:])
