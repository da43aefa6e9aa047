"""What the variables of a meaning range over: the entities of their column's kind, where relations were made from tables."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from relatum.algebra.column_types import domains_of
from relatum.algebra.expression import Expression
from relatum.data.column_types import Domain, Domains
from relatum.data.vocabulary import Vocabulary
from relatum.reasoning.plan import Atom, Meaning, Some

__all__ = ["ranges_of"]

Ranges = dict[int, Tensor]


def ranges_of(expression: Expression, node: Meaning, domains: Domains, entities: Vocabulary) -> Ranges:
    """Return the candidates of variables, entities ascending; one that can be any entity is left out.

    The columns of the expression are its first variables; a projection ranges over those of the columns that it drops.
    """
    if not domains:
        return {}
    found = _ranges(enumerate(domains_of(expression, domains)), entities)
    for part in _projections(node):
        child = part.expression.child
        dropped = [position for position in range(child.arity) if position not in part.expression.positions]
        columns = domains_of(child, domains)
        found |= _ranges(zip(part.variables, (columns[position] for position in dropped), strict=True), entities)
    return found


def _ranges(columns: Iterable[tuple[int, Domain | None]], entities: Vocabulary) -> Ranges:
    ids = {variable: None if domain is None else domain.ids(entities) for variable, domain in columns}
    return {
        variable: torch.from_numpy(one.astype(np.int64)) for variable, one in ids.items() if one is not None and len(one)
    }


def _projections(node: Meaning) -> list[Some]:
    if isinstance(node, Atom):
        return []
    if isinstance(node, Some):
        return [node, *_projections(node.part)]
    return _projections(node.left) + _projections(node.right)
