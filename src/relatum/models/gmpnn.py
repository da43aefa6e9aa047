"""G-MPNN (Yadati, Neural Message Passing for Multi-Relational Ordered and Recursive Hypergraphs, NeurIPS 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from relatum.data.hypergraph import Hypergraph
from relatum.models.base import Parameters, Settings, normal, require, rows
from relatum.models.products import ProductModel

__all__ = ["GMPNN", "GMPNNSettings"]


@dataclass(frozen=True)
class GMPNNSettings(Settings):
    """Settings of G-MPNN; `layers` is how many times messages are passed."""

    layers: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.layers >= 1, "layers", "must be at least 1")


class GMPNN(ProductModel):
    """G-MPNN: entities gather messages over the facts of the training hypergraph; then they are decoded as products.

    In each layer, a fact r(x_1, ..., x_n) sends to the entity at position i the message r * p_i * product over j other
    than i of (p_j * h_j), where p are embeddings of positions. An entity takes the mean m of its messages and becomes
    h + tanh(m U). The score is the sum over coordinates of r * product over i of (q_i * h_i), with embeddings q of
    positions for decoding.
    Messages are passed once per version of the parameters, in `encode`, and are trained through.
    """

    settings_type = GMPNNSettings
    settings: GMPNNSettings
    reads_facts = True

    def __init__(self, graph: Hypergraph, settings: Settings | None = None) -> None:
        super().__init__(graph, settings)
        blocks = graph.distinct().blocks.values()
        self._facts = [
            (torch.from_numpy(block.relations.astype("int64")), torch.from_numpy(block.columns.astype("int64")))
            for block in blocks
        ]
        self._degrees = torch.from_numpy(graph.distinct().degrees()).clamp(min=1)

    def initial(self, generator: torch.Generator) -> Parameters:
        """Return normal embeddings, positions near 1, and small message weights: at first little is passed on."""
        dim = self.settings.dim
        near_one = normal(generator, 2, self.max_arity, dim, spread=0.1) + 1
        return {
            **super().initial(generator),
            "positions": near_one,
            "messages": normal(generator, self.settings.layers, dim, dim, spread=dim**-0.5),
        }

    def encode(self, parameters: Parameters, noise: torch.Generator | None = None) -> Parameters:
        """Return entities after message passing."""
        tables = super().encode(parameters, noise)
        hidden, positions = tables["entities"], tables["positions"][0]
        degrees = self._degrees.to(hidden.device)[:, None].to(hidden.dtype)
        for weights in tables.pop("messages"):
            gathered = torch.zeros_like(hidden)
            for relations, columns in self._facts:
                columns = columns.to(hidden.device)
                signal = rows(tables["relations"], relations.to(hidden.device))
                seen = rows(hidden, columns) * positions[: len(columns), None]  # [arity, n, dim]
                for place, message in enumerate(_products_of_others(seen)):
                    gathered = gathered.index_add(0, columns[place], signal * positions[place] * message)
            hidden = hidden + torch.tanh(gathered / degrees @ weights)
        return {**tables, "entities": hidden, "positions": tables["positions"][1]}

    def seen_at(self, tables: Parameters, entities: Tensor | None, position: int) -> Tensor:
        """Return q at the position times h."""
        return rows(tables["entities"], entities) * tables["positions"][position]


def _products_of_others(values: Tensor) -> list[Tensor]:
    """Return for each i the product of values[j] over all j other than i; by products from both ends, never by division."""
    one = torch.ones_like(values[0])
    before, after = [one], [one]
    for value in values[:-1]:
        before.append(before[-1] * value)
    for value in values.flip(0)[:-1]:
        after.append(after[-1] * value)
    return [left * right for left, right in zip(before, reversed(after), strict=True)]
