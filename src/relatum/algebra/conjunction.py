"""A rule as an expression: joins for the atoms that must hold, differences for those that must not."""

from __future__ import annotations

from collections.abc import Sequence

from relatum.algebra.expression import Difference, Expression, Join
from relatum.algebra.rules import Goal, Term

__all__ = ["conjunction"]


def conjunction(head: Sequence[int], positives: Sequence[Goal], negatives: Sequence[Goal]) -> Expression:
    """Return the tuples `head` for which the expressions in `positives` hold their terms, and those in `negatives` do not.

    Every variable of the head stands in a positive goal. Variables that stand in one negative goal only mean anything at
    all: the goal must not hold whatever they are.
    """
    first, *others = sorted(positives, key=lambda goal: not _has_variables(goal))  # an atom without any only filters
    body = _fit(*first)
    for goal in others:
        body = _and(body, goal)
    for goal in negatives:
        body = _and_not(body, goal)
    return _arranged(body, head)


# A body is an expression and, for each of its columns, a variable; all are distinct.
Body = tuple[Expression, tuple[int, ...]]


def _fit(expression: Expression, terms: Sequence[Term]) -> Body:
    """Return the tuples that fit the terms; a column remains for the first occurrence of each variable."""
    for position in reversed(range(len(terms))):
        term, before = terms[position], terms[:position]
        if isinstance(term, str):
            expression = expression.where(position, term)
        elif term in before:
            expression = expression.select_equal(position, before.index(term))
    return expression, tuple(dict.fromkeys(term for term in terms if isinstance(term, int)))


def _and(body: Body, goal: Goal) -> Body:
    expression, columns = body
    if not _has_variables(goal):  # selecting first would leave no column to join by
        return _fit(expression * goal[0], columns + goal[1])
    other, others = _fit(*goal)
    pairs = tuple((columns.index(name), position) for position, name in enumerate(others) if name in columns)
    both = Join(expression, other, pairs) if pairs else expression * other
    return both, columns + tuple(name for name in others if name not in columns)


def _and_not(body: Body, goal: Goal) -> Body:
    expression, columns = body
    if _has_variables(goal):
        other = _fit(*goal)
        if set(other[1]) == set(columns):
            return Difference(expression, _arranged(other, columns)), columns
    return Difference(expression, _arranged(_and(body, goal), columns)), columns


def _arranged(body: Body, head: Sequence[int]) -> Expression:
    """Return the columns of a body that `head` names, in its order."""
    expression, columns = body
    if tuple(head) == columns:
        return expression
    positions = [columns.index(name) for name in head]
    return expression.permute(*positions) if len(head) == len(columns) else expression.project(*positions)


def _has_variables(goal: Goal) -> bool:
    return any(isinstance(term, int) for term in goal[1])
