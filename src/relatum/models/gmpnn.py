"""G-MPNN: message passing over the training facts, decoded as products."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import torch
from torch import Tensor

from relatum.data.hypergraph import Hypergraph
from relatum.models.base import Parameters, Settings, drop, normal, rows
from relatum.models.products import PositionalProduct, around_zero
from relatum.models.training_protocols import Neighbourhood, NeighbourSampling
from relatum.settings import setting

_PIECE = 1 << 15  # messages that are formed at once


@dataclass(frozen=True, eq=False, slots=True)
class Messages:
    """Messages over facts of one arity."""

    relations: Tensor  # of the facts, [m]
    positions: Tensor  # that the receivers hold in them, [m]
    others: Tensor  # at the other positions, [arity - 1, m], from the one behind the receiver's on, once around
    receivers: Tensor  # [m]


@dataclass(frozen=True, eq=False, slots=True)
class Layer:
    """One layer of message passing: from rows of a table to the rows that are needed after it."""

    kept: Tensor | None  # the indices of the needed rows among those before the layer; None for all of them
    parts: list[Messages]  # senders are indices among the rows before the layer, and receivers among those after it
    counts: Tensor  # how many messages each receives, int64[rows after the layer]


class Neighbourhoods:
    """For every entity the facts that it is in, as numbers of (fact, position); an entity twice in a fact is there twice."""

    def __init__(self, graph: Hypergraph) -> None:
        self._entities = len(graph.entities)
        self._facts = [
            (torch.from_numpy(block.relations.astype("int64")), torch.from_numpy(block.columns.astype("int64")))
            for block in graph.distinct().blocks.values()
        ]
        receivers = torch.cat([torch.empty(0, dtype=torch.int64), *(columns.flatten() for _, columns in self._facts)])
        self._order = torch.argsort(receivers, stable=True)
        self._counts = torch.bincount(receivers, minlength=self._entities)
        self._starts = torch.cumsum(self._counts, 0) - self._counts

    def whole(self) -> Layer:
        """Return a layer in which every entity receives all its messages."""
        parts = [part for relations, columns in self._facts for part in _pieces(relations, columns)]
        return Layer(None, parts, self._counts)

    def layers(self, entities: Tensor, count: int, limit: int, rng: torch.Generator) -> tuple[list[Layer], Tensor]:
        """Return layers that end with a row for each of some ascending entities, and the rows that the first begins with.

        In each layer an entity takes `limit` messages, drawn again if there are more; 0 takes all.
        """
        layers: list[Layer] = []
        for _ in range(count):
            layer, entities = self._layer(entities, limit, rng)
            layers.insert(0, layer)
        return layers, entities

    def _layer(self, entities: Tensor, limit: int, rng: torch.Generator) -> tuple[Layer, Tensor]:
        chosen, receivers, counts = self._drawn(entities, limit, rng)
        found, first = [], 0
        for relations, columns in self._facts:
            here = (chosen >= first) & (chosen < first + columns.numel())
            position, fact = (chosen[here] - first) // len(relations), (chosen[here] - first) % len(relations)
            found.append(Messages(relations[fact], position, _others(columns, position, fact), receivers[here]))
            first += columns.numel()
        before = torch.unique(torch.cat([entities, *(part.others.flatten() for part in found)]))
        parts = [replace(part, others=torch.searchsorted(before, part.others)) for part in found if len(part.receivers)]
        return Layer(torch.searchsorted(before, entities), parts, counts), before

    def _drawn(self, entities: Tensor, limit: int, rng: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Return numbers of (fact, position), the index in `entities` of each one's receiver, and how many each receives."""
        starts, counts = self._starts[entities], self._counts[entities]
        received = counts if limit == 0 else counts.clamp(max=limit)
        receivers = torch.repeat_interleave(received)
        nth = torch.arange(len(receivers)) - (torch.cumsum(received, 0) - received)[receivers]
        drawn = torch.rand(len(receivers), generator=rng, dtype=torch.float64, device=rng.device).cpu()
        many = (counts > received)[receivers]
        nth = torch.where(many, (drawn * counts[receivers]).long(), nth)
        return self._order[starts[receivers] + nth], receivers, received


def _pieces(relations: Tensor, columns: Tensor) -> Iterator[Messages]:
    """Yield all messages over facts of one arity, some at a time: what is formed of them has many numbers for each."""
    for position in range(len(columns)):
        for start in range(0, len(relations), _PIECE):
            fact = torch.arange(start, min(start + _PIECE, len(relations)))
            positions = torch.full_like(fact, position)
            yield Messages(relations[fact], positions, _others(columns, positions, fact), columns[position, fact])


