"""Models whose score is a sum of products: m-DistMult, m-CP and HSimplE (Fatemi et al., IJCAI 2020)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor

from relatum.models.base import Model, Parameters, Settings, normal, rows
from relatum.models.combine import Combine, Dot, hook
from relatum.models.ensemble import Summable, side_by_side
from relatum.settings import require

_COMMON, _SPREAD = 1.0, 0.1  # where entities start, and how far apart


def nearly_alike(rng: torch.Generator, *shape: int, wanted: range | None = None) -> Tensor:
    """Return embeddings around one common vector, or the wanted rows of them."""
    return normal(rng, *shape, spread=_SPREAD, wanted=wanted).add_(_COMMON)


def around_zero(rng: torch.Generator, *shape: int) -> Tensor:
    """Return embeddings in all directions, as far apart."""
    return normal(rng, *shape, spread=_SPREAD)


class ProductModel(Model):
    """The sum over coordinates of r times the product over positions of each entity as it is seen there."""

    @abstractmethod
    def seen_at(self, tables: Parameters, entities: Tensor | None, position: int) -> Tensor:
        """Return entities (None: all) as they are seen at a position, [..., dim]."""

    def score(self, tables: Parameters, relations: Tensor, columns: Tensor) -> Tensor:
        """Return sum over coordinates of r * product over i of x_i as seen at i, [n]."""
        return self.product(tables, relations, columns, list(range(len(columns)))).sum(-1)

    def combine(self, tables: Parameters) -> Combine:
        """Return the dot product."""
        return Dot()

    def product(self, tables: Parameters, relations: Tensor, columns: Tensor, positions: list[int]) -> Tensor:
        """Return r times the product of the entities at some positions, [n, dim]."""
        product = rows(tables["relations"], relations)
        for position in positions:
            product = product * self.seen_at(tables, columns[position], position)
        return product

    @hook
    def init_parameters(self, rng: torch.Generator, entities: range | None = None) -> Parameters:
        """Return entities that are nearly alike, some or all, and relations around 0, to start from.

        With entities around 0, a product passes next to nothing on, and in random directions: every entity learns its own
        facts by heart. Entities that start alike are moved alike by facts that are alike.
        """
        return {
            "entities": nearly_alike(rng, self.num_entities, self.settings.dim, wanted=entities),
            "relations": around_zero(rng, len(self.schema), self.settings.dim),
        }


class PositionalProduct(ProductModel):
    """A product model whose candidates are seen at the open position."""

    def queries(self, tables: Parameters, relations: Tensor, columns: Tensor, position: int) -> Tensor:
        """Return r times the product of the given entities, [n, dim]."""
        return self.product(tables, relations, columns, self.others(columns, position))

    def candidates(self, tables: Parameters, relations: Tensor, position: int, entities: Tensor | None) -> Tensor:
        """Return the candidates as they are seen at the position, [..., dim]."""
        return self.seen_at(tables, entities, position)


class SummableProduct(PositionalProduct, Summable):
    """A product model whose sum is a product over all coordinates, side by side."""

    shifts: ClassVar[bool] = False  # whether a position sees the coordinates shifted

    def joined_settings(self, models: Sequence[Model]) -> Settings:
        """Return the settings of a model that has the coordinates of all."""
        return replace(self.settings, dim=sum(model.settings.dim for model in models))

    def joined_parameters(self, models: Sequence[Model], parameters: Sequence[Parameters]) -> Parameters:
        """Return the coordinates of all; where positions shift them, block by block, as far as a shift goes."""
        blocks = self.max_arity if self.shifts else 1
        fits = all(model.settings.dim % blocks == 0 for model in models)
        require(fits, "model.dim", f"must be a multiple of the largest arity, {blocks}, to join {self.title} models")
        return side_by_side(parameters, ("entities", "relations"), blocks)


class MDistMult(SummableProduct):
    """m-DistMult: sum over coordinates of r * x_1 * ... * x_n; the order of entities makes no difference."""

    name = "m-distmult"
    title = "m-DistMult"

    def seen_at(self, tables: Parameters, entities: Tensor | None, position: int) -> Tensor:
        """Return the embedding itself."""
        return rows(tables["entities"], entities)


class MCP(SummableProduct):
    """m-CP: sum over coordinates of r * x_1^(1) * ... * x_n^(n), each entity with an embedding for each position."""

    name = "m-cp"
    title = "m-CP"

    def init_parameters(self, rng: torch.Generator, entities: range | None = None) -> Parameters:
        """Return entities as [entities, positions, dim]."""
        embeddings = nearly_alike(rng, self.num_entities, self.max_arity, self.settings.dim, wanted=entities)
        return {**super().init_parameters(rng, entities), "entities": embeddings}

    def seen_at(self, tables: Parameters, entities: Tensor | None, position: int) -> Tensor:
        """Return the embedding for the position."""
        return rows(tables["entities"][:, position], entities)


class HSimplE(SummableProduct):
    """HSimplE: at position i (from 0) an embedding is shifted cyclically by i * dim / (maximum arity) coordinates."""

    name = "hsimple"
    title = "HSimplE"
    shifts = True

    def seen_at(self, tables: Parameters, entities: Tensor | None, position: int) -> Tensor:
        """Return the shifted embedding."""
        shift = position * self.settings.dim // self.max_arity
        return torch.roll(rows(tables["entities"], entities), -shift, -1)
