"""What the variables of a plan range over: the entities of their column's type, where relations come from tables."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from relatum.algebra.column_types import column_types_of
from relatum.algebra.expression import Expression
from relatum.data.column_types import ColumnType, ColumnTypes
from relatum.data.vocabulary import Vocabulary
from relatum.reasoning.plan import Atom, Exists, Plan

__all__ = ["ranges_of"]

Ranges = dict[int, Tensor]


def ranges_of(expression: Expression, node: Plan, column_types: ColumnTypes, entities: Vocabulary) -> Ranges:
    """Return the candidates of variables, entities ascending; one that can be any entity is left out.

    The columns of the expression are its first variables; a projection ranges over those of the columns that it drops.
    """
    if not column_types:
        return {}
    found = _ranges(enumerate(column_types_of(expression, column_types)), entities)
    for part in _projections(node):
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


def _projections(node: Plan) -> list[Exists]:
    if isinstance(node, Atom):
        return []
    if isinstance(node, Exists):
        return [node, *_projections(node.part)]
    return _projections(node.left) + _projections(node.right)
