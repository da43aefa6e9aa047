"""What the entities in the columns of an expression are, from those of the stored relations."""

from __future__ import annotations

from collections.abc import Sequence

from relatum.algebra import expression as nodes
from relatum.algebra.expression import Expression
from relatum.algebra.node import post_order
from relatum.data.column_types import ColumnType, ColumnTypes

Columns = tuple[ColumnType | None, ...]


def column_types_of(expression: Expression, stored: ColumnTypes) -> Columns:
    """Return the column type of each column, None where nothing is known of it."""
    found: dict[Expression, Columns] = {}
    for node in post_order(expression, lambda node: node.children):
        found[node] = _column_types(node, stored, [found[child] for child in node.children])
    return found[expression]


def _column_types(node: Expression, stored: ColumnTypes, operands: Sequence[Columns]) -> Columns:
    if isinstance(node, nodes.Relation):
        return stored.get(node.name, (None,) * node.arity)
    left, right = operands[0], operands[-1]
    match node:
        case nodes.Rename(_, positions) | nodes.Project(_, positions):
            return tuple(left[position] for position in positions)
        case nodes.SelectEqual(_, dropped, _) | nodes.SelectConstant(_, dropped, _):
            return left[:dropped] + left[dropped + 1 :]
        case nodes.Filter() | nodes.Difference() | nodes.Intersection():
            return left
        case nodes.Union():
            return tuple(map(_either, left, right))
        case nodes.Product():
            return left + right
        case nodes.Join():
            return left + tuple(right[position] for position in node.rest)
    raise TypeError(f"{type(node).__name__} is not an operation with columns")


def _either(left: ColumnType | None, right: ColumnType | None) -> ColumnType | None:
    """Return the column type of the entities of both: values of two types are text; two entity types have none."""
    if left is None or right is None or left.entity_type != right.entity_type:
        return None
    return ColumnType(
        left.entity_type, left.value_type if left.value_type == right.value_type else "text", left.nullable or right.nullable
    )
