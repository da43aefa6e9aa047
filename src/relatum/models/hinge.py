"""HINGE (Rosso et al., Beyond Triplets: Hyper-Relational Knowledge Graph Embedding for Link Prediction, WWW 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from relatum.models.base import Parameters, Settings, normal
from relatum.models.combine import Combine
from relatum.models.minima import MinimumOfSums
from relatum.models.qualifiers import QualifierModel
from relatum.settings import setting

_WIDTH = 3  # of a filter


@dataclass(frozen=True)
class HINGESettings(Settings):
    """Settings of HINGE."""

    dim: int = setting(50, "the dimension of embeddings", ge=_WIDTH)
    num_filters: int = setting(8, "how many filters each convolution has; each gives `dim` - 2 features", ge=1)


class HINGE(QualifierModel):
    """HINGE: w . min(relu(conv [h; r; t]), relu(conv' [h; r; t; role; value]) for each qualifier) + c.

    A filter is as high as there are rows, and 3 coordinates wide. What it gives is a sum over rows, each convolved with its
    own row of the filter, and `layers` writes these convolutions as matrices. A minimum of relus is the relu of the minimum.

    The original has 400 filters over 100 coordinates, so 39,200 features of a fact: too many to score all entities by on a
    few cores. Here they are a few hundred. Its batch normalisation behind the convolutions is left out: its running
    statistics would be state beside the parameters, and a step of training sees only the rows that it needs.
    """

    name = "hinge"
    title = "HINGE"
    settings_type = HINGESettings
    settings: HINGESettings

    def init_parameters(self, rng: torch.Generator, entities: range | None = None) -> Parameters:
        """Return embeddings, and filters whose features of a relation alone are about 1."""
        dim, filters = self.settings.dim, self.settings.num_filters
        features, spread = (dim - _WIDTH + 1) * filters, (dim / _WIDTH) ** 0.5
        return {
            **self.embeddings(rng, entities),
            "triple": normal(rng, 3, _WIDTH, filters, spread=spread),
            "triple_bias": torch.zeros(filters, device=rng.device),
            "qualifier": normal(rng, 5, _WIDTH, filters, spread=spread),
            "qualifier_bias": torch.zeros(filters, device=rng.device),
            "out": normal(rng, features, spread=features**-0.5),
            "out_bias": torch.zeros((), device=rng.device),
        }

    def layers(self, parameters: Parameters) -> tuple[Tensor, Tensor, Tensor]:
        """Return the convolutions as matrices; the features of all filters at a step stand together."""
        steps = self.settings.dim - _WIDTH + 1
        bias = torch.cat([parameters[name].repeat(steps) for name in ("triple_bias", "qualifier_bias")])
        return self._matrices(parameters["triple"]), self._matrices(parameters["qualifier"]), bias

    def score(self, tables: Parameters, relations: Tensor, columns: Tensor) -> Tensor:
        """Return w . min over all vectors of each fact + c, [n]."""
        triple, qualified, _ = self.given(tables, relations, columns, -1)
        others = [qualified + self.qualifier(tables, relations, columns, i) for i in range(2, len(columns))]
        return torch.relu(torch.stack([triple, *others])).amin(0) @ tables["out"] + tables["out_bias"]

    def queries(self, tables: Parameters, relations: Tensor, columns: Tensor, position: int) -> Tensor:
        """Return [m; a], [n, 2 * features], without what the halves of a candidate, or the only one, add to them."""
        triple, qualified, lowest = self.given(tables, relations, columns, position)
        if position >= 2:
            limit = torch.minimum(triple, qualified + lowest)
            return torch.cat([limit, qualified + self.role(tables, relations, position)], 1)
        if len(columns) <= 2:
            return torch.cat([lowest, triple], 1)
        return torch.cat([triple, qualified + lowest], 1)

    def combine(self, tables: Parameters) -> Combine:
        """Return w . relu(min(m + j, a + k)) + c."""
        return MinimumOfSums(tables["out"], tables["out_bias"])

    def _matrices(self, filters: Tensor) -> Tensor:
        """Return the convolution of each row as a matrix, [rows, dim, features], from filters [rows, width, filters]."""
        dim, steps = self.settings.dim, self.settings.dim - _WIDTH + 1
        taps = torch.arange(dim, device=filters.device)[:, None] - torch.arange(steps, device=filters.device)
        taps = torch.where((taps >= 0) & (taps < _WIDTH), taps, _WIDTH)  # of a filter at each step; the last is 0
        padded = torch.nn.functional.pad(filters, (0, 0, 0, 1))
        return padded.index_select(1, taps.flatten()).reshape(len(filters), dim, -1)
