"""What the entities in the columns of an expression are, from those of the stored relations."""

from __future__ import annotations

from functools import singledispatch

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
from relatum.data.column_types import Domain, Domains

__all__ = ["domains_of"]

Columns = tuple[Domain | None, ...]


def domains_of(expression: Expression, stored: Domains) -> Columns:
    """Return the domain of each column, None where nothing is known of it."""
    found: dict[Expression, Columns] = {}
    for node in post_order(expression, lambda node: node.children):
        found[node] = _domains(node, stored, *(found[child] for child in node.children))
    return found[expression]


@singledispatch
def _domains(node: Expression, stored: Domains, *operands: Columns) -> Columns:
    raise TypeError(f"{type(node).__name__} is not an operation with columns")


@_domains.register
def _(node: Relation, stored: Domains) -> Columns:
    return stored.get(node.name, (None,) * node.arity)


@_domains.register
def _(node: Rename, stored: Domains, child: Columns) -> Columns:
    return tuple(child[position] for position in node.permutation)


@_domains.register
def _(node: Project, stored: Domains, child: Columns) -> Columns:
    return tuple(child[position] for position in node.positions)


@_domains.register(SelectEqual)
@_domains.register(SelectConstant)
def _(node: SelectEqual | SelectConstant, stored: Domains, child: Columns) -> Columns:
    return child[: node.dropped] + child[node.dropped + 1 :]


@_domains.register
def _(node: Union, stored: Domains, left: Columns, right: Columns) -> Columns:
    return tuple(map(_either, left, right))


@_domains.register
def _(node: Difference, stored: Domains, left: Columns, right: Columns) -> Columns:
    return left


@_domains.register
def _(node: Product, stored: Domains, left: Columns, right: Columns) -> Columns:
    return left + right


@_domains.register
def _(node: Join, stored: Domains, left: Columns, right: Columns) -> Columns:
    return left + tuple(right[position] for position in node.rest)


def _either(left: Domain | None, right: Domain | None) -> Domain | None:
    """Return the domain of the entities of both: values of two forms are text, and two kinds have no domain together."""
    if left is None or right is None or left.kind != right.kind:
        return None
    return Domain(left.kind, left.form if left.form == right.form else "text", left.null or right.null)
