"""GETD (Liu et al., Generalizing Tensor Decomposition for N-ary Relational Knowledge Bases, WWW 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from relatum.models.base import Model, Parameters, Settings, normal, require, rows
from relatum.models.combine import Combine, Dot

__all__ = ["GETD", "GETDSettings"]


@dataclass(frozen=True)
class GETDSettings(Settings):
    """Settings of GETD; `rank` is that of the tensor ring."""

    dim: int = 50
    rank: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.rank >= 1, "rank", "must be at least 1")


class GETD(Model):
    """GETD: a core tensor of order arity + 1 contracted with the relation and the entities, the core a tensor ring.

    With ring tensors Z_0 .. Z_n of shape [rank, dim, rank], the score is the trace of M_0 M_1 ... M_n, where
    M_0 = sum over k of r[k] Z_0[:, k, :] and M_i = sum over k of x_i[k] Z_i[:, k, :]. The core itself, dim^(arity + 1)
    numbers, is never made. Each arity has a ring of its own.
    """

    settings_type = GETDSettings
    settings: GETDSettings

    def initial(self, generator: torch.Generator) -> Parameters:
        """Return normal embeddings and rings such that products of matrices about keep their size."""
        dim, rank = self.settings.dim, self.settings.rank
        parameters = {
            "entities": normal(generator, self.entity_count, dim, spread=dim**-0.5),
            "relations": normal(generator, len(self.schema), dim, spread=dim**-0.5),
        }
        for arity in sorted(self.schema.arities):
            parameters[f"ring{arity}"] = normal(generator, arity + 1, rank, dim, rank, spread=rank**-0.5)
        return parameters

    def score(self, tables: Parameters, relations: Tensor, columns: Tensor) -> Tensor:
        """Return the trace of the product of all matrices, [n]."""
        product = self._matrix(tables, relations, columns, 0)
        for place in range(1, len(columns) + 1):
            product = product @ self._matrix(tables, relations, columns, place)
        return product.diagonal(dim1=-2, dim2=-1).sum(-1)

    def queries(self, tables: Parameters, relations: Tensor, columns: Tensor, position: int) -> Tensor:
        """Return the ring closed around the open position, [n, dim]."""
        places = len(columns) + 1
        open_place = position + 1  # the relation stands at place 0
        product = None
        for step in range(1, places):  # once around, from behind the open place
            matrix = self._matrix(tables, relations, columns, (open_place + step) % places)
            product = matrix if product is None else product @ matrix
        return torch.einsum("rds,nsr->nd", tables[f"ring{len(columns)}"][open_place], product)

    def candidates(self, tables: Parameters, relations: Tensor, position: int, entities: Tensor | None) -> Tensor:
        """Return the embeddings of the candidates, [..., dim]."""
        return rows(tables["entities"], entities)

    def combine(self, tables: Parameters) -> Combine:
        """Return the dot product."""
        return Dot()

    def _matrix(self, tables: Parameters, relations: Tensor, columns: Tensor, place: int) -> Tensor:
        """Return M at a place of the ring, [n, rank, rank]."""
        vectors = rows(tables["relations"], relations) if place == 0 else rows(tables["entities"], columns[place - 1])
        return torch.einsum("nd,rds->nrs", vectors, tables[f"ring{len(columns)}"][place])
