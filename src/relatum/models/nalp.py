"""NaLP (Guan et al., Link Prediction on N-ary Relational Data, WWW 2019)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from relatum.models.base import Model, Parameters, Settings, normal, rows
from relatum.models.combine import Combine
from relatum.models.minima import MinimumOfPairs
from relatum.settings import setting


@dataclass(frozen=True)
class NaLPSettings(Settings):
    """Settings of NaLP."""

    num_filters: int = setting(200, "how many filters the convolution over [role; value] has", ge=1)
    hidden_dim: int = setting(200, "the width of the fully connected layer over pairs", ge=1)


class NaLP(Model):
    """NaLP: v . min over pairs (i, j) of relu(A o_i + B o_j + b), plus c, with o_i = relu(K [role_i; x_i] + k).

    A relation's positions are its roles. The minimum over all pairs, each with itself included, splits:
    min over (i, j) of relu(A o_i + B o_j + b) = relu(min over i of A o_i + min over j of B o_j + b),
    so each side carries two minima, and no pair is ever formed. The original's batch normalisation behind K is left out: its
    running statistics would be state beside the parameters, and a step of training sees only the rows that it needs.
    """

    name = "nalp"
    title = "NaLP"
    settings_type = NaLPSettings
    settings: NaLPSettings
    relation_tables = ()
    position_tables = ("roles",)

    def init_parameters(self, rng: torch.Generator, entities: range | None = None) -> Parameters:
        """Return weights as of a usual layer, roles, and entities that are short beside them.

        So a fact starts as its roles alone, and entities count only as far as facts distinguish them.
        """
        dim, filters, hidden = self.settings.dim, self.settings.num_filters, self.settings.hidden_dim
        return {
            "entities": normal(rng, self.num_entities, dim, spread=0.2 * dim**-0.5, wanted=entities),
            "roles": normal(rng, self.num_positions, dim, spread=dim**-0.5),
            "kernel": normal(rng, 2, dim, filters, spread=1.0),
            "kernel_bias": torch.zeros(filters, device=rng.device),
            "pair": normal(rng, filters, 2 * hidden, spread=(2 / filters) ** 0.5),
            "pair_bias": torch.zeros(hidden, device=rng.device),
            "out": normal(rng, hidden, spread=hidden**-0.5),
            "out_bias": torch.zeros((), device=rng.device),
        }

    def encode(self, parameters: Parameters, dropout_rng: torch.Generator | None = None) -> Parameters:
        """Return the tables with roles and entities already convolved: the kernel is linear in each."""
        tables = super().encode(parameters, dropout_rng)
        of_role, of_entity = tables.pop("kernel")
        tables["roles"] = tables["roles"] @ of_role + tables.pop("kernel_bias")
        return {**tables, "entities": tables["entities"] @ of_entity}

    def score(self, tables: Parameters, relations: Tensor, columns: Tensor) -> Tensor:
        """Return the score of each fact by forming every pair, [n]."""
        sides = torch.stack([self.candidates(tables, relations, i, entities) for i, entities in enumerate(columns)])
        left, right = sides.chunk(2, -1)  # [arity, n, hidden]
        pairs = torch.relu(left[:, None] + right[None, :] + tables["pair_bias"])
        return pairs.flatten(0, 1).amin(0) @ tables["out"] + tables["out_bias"]

    def queries(self, tables: Parameters, relations: Tensor, columns: Tensor, position: int) -> Tensor:
        """Return the minima of A o_i and of B o_i over the given entities, [n, 2 * hidden]; infinite if there are none."""
        shape = (len(relations), 2 * self.settings.hidden_dim)
        lowest = torch.full(shape, torch.inf, dtype=tables["pair"].dtype, device=relations.device)
        for other in self.others(columns, position):
            lowest = torch.minimum(lowest, self.candidates(tables, relations, other, columns[other]))
        return lowest

    def candidates(self, tables: Parameters, relations: Tensor, position: int, entities: Tensor | None) -> Tensor:
        """Return A o and B o of the candidates, [..., 2 * hidden]."""
        roles = rows(tables["roles"], self.position_rows(relations, position))
        return torch.relu(roles + rows(tables["entities"], entities)) @ tables["pair"]

    def combine(self, tables: Parameters) -> Combine:
        """Return v . relu(min(query, candidate) + min(query, candidate) + b) + c, over the two halves."""
        return MinimumOfPairs(tables["pair_bias"], tables["out"], tables["out_bias"])
