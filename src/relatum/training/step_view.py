"""The part of a model that the gradient of a batch is taken on: few rows of its tables, and maybe few of their columns.

A batch needs few entities and relations, and the gradient of a whole table would be mostly zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from relatum.arrays import Int64
from relatum.data.sorting import spread
from relatum.kernels.rows import block
from relatum.models.base import Model, Parameters
from relatum.models.ops import as_array
from relatum.models.training_protocols import ColumnDropout, Gradient, NeighbourSampling

Encode = Callable[[Parameters, torch.Generator | None], Parameters]


@dataclass(frozen=True, eq=False, slots=True)
class StepView:
    """Some entities, relations and columns of a model.

    Attributes:
        model: the model of the tables that `encode` returns; its ids are indices among `entities` and `relations`.
        encode: returns these tables from the parameters that `parts` returns.
        entities: ids, ascending and distinct; None for all.
        relations: the same for relations.
        rows: what is taken of each parameter; one that is not named is taken whole.
        columns: the same for columns.
    """

    model: Model
    encode: Encode
    entities: Int64 | None
    relations: Int64 | None
    rows: Mapping[str, Tensor]
    columns: Mapping[str, Tensor]

    @classmethod
    def of(
        cls, model: Model, entities: Int64 | None, relations: Int64, rng: torch.Generator, among: Int64 | None = None
    ) -> StepView:
        """Return the view of a batch with these entities (None: all) and relations; neighbours and columns are drawn.

        `among` are the entities that the parameters have rows of, ascending, where these are not all: `rows` are then
        indices among them.
        """
        rows: dict[str, Tensor] = {}
        restricted = model
        if not model.reads_facts:  # the facts that a model reads may be of any relation
            chosen = torch.from_numpy(relations)
            first, arities = model.position_rows(chosen, 0).numpy(), model.arities[chosen].numpy()
            rows.update(dict.fromkeys(model.relation_tables, chosen))
            rows.update(dict.fromkeys(model.position_tables, torch.from_numpy(spread(first, arities))))
            restricted = model.restricted_to(chosen)
        encode: Encode = restricted.encode
        if entities is not None:
            needed = torch.from_numpy(entities if among is None else np.searchsorted(among, entities))
            if isinstance(restricted, NeighbourSampling):
                neighbourhood = restricted.neighbourhood(needed, rng)
                needed, encode = neighbourhood.rows, neighbourhood.encode
            rows.update(dict.fromkeys(model.entity_tables, needed))
        columns = model.kept_columns(rng) if isinstance(model, ColumnDropout) else {}
        return cls(restricted, encode, entities, None if model.reads_facts else relations, rows, columns)

    def entity_indices(self, ids: Int64) -> Int64:
        """Return the indices of entity ids among the entities of the view."""
        return ids if self.entities is None else np.searchsorted(self.entities, ids)

    def relation_indices(self, ids: Int64) -> Int64:
        """Return the indices of relation ids among the relations of the view."""
        return ids if self.relations is None else np.searchsorted(self.relations, ids)

    def parts(self, parameters: Parameters) -> Parameters:
        """Return the rows and columns of parameters that the view takes, as leaves that gradients are taken of."""
        taken = {name: _part(table, self.rows.get(name), self.columns.get(name)) for name, table in parameters.items()}
        return {name: part.detach().requires_grad_() for name, part in taken.items()}

    def gradients(self, parts: Parameters) -> list[Gradient]:
        """Return the gradients of the parts, each with its rows and columns of the whole parameter."""
        return [
            Gradient(name, _ids(self.rows.get(name)), _ids(self.columns.get(name)), part.grad)
            for name, part in parts.items()
            if part.grad is not None
        ]


def _part(table: Tensor, rows: Tensor | None, columns: Tensor | None) -> Tensor:
    """Return the chosen rows and columns of a table; all where None is given."""
    if columns is None:
        return table if rows is None else table.index_select(0, rows)
    if rows is None or table.device.type != "cpu" or table.dtype != torch.float32:
        return _part(table, rows, None).index_select(1, columns)
    return torch.from_numpy(block(as_array(table), rows.numpy(), columns.numpy()))


def _ids(chosen: Tensor | None) -> Int64 | None:
    return None if chosen is None else chosen.numpy(force=True)
