"""What relations share by their roles: in training a row is the sum of its own part and a part that its role has everywhere.

A relation with few facts can learn little of its own, but its roles may be those of relations with many. Rows of (relation,
position) share by the role of the position. Where a model has no such rows, rows of relations share by the roles of their
first two positions together, which tell the main property of a statement with qualifiers. Beside rows of positions, those of
relations share nothing: ReAlE's bias levels out what all positions of a relation add up to, and that changes with each
qualifier; on validation facts, sharing it did harm. Own parts start at zero, so a relation that nothing is known of yet is
what its roles are elsewhere. A role of one relation only is not shared, and neither is a position without one.

Models know nothing of this: a step is given sums, and its gradient goes to both parts. What is validated and kept are sums.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from relatum.arrays import Int64
from relatum.data.sorting import spread
from relatum.models.base import Model, Parameters
from relatum.models.training_protocols import Gradient

_SHARED = "{}/shared"  # the name of a table's shared rows among the parameters of training
_WEIGHT = 0.3  # of a shared part in a sum: a step moves it so much less than an own part; chosen on validation facts


@dataclass(frozen=True, eq=False)
class SharedRoles:
    """Which rows of a model's tables have a part in common.

    Attributes:
        model: the model.
        shared: for each table that shares, the number of the shared row that each of its rows has; -1 for none.
    """

    model: Model
    shared: dict[str, Int64]

    @classmethod
    def of(cls, model: Model) -> SharedRoles:
        """Return what the relations of a model share."""
        if model.position_tables:
            tables = model.position_tables
            numbers = _numbered([role for one in model.schema for role in one.roles or [None] * one.arity])
        else:
            tables, numbers = model.relation_tables, _numbered([one.roles and one.roles[:2] for one in model.schema])
        return cls(model, dict.fromkeys(tables, numbers) if (numbers >= 0).any() else {})

    def parted(self, parameters: Parameters) -> Parameters:
        """Return parameters of a model as own and shared rows; rows that share one all become the first of them."""
        found = dict(parameters)
        for name, numbers in self.shared.items():
            sharing = np.flatnonzero(numbers >= 0)
            first = sharing[np.unique(numbers[sharing], return_index=True)[1]]
            found[_SHARED.format(name)] = parameters[name][first] / _WEIGHT
            found[name] = parameters[name].index_fill(0, torch.from_numpy(sharing), 0)
        return found

    def summed(self, parameters: Parameters, relations: Int64 | None = None) -> Parameters:
        """Return the parameters of the model; with relations, ascending, other rows of what they share hold anything."""
        found = dict(parameters)
        for name, numbers in self.shared.items():
            own, shared = parameters[name], found.pop(_SHARED.format(name))
            rows = self._rows(name, relations)
            chosen = torch.from_numpy(rows)
            found[name] = torch.empty_like(own).index_copy_(0, chosen, own.index_select(0, chosen))
            rows = rows[numbers[rows] >= 0]
            parts = shared.index_select(0, torch.from_numpy(numbers[rows]))
            found[name].index_add_(0, torch.from_numpy(rows), parts, alpha=_WEIGHT)
        return found

    def with_shared(self, gradients: Iterable[Gradient]) -> list[Gradient]:
        """Return the gradients of sums, each followed by that of the shared rows, summed in the order of rows."""
        found = []
        for gradient in gradients:
            found.append(gradient)
            if gradient.name not in self.shared:
                continue
            numbers = self.shared[gradient.name]
            numbers = numbers if gradient.rows is None else numbers[gradient.rows]
            sharing = np.flatnonzero(numbers >= 0)
            if not len(sharing):
                continue
            rows, which = np.unique(numbers[sharing], return_inverse=True)
            values = gradient.values.new_zeros(len(rows), *gradient.values.shape[1:])
            parts = gradient.values.index_select(0, torch.from_numpy(sharing))
            values.index_add_(0, torch.from_numpy(which), parts, alpha=_WEIGHT)
            found.append(replace(gradient, name=_SHARED.format(gradient.name), rows=rows, values=values))
        return found

    def _rows(self, name: str, relations: Int64 | None) -> Int64:
        """Return the rows of relations (None: all) in a table, ascending."""
        if relations is None:
            return np.arange(len(self.shared[name]))
        if name in self.model.relation_tables:
            return relations
        chosen = torch.from_numpy(relations)
        return spread(self.model.position_rows(chosen, 0).numpy(), self.model.arities[chosen].numpy())


def _numbered(keys: Sequence[Hashable]) -> Int64:
    """Return the number of each key among those that occur more than once, in their order; -1 for the rest, and for None."""
    repeated = [key for key, times in Counter(keys).items() if times > 1 and key is not None]
    numbers = {key: number for number, key in enumerate(repeated)}
    return np.array([numbers.get(key, -1) for key in keys], np.int64)
