"""What the entities in the columns of an expression are, from those of the stored relations."""

from __future__ import annotations

from functools import singledispatch

from relatum.algebra.expression import (
    Difference,
    Expression,
    Filter,
    Intersection,
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
from relatum.data.column_types import ColumnType, ColumnTypes

Columns = tuple[ColumnType | None, ...]


def column_types_of(expression: Expression, stored: ColumnTypes) -> Columns:
    """Return the column type of each column, None where nothing is known of it."""
    found: dict[Expression, Columns] = {}
    for node in post_order(expression, lambda node: node.children):
        found[node] = _column_types(node, stored, *(found[child] for child in node.children))
    return found[expression]


@singledispatch
def _column_types(node: Expression, stored: ColumnTypes, *operands: Columns) -> Columns:
    raise TypeError(f"{type(node).__name__} is not an operation with columns")


@_column_types.register
def _(node: Relation, stored: ColumnTypes) -> Columns:
    return stored.get(node.name, (None,) * node.arity)


@_column_types.register
def _(node: Rename, stored: ColumnTypes, child: Columns) -> Columns:
    return tuple(child[position] for position in node.permutation)


@_column_types.register
def _(node: Project, stored: ColumnTypes, child: Columns) -> Columns:
    return tuple(child[position] for position in node.positions)


@_column_types.register(SelectEqual)
@_column_types.register(SelectConstant)
def _(node: SelectEqual | SelectConstant, stored: ColumnTypes, child: Columns) -> Columns:
    return child[: node.dropped] + child[node.dropped + 1 :]


@_column_types.register
def _(node: Filter, stored: ColumnTypes, child: Columns) -> Columns:
    return child


@_column_types.register
def _(node: Union, stored: ColumnTypes, left: Columns, right: Columns) -> Columns:
    return tuple(map(_either, left, right))


@_column_types.register(Difference)
@_column_types.register(Intersection)
def _(node: Difference | Intersection, stored: ColumnTypes, left: Columns, right: Columns) -> Columns:
    return left


@_column_types.register
def _(node: Product, stored: ColumnTypes, left: Columns, right: Columns) -> Columns:
    return left + right


@_column_types.register
def _(node: Join, stored: ColumnTypes, left: Columns, right: Columns) -> Columns:
    return left + tuple(right[position] for position in node.rest)


def _either(left: ColumnType | None, right: ColumnType | None) -> ColumnType | None:
    """Return the column type of the entities of both: values of two types are text; two entity types have none."""
    if left is None or right is None or left.entity_type != right.entity_type:
        return None
    return ColumnType(
        left.entity_type, left.value_type if left.value_type == right.value_type else "text", left.nullable or right.nullable
    )
