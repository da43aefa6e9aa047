"""G-MPNN (Yadati, Neural Message Passing for Multi-Relational Ordered and Recursive Hypergraphs, NeurIPS 2020)."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor

from relatum.data.hypergraph import Hypergraph
from relatum.models.base import Model, Parameters, Settings, drop, normal, rows
from relatum.models.messages import Layer, Neighbourhoods
from relatum.models.products import ProductModel
from relatum.settings import setting

__all__ = ["GMPNN", "GMPNNSettings"]


@dataclass(frozen=True)
class GMPNNSettings(Settings):
    """Settings of G-MPNN."""

    num_layers: int = setting(1, "how many times messages are passed", ge=1)
    num_neighbors: int = setting(
        8,
        "how many messages an entity takes in a step of training, drawn anew each time if there are more; 0 takes all."
        " Questions are always answered with all",
        ge=0,
    )
    message_dropout: float = setting(
        0.0, "the share of what an entity has heard that is dropped in a step of training", ge=0, lt=1
    )


class GMPNN(ProductModel):
    """G-MPNN: entities gather messages over the facts of the training hypergraph; then they are decoded as products.

    In each layer, a fact r(x_1, ..., x_n) sends to the entity at position i the message r * p_i * product over j other
    than i of (p_j * h_j), where p are embeddings of positions. An entity takes the mean m of its messages and becomes
    h + tanh(m U / sqrt(dim)), so that a step of training, which moves all weights in U by as much, does not saturate it.
    The score is the sum over coordinates of r * product over i of (q_i * h_i), with embeddings q of positions for decoding.
    Messages are passed once per version of the parameters, in `encode`, and are trained through. A step of training passes
    only those that reach what it needs.
    """

    name = "g-mpnn"
    title = "G-MPNN"
    settings_type = GMPNNSettings
    settings: GMPNNSettings
    reads_facts = True

    def __init__(self, graph: Hypergraph, settings: Settings | None = None) -> None:
        super().__init__(graph, settings)
        self._neighbourhoods = Neighbourhoods(graph)
        self._rounds: list[Layer] | None = None  # those of a step; else everybody hears everything

    def initial(self, generator: torch.Generator) -> Parameters:
        """Return normal embeddings, positions near 1, and message weights that keep a message's length."""
        dim = self.settings.dim
        near_one = normal(generator, 2, self.max_arity, dim, spread=0.1) + 1
        return {
            **super().initial(generator),
            "positions": near_one,
            "messages": normal(generator, self.settings.num_layers, dim, dim, spread=1.0),
        }

    def around(self, entities: Tensor, noise: torch.Generator) -> tuple[Model, Tensor]:
        """Return the model with the messages that reach the given entities, and those who send them."""
        narrow = copy.copy(self)
        settings = self.settings
        narrow._rounds, senders = self._neighbourhoods.rounds(entities, settings.num_layers, settings.num_neighbors, noise)
        return narrow, senders

    def encode(self, parameters: Parameters, noise: torch.Generator | None = None) -> Parameters:
        """Return entities after message passing."""
        tables = super().encode(parameters, noise)
        hidden, (to_encode, to_decode) = tables["entities"], tables["positions"]
        rounds = self._rounds or [self._neighbourhoods.whole()] * self.settings.num_layers
        for layer, weights in zip(rounds, tables.pop("messages"), strict=True):
            heard = _mean(layer, hidden, tables["relations"], to_encode)
            passed = torch.tanh(heard @ (weights * self.settings.dim**-0.5))
            hidden = rows(hidden, layer.kept) + drop(passed, self.settings.message_dropout, noise)
        return {**tables, "entities": hidden, "positions": to_decode}

    def seen_at(self, tables: Parameters, entities: Tensor | None, position: int) -> Tensor:
        """Return q at the position times h."""
        return rows(tables["entities"], entities) * tables["positions"][position]


def _mean(layer: Layer, hidden: Tensor, relations: Tensor, positions: Tensor) -> Tensor:
    """Return the mean of the messages that each receives, [rows after the round, dim]; 0 for who receives none.

    Whatever position a message goes to, the embeddings of all positions of its fact are in it.
    """
    device = hidden.device
    total = hidden.new_zeros(len(layer.counts), hidden.shape[1])
    for part in layer.parts:
        message = rows(relations, part.relations.to(device)) * positions[: len(part.others) + 1].prod(0)
        for other in part.others.to(device):
            message = message * rows(hidden, other)
        total = total.index_add(0, part.receivers.to(device), message)
    return total / layer.counts.to(device).clamp(min=1)[:, None]
