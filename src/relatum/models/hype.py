"""HypE (Fatemi et al., Knowledge Hypergraphs: Prediction Beyond Binary Relations, IJCAI 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from relatum.models.base import Parameters, Settings, drop, normal, rows
from relatum.models.products import ProductModel
from relatum.settings import require, setting


@dataclass(frozen=True)
class HypESettings(Settings):
    """Settings of HypE."""

    num_filters: int = setting(6, "how many filters there are for each position", ge=1)
    filter_width: int = setting(1, "the length of a filter", ge=1)
    stride: int = setting(2, "how far a filter moves at a time", ge=1)
    hidden_dropout: float = setting(
        0.0, "the share of features behind the convolution dropped from a training step, for all facts alike", ge=0, lt=1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.filter_width <= self.dim, "model.filter_width", f"must be at most dim = {self.dim}")

    @property
    def steps(self) -> int:
        """How many times a filter is applied along an embedding."""
        return (self.dim - self.filter_width) // self.stride + 1


class HypE(ProductModel):
    """Sum over coordinates of r times the product over i of f(x_i, i), f(x, i) = P vec(x convolved with the filters of i).

    Filters belong to positions and are shared by all relations, as is the projection P. Both are linear, so `encode` makes
    one matrix for each position out of them. P is kept times the number of features, so that a step of training, which
    moves them all, moves what they give together no further than a step moves an embedding.
    """

    name = "hype"
    title = "HypE"
    settings_type = HypESettings
    settings: HypESettings

    def init_parameters(self, rng: torch.Generator, entities: range | None = None) -> Parameters:
        """Return embeddings that are nearly alike, and filters and a projection by which every position sees them nearly so.

        At first f(x, i) about repeats coordinates of x, as m-DistMult sees them. What positions have in common, such as a
        relation and its renaming, is then learned at once, and what sets them apart from there.
        """
        width, steps, count = self.settings.filter_width, self.settings.steps, self.settings.num_filters
        dim = self.settings.dim
        seen = torch.arange(dim, device=rng.device)
        projection = normal(rng, count, steps, dim, spread=0.1 * math.sqrt(self._features))
        projection[seen % count, seen * steps // dim, seen] += self._features
        return {
            **super().init_parameters(rng, entities),
            "filters": normal(rng, self.max_arity, count, width, spread=0.1) + 1 / width,
            "projection": projection.flatten(0, 1),
        }

    @property
    def _features(self) -> int:
        return self.settings.num_filters * self.settings.steps

    def encode(self, parameters: Parameters, dropout_rng: torch.Generator | None = None) -> Parameters:
        """Return entities, relations and the matrix [dim, dim] of each position."""
        tables = super().encode(parameters, dropout_rng)
        width, steps, count = self.settings.filter_width, self.settings.steps, self.settings.num_filters
        filters, projection = tables.pop("filters"), tables.pop("projection") / self._features
        projection = projection * drop(projection.new_ones(len(projection), 1), self.settings.hidden_dropout, dropout_rng)
        # What coordinate `stride * s + w` of an entity gives through all filters; the features in between are never made.
        given = torch.einsum("pfw,fso->pswo", filters, projection.view(count, steps, -1)).flatten(1, 2)
        starts = self.settings.stride * torch.arange(steps, device=filters.device)
        coordinates = (starts[:, None] + torch.arange(width, device=filters.device)).flatten()
        empty = given.new_zeros(self.max_arity, self.settings.dim, self.settings.dim)
        return {**tables, "maps": empty.index_add(1, coordinates, given)}

    def seen_at(self, tables: Parameters, entities: Tensor | None, position: int) -> Tensor:
        """Return f(x, position)."""
        return rows(tables["entities"], entities) @ tables["maps"][position]

    def queries(self, tables: Parameters, relations: Tensor, columns: Tensor, position: int) -> Tensor:
        """Return r times the product of the given entities, mapped back to where embeddings live, [n, dim].

        So the matrix of the open position meets the questions, which are few, and not all candidates.
        """
        product = self.product(tables, relations, columns, self.others(columns, position))
        return product @ tables["maps"][position].T

    def candidates(self, tables: Parameters, relations: Tensor, position: int, entities: Tensor | None) -> Tensor:
        """Return the embeddings themselves, [..., dim]."""
        return rows(tables["entities"], entities)
