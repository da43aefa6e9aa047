"""HypE (Fatemi et al., Knowledge Hypergraphs: Prediction Beyond Binary Relations, IJCAI 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from relatum.models.base import Parameters, Settings, drop, normal, require, rows
from relatum.models.products import ProductModel

__all__ = ["HypE", "HypESettings"]


@dataclass(frozen=True)
class HypESettings(Settings):
    """Settings of HypE.

    Attributes:
        filters: how many filters there are for each position.
        width: the length of a filter.
        stride: how far a filter moves at a time.
        hidden_dropout: the share of features behind the convolution dropped from a training step, for all facts alike.
    """

    filters: int = 6
    width: int = 1
    stride: int = 2
    hidden_dropout: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.filters >= 1, "filters", "must be at least 1")
        require(self.stride >= 1, "stride", "must be at least 1")
        require(1 <= self.width <= self.dim, "width", f"must be from 1 to dim = {self.dim}")
        require(0 <= self.hidden_dropout < 1, "hidden_dropout", "must be at least 0 and below 1")

    @property
    def steps(self) -> int:
        """How many places a filter stops at."""
        return (self.dim - self.width) // self.stride + 1


class HypE(ProductModel):
    """Sum over coordinates of r times the product over i of f(x_i, i), f(x, i) = P vec(x convolved with the filters of i).

    Filters belong to positions and are shared by all relations, as is the projection P. Both are linear, so `encode` makes
    one matrix for each position out of them, and seeing all entities at a position is one matrix product.
    """

    settings_type = HypESettings
    settings: HypESettings

    def initial(self, generator: torch.Generator) -> Parameters:
        """Return normal embeddings, filters and projection, such that f about keeps the length of a vector."""
        width, steps, count = self.settings.width, self.settings.steps, self.settings.filters
        return {
            **super().initial(generator),
            "filters": normal(generator, self.max_arity, count, width, spread=width**-0.5),
            "projection": normal(generator, count * steps, self.settings.dim, spread=(count * steps) ** -0.5),
        }

    def encode(self, parameters: Parameters, noise: torch.Generator | None = None) -> Parameters:
        """Return entities, relations and the matrix [dim, dim] of each position."""
        tables = super().encode(parameters, noise)
        dim, width, stride = self.settings.dim, self.settings.width, self.settings.stride
        filters, projection = tables.pop("filters"), tables.pop("projection")
        identity = torch.eye(dim, dtype=filters.dtype, device=filters.device)
        pieces = identity.unfold(-1, width, stride)  # [dim, steps, width]
        features = torch.einsum("dsw,pfw->pdfs", pieces, filters).flatten(2)  # [positions, dim, filters * steps]
        if noise is not None and self.settings.hidden_dropout:
            mask = torch.ones(features.shape[-1], dtype=filters.dtype, device=filters.device)
            features = features * drop(mask, self.settings.hidden_dropout, noise)
        return {**tables, "maps": features @ projection}

    def seen_at(self, tables: Parameters, entities: Tensor | None, position: int) -> Tensor:
        """Return f(x, position)."""
        return rows(tables["entities"], entities) @ tables["maps"][position]