def _others(columns: Tensor, positions: Tensor, fact: Tensor) -> Tensor:
    """Return the entities of facts at all positions but one, [arity - 1, m], beginning behind it."""
    after = torch.arange(1, len(columns))[:, None]
    return columns[(positions + after) % len(columns), fact]


@dataclass(frozen=True)
class GMPNNSettings(Settings):
    """Settings of G-MPNN."""

    num_layers: int = setting(1, "how many times messages are passed", ge=1)
    num_neighbors: int = setting(
        8,
        "how many messages an entity takes in a step of training, drawn again each time if there are more; 0 takes all."
        " Questions are always answered with all",
        ge=0,
    )
    message_dropout: float = setting(
        0.0, "the share of what an entity has received that is dropped in a step of training", ge=0, lt=1
    )


class GMPNN(PositionalProduct, NeighbourSampling):
    """G-MPNN: entities gather messages over the facts of the training hypergraph; then they are decoded as products.

    In each layer, a fact r(x_1, ..., x_n) sends to the entity at position i the message r * p_i * product over j other
    than i of (h_j + s_j), with embeddings p and s of the positions that receive and send. Senders' are added, for factors
    would commute: it could not be told which of two senders is at which position. An entity takes the mean m of its
    messages and becomes h + tanh(m U / sqrt(dim)), so that a step of training, which moves all weights in U by as much, does
    not saturate it. The score is the sum over coordinates of r * product over i of (q_i * h_i), with embeddings q of
    positions for decoding: these factors do commute, and the order of a fact's entities makes no difference to its score.
    Messages are passed once per version of the parameters, in `encode`, and are trained through. A step of training passes
    only those that reach what it needs.
    """

    name = "g-mpnn"
    title = "G-MPNN"
    settings_type = GMPNNSettings
    settings: GMPNNSettings
    reads_facts = True

    @cached_property
    def _neighbourhoods(self) -> Neighbourhoods:
        return Neighbourhoods(self.graph)

    def init_parameters(self, rng: torch.Generator, entities: range | None = None) -> Parameters:
        """Return normal embeddings, positions that change little, and message weights that keep a message's length."""
        dim = self.settings.dim
        return {
            "positions": normal(rng, 2, self.max_arity, dim, spread=0.1) + 1,
            **super().init_parameters(rng, entities),
            "senders": around_zero(rng, self.max_arity, dim),
            "messages": normal(rng, self.settings.num_layers, dim, dim, spread=1.0),
        }

    def encode(self, parameters: Parameters, dropout_rng: torch.Generator | None = None) -> Parameters:
        """Return entities after message passing."""
        return self._passed([self._neighbourhoods.whole()] * self.settings.num_layers, parameters, dropout_rng)

    def neighbourhood(self, entities: Tensor, rng: torch.Generator) -> Neighbourhood:
        """Return the rows that send messages to the given entities, and how these are passed."""
        layers, senders = self._neighbourhoods.layers(entities, self.settings.num_layers, self.settings.num_neighbors, rng)
        return Neighbourhood(senders, partial(self._passed, layers))

    def _passed(self, layers: Sequence[Layer], parameters: Parameters, dropout_rng: torch.Generator | None) -> Parameters:
        tables = super().encode(parameters, dropout_rng)
        hidden, (receivers, to_decode), senders = tables["entities"], tables["positions"], tables.pop("senders")
        for layer, weights in zip(layers, tables.pop("messages"), strict=True):
            received = _mean(layer, hidden, tables["relations"], receivers, senders)
            passed = torch.tanh(received @ (weights * self.settings.dim**-0.5))
            hidden = rows(hidden, layer.kept) + drop(passed, self.settings.message_dropout, dropout_rng)
        return {**tables, "entities": hidden, "positions": to_decode}

    def seen_at(self, tables: Parameters, entities: Tensor | None, position: int) -> Tensor:
        """Return q at the position times h."""
        return rows(tables["entities"], entities) * tables["positions"][position]


def _mean(layer: Layer, hidden: Tensor, relations: Tensor, receivers: Tensor, senders: Tensor) -> Tensor:
    """Return the mean of the messages that each receives, [rows after the layer, dim]; 0 for who receives none."""
    device = hidden.device
    total = hidden.new_zeros(len(layer.counts), hidden.shape[1])
    for part in layer.parts:
        positions = part.positions.to(device)
        message = rows(relations, part.relations.to(device)) * rows(receivers, positions)
        for after, other in enumerate(part.others.to(device), start=1):
            message = message * (rows(hidden, other) + rows(senders, (positions + after) % (len(part.others) + 1)))
        total = total.index_add(0, part.receivers.to(device), message)
    return total / layer.counts.to(device).clamp(min=1)[:, None]
