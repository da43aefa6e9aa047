"""GETD (Liu et al., Generalizing Tensor Decomposition for N-ary Relational Knowledge Bases, WWW 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from relatum.models.base import Model, Parameters, Settings, normal, rows
from relatum.models.combine import Combine, Dot
from relatum.models.products import around_zero, nearly_alike
from relatum.settings import setting


@dataclass(frozen=True)
class GETDSettings(Settings):
    """Settings of GETD."""

    dim: int = setting(50, "the dimension of embeddings", ge=1)
    rank: int = setting(20, "the rank of the tensor ring", ge=1)


class GETD(Model):
    """GETD: a core tensor of order arity + 1 contracted with the relation and the entities, the core a tensor ring.

    With ring tensors Z_0 .. Z_n of shape [rank, dim, rank], the score is the trace of M_0 M_1 ... M_n, where
    M_0 = sum over k of r[k] Z_0[:, k, :] and M_i = sum over k of x_i[k] Z_i[:, k, :]. The core itself, dim^(arity + 1)
    numbers, is never made. Each arity has a ring of its own. The original's batch normalisation of r and x is left out: its
    running statistics would be state beside the parameters, and a step of training sees only the rows that it needs.
    """

    name = "getd"
    title = "GETD"
    settings_type = GETDSettings
    settings: GETDSettings

    def init_parameters(self, rng: torch.Generator, entities: range | None = None) -> Parameters:
        """Return entities that are nearly alike, and rings that nearly sum products of as many coordinates as the rank.

        So it starts where m-DistMult does, and for the same reason; coordinates beyond the rank are seen with others.
        """
        dim, rank = self.settings.dim, self.settings.rank
        parameters = {
            "entities": nearly_alike(rng, self.num_entities, dim, wanted=entities),
            "relations": around_zero(rng, len(self.schema), dim),
        }
        width = max(dim, rank)
        pairs = torch.arange(width, device=rng.device)
        shares = torch.zeros(rank, dim, device=rng.device)
        shares[pairs % rank, pairs % dim] = 1.0
        products = torch.diag_embed((shares / shares.sum(1, keepdim=True)).T).transpose(0, 1)  # [rank, dim, rank]
        for arity in sorted(self.schema.arities):
            noise = normal(rng, arity + 1, rank, dim, rank, spread=0.05 * dim**-0.5)
            parameters[f"ring{arity}"] = (dim * (products + noise)).contiguous()
        return parameters

    def encode(self, parameters: Parameters, dropout_rng: torch.Generator | None = None) -> Parameters:
        """Return the tables with rings divided by the dimension, times which they are kept.

        A step of training moves all numbers of a ring; what they give together should move no further than an embedding.
        """
        tables = super().encode(parameters, dropout_rng)
        rings = {name: table / self.settings.dim for name, table in tables.items() if name.startswith("ring")}
        return {**tables, **rings}

    def score(self, tables: Parameters, relations: Tensor, columns: Tensor) -> Tensor:
        """Return the trace of the product of all matrices, [n]."""
        product = self._matrix(tables, relations, columns, 0)
        for index in range(1, len(columns) + 1):
            product = product @ self._matrix(tables, relations, columns, index)
        return product.diagonal(dim1=-2, dim2=-1).sum(-1)

    def queries(self, tables: Parameters, relations: Tensor, columns: Tensor, position: int) -> Tensor:
        """Return the ring closed around the open position, [n, dim]."""
        size = len(columns) + 1
        open_index = position + 1  # the relation stands at index 0
        product = None
        for step in range(1, size):  # once around, from behind the open position
            matrix = self._matrix(tables, relations, columns, (open_index + step) % size)
            product = matrix if product is None else product @ matrix
        return torch.einsum("rds,nsr->nd", tables[f"ring{len(columns)}"][open_index], product)

    def candidates(self, tables: Parameters, relations: Tensor, position: int, entities: Tensor | None) -> Tensor:
        """Return the embeddings of the candidates, [..., dim]."""
        return rows(tables["entities"], entities)

    def combine(self, tables: Parameters) -> Combine:
        """Return the dot product."""
        return Dot()

    def _matrix(self, tables: Parameters, relations: Tensor, columns: Tensor, index: int) -> Tensor:
        """Return M at an index of the ring, [n, rank, rank]."""
        vectors = rows(tables["relations"], relations) if index == 0 else rows(tables["entities"], columns[index - 1])
        return torch.einsum("nd,rds->nrs", vectors, tables[f"ring{len(columns)}"][index])
