"""Plans: how to evaluate an expression on a model, by maxima, minima and complements of scores.

A column of the expression is a variable. Permutations and selections only decide which variable is at which position, so a
plan is a tree of four node types: `Atom`, a stored relation with its arguments (variables and constants); `Max`, a union;
`AndNot`, a difference; `Exists`, a projection: the maximum over the columns that it drops.

Where relations come from tables, a variable ranges over the entities of its column's type alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np
import torch
from torch import Tensor

from relatum.algebra.column_types import column_types_of
from relatum.algebra.expression import Difference, Expression, Project, Relation, Rename, SelectConstant, SelectEqual, Union
from relatum.algebra.node import post_order
from relatum.data.column_types import ColumnType, ColumnTypes
from relatum.data.vocabulary import Vocabulary
from relatum.errors import DataError
from relatum.time_limit import check_time

_MOST_NODES, _MOST_DEPTH = 1000, 100

Term = int | str  # the number of a variable, or the name of an entity
Ranges = dict[int, Tensor]  # the candidates of variables


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
    """Return an atom and the variables that are projected away from it, if a plan is nothing else."""
    dropped: tuple[int, ...] = ()
    while isinstance(node, Exists):
        dropped += node.variables
        node = node.part
    return (node, dropped) if isinstance(node, Atom) else None


def parts_of(node: Plan) -> Iterator[Plan]:
    """Yield a plan and all its parts, from left to right."""
    yield node
    if isinstance(node, Exists):
        yield from parts_of(node.part)
    elif not isinstance(node, Atom):
        yield from parts_of(node.left)
        yield from parts_of(node.right)


def projected_variables(node: Plan) -> list[int]:
    """Return the variables that a plan ranges over by itself."""
    return [variable for part in parts_of(node) if isinstance(part, Exists) for variable in part.variables]


def max_projected_variables(node: Plan) -> int:
    """Return how many variables are ranged over at once, at most."""
    if isinstance(node, Atom):
        return 0
    if isinstance(node, Exists):
        return len(node.variables) + max_projected_variables(node.part)
    return max(max_projected_variables(node.left), max_projected_variables(node.right))


def plan_of(expression: Expression) -> Plan:
    """Return the plan of an expression, whose columns are the variables 0 to arity - 1."""
    sizes: dict[Expression, int] = {}
    for node in post_order(expression, lambda node: node.children):
        sizes[node] = 1 + sum(sizes[child] for child in node.children)  # a shared part is evaluated wherever it occurs
    if sizes[expression] > _MOST_NODES or expression.depth > _MOST_DEPTH:
        raise DataError(
            "expression-too-deep",
            (
                f"a model can evaluate expressions of up to {_MOST_NODES} operations and depth {_MOST_DEPTH}; "
                f"this one has {sizes[expression]} operations and depth {expression.depth}"
            ),
        )
    return _plan(expression, tuple(range(expression.arity)), itertools.count(expression.arity))


def ranges_of(expression: Expression, node: Plan, column_types: ColumnTypes, entities: Vocabulary) -> Ranges:
    """Return the candidates of variables, entities ascending; one that can be any entity is left out.

    The columns of the expression are its first variables; a projection ranges over those of the columns that it drops.
    """
    if not column_types:
        return {}
    found = _ranges(enumerate(column_types_of(expression, column_types)), entities)
    for part in parts_of(node):
        if not isinstance(part, Exists):
            continue
        child = part.expression.child
        dropped = [position for position in range(child.arity) if position not in part.expression.positions]
        columns = column_types_of(child, column_types)
        found |= _ranges(zip(part.variables, (columns[position] for position in dropped), strict=True), entities)
    return found


def _ranges(columns: Iterable[tuple[int, ColumnType | None]], entities: Vocabulary) -> Ranges:
    ids = {variable: None if column_type is None else column_type.ids(entities) for variable, column_type in columns}
    return {
        variable: torch.from_numpy(one.astype(np.int64)) for variable, one in ids.items() if one is not None and len(one)
    }


def _plan(node: Expression, arguments: tuple[Term, ...], fresh: Iterator[int]) -> Plan:
    check_time()
    match node:
        case Relation():
            return Atom(node, arguments)
        case Rename(child):
            return _plan(child, tuple(arguments[position] for position in node.inverse), fresh)
        case SelectEqual(child, dropped, kept):
            return _plan(child, _with(arguments, dropped, arguments[kept - (kept > dropped)]), fresh)
        case SelectConstant(child, dropped, entity):
            return _plan(child, _with(arguments, dropped, entity), fresh)
        case Project(child, positions):
            given = dict(zip(positions, arguments, strict=True))
            left_out = {position: next(fresh) for position in range(child.arity) if position not in given}
            filled = {**given, **left_out}
            part = _plan(child, tuple(filled[position] for position in range(child.arity)), fresh)
            return Exists(node, tuple(left_out.values()), part) if left_out else part
        case Union():
            return _largest(node, arguments, fresh)
        case Difference(left, right):
            return AndNot(node, _plan(left, arguments, fresh), _plan(right, arguments, fresh))
    raise DataError(
        "no-closed-form",
        f"a model cannot evaluate {node.operation}: it has no closed form",
        remedy="ask by run.joined, or on tuples",
    )


def _largest(node: Union, arguments: tuple[Term, ...], fresh: Iterator[int]) -> Plan:
    """Return the plan of a union, and of unions within it, whose operands count once: they are few, however deep it is."""
    operands: dict[Expression, None] = {}
    waiting: list[Expression] = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Union):
            waiting += [one.right, one.left]
        else:
            operands[one] = None
    first, *others = (_plan(one, arguments, fresh) for one in operands)
    return reduce(partial(Max, node), others, first)


def _with(arguments: tuple[Term, ...], position: int, term: Term) -> tuple[Term, ...]:
    return (*arguments[:position], term, *arguments[position:])
