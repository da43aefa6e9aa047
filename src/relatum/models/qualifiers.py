"""Facts read as a main triple with qualifiers, as HINGE and NeuInfer read them.

The first two positions of a relation are head and tail; every other one is a qualifier: its role, and the entity there, its
value. Papers call that a (key, value) or (attribute, value) pair. Arity 1 has no tail, and arity 2 no qualifiers.
"""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor

from relatum.models.base import Model, Parameters, normal, rows


class QualifierModel(Model):
    """A model of two layers, both linear in what they are given, of equal width.

    One is over a triple: T = A_1 h + A_2 r + A_3 t + a. The other is over a triple and a qualifier:
    Q_i = B_1 h + B_2 r + B_3 t + B_4 role_i + B_5 value_i + b. Behind them come a relu and minima; the minimum over i of
    relu(Q_i) is the relu of B_1 h + B_2 r + B_3 t + b + min over i of (B_4 role_i + B_5 value_i). So an open head or tail
    has one part in T and one that all Q_i share, and an open value one in its own Q_i.
    """

    position_tables = ("roles",)

    @abstractmethod
    def layers(self, parameters: Parameters) -> tuple[Tensor, Tensor, Tensor]:
        """Return A, [3, dim, features], B, [5, dim, features], and the biases [a; b], [2 * features]."""

    def encode(self, parameters: Parameters, dropout_rng: torch.Generator | None = None) -> Parameters:
        """Return the tables with what relations and roles add to the layers; for entities it would take too much memory."""
        tables = super().encode(parameters, dropout_rng)
        triple, qualifier, bias = self.layers(tables)
        head, relation, tail = (torch.cat([triple[row], qualifier[row]], 1) for row in range(3))
        tables["relations"] = tables["relations"] @ relation + bias
        tables["roles"] = tables["roles"] @ qualifier[3]
        return {**tables, "of_head": head, "of_tail": tail, "of_value": qualifier[4]}

    def candidates(self, tables: Parameters, relations: Tensor, position: int, entities: Tensor | None) -> Tensor:
        """Return what entities add: to T and to all Q_i, [..., 2 * features], to T where there is none, or to one Q_i."""
        layer = tables[("of_head", "of_tail", "of_value")[min(position, 2)]]
        if position < 2 and not (self.arities.to(relations.device)[relations] > 2).any():
            layer = layer.chunk(2, 1)[0]
        return rows(tables["entities"], entities) @ layer

    def given(self, tables: Parameters, relations: Tensor, columns: Tensor, position: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return T, all that the Q_i share, and the minimum of the rest of them over the given ones, [n, features] each.

        What an open head or tail adds is left out, as is an open qualifier; the minimum of none is infinite.
        """
        shared = rows(tables["relations"], relations)
        for other, layer in enumerate(("of_head", "of_tail")):
            if other != position and other < len(columns):
                shared = shared + rows(tables["entities"], columns[other]) @ tables[layer]
        triple, qualified = shared.chunk(2, 1)
        lowest = torch.full_like(qualified, torch.inf)
        for other in self.others(columns, position):
            if other >= 2:
                lowest = torch.minimum(lowest, self.qualifier(tables, relations, columns, other))
        return triple, qualified, lowest

    def qualifier(self, tables: Parameters, relations: Tensor, columns: Tensor, position: int) -> Tensor:
        """Return what the role and the value at a position add to its Q_i, [n, features]."""
        return self.role(tables, relations, position) + rows(tables["entities"], columns[position]) @ tables["of_value"]

    def role(self, tables: Parameters, relations: Tensor, position: int) -> Tensor:
        """Return what the role of a position adds to its Q_i, [n, features]."""
        return rows(tables["roles"], self.position_rows(relations, position))

    def embeddings(self, rng: torch.Generator, entities: range | None) -> Parameters:
        """Return relations and roles, and entities that are short beside them, to start from.

        So a fact starts as its relation alone, and entities count only as far as facts distinguish them.
        """
        dim = self.settings.dim
        return {
            "entities": normal(rng, self.num_entities, dim, spread=0.2 * dim**-0.5, wanted=entities),
            "relations": normal(rng, len(self.schema), dim, spread=dim**-0.5),
            "roles": normal(rng, self.num_positions, dim, spread=dim**-0.5),
        }
