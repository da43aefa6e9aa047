"""G-MPNN: message passing over the training facts, decoded as products."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from relatum.data.hypergraph import Hypergraph
from relatum.models.base import Model, Parameters, Settings, drop, normal, rows
from relatum.models.products import ProductModel
from relatum.settings import setting

__all__ = ["GMPNN", "GMPNNSettings", "Layer", "Messages", "Neighbourhoods"]

_PIECE = 1 << 15  # messages that are formed at once


@dataclass(frozen=True, eq=False, slots=True)
class Messages:
    """Messages over facts of one arity: relations[m], the other entities [arity - 1, m], and who receives them [m]."""

    relations: Tensor
    others: Tensor
    receivers: Tensor


@dataclass(frozen=True, eq=False, slots=True)
class Layer:
    """One round of messages: from rows of a table to the rows that are needed after it.

    Attributes:
        kept: where those that are needed are among the rows before the round; None for all of them.
        parts: the messages; senders are places among the rows before the round, and receivers among those after it.
        counts: how many messages each receives, int64[rows after the round].
    """

    kept: Tensor | None
    parts: list[Messages]
    counts: Tensor


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
        """Return a round in which everybody hears everything."""
        parts = [part for relations, columns in self._facts for part in _pieces(relations, columns)]
        return Layer(None, parts, self._counts)

    def rounds(self, entities: Tensor, count: int, limit: int, noise: torch.Generator) -> tuple[list[Layer], Tensor]:
        """Return rounds after which the given entities have heard what they need, and the rows that the first begins with.

        Args:
            entities: ids, ascending and distinct; the last round ends with a row for each.
            count: how many rounds.
            limit: how many messages an entity takes in a round, drawn anew for each if there are more; 0 takes all.
            noise: what they are drawn with.
        """
        layers: list[Layer] = []
        for _ in range(count):
            layer, entities = self._round(entities, limit, noise)
            layers.insert(0, layer)
        return layers, entities

    def _round(self, entities: Tensor, limit: int, noise: torch.Generator) -> tuple[Layer, Tensor]:
        chosen, receivers, counts = self._drawn(entities, limit, noise)
        found, first = [], 0
        for relations, columns in self._facts:
            here = (chosen >= first) & (chosen < first + columns.numel())
            place, fact = (chosen[here] - first) // len(relations), (chosen[here] - first) % len(relations)
            found.append((relations[fact], _others(columns, place, fact), receivers[here]))
            first += columns.numel()
        before = torch.unique(torch.cat([entities, *(others.flatten() for _, others, _ in found)]))
        parts = [Messages(names, torch.searchsorted(before, others), whom) for names, others, whom in found if len(whom)]
        return Layer(torch.searchsorted(before, entities), parts, counts), before

    def _drawn(self, entities: Tensor, limit: int, noise: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Return numbers of (fact, position), the place among `entities` that each is for, and how many each place has."""
        starts, counts = self._starts[entities], self._counts[entities]
        heard = counts if limit == 0 else counts.clamp(max=limit)
        receivers = torch.repeat_interleave(heard)
        nth = torch.arange(len(receivers)) - (torch.cumsum(heard, 0) - heard)[receivers]
        chance = torch.rand(len(receivers), generator=noise, dtype=torch.float64, device=noise.device).cpu()
        many = (counts > heard)[receivers]
        nth = torch.where(many, (chance * counts[receivers]).long(), nth)
        return self._order[starts[receivers] + nth], receivers, heard


def _pieces(relations: Tensor, columns: Tensor) -> Iterator[Messages]:
    """Yield all messages over facts of one arity, some at a time: what is formed of them has many numbers for each."""
    for place in range(len(columns)):
        for start in range(0, len(relations), _PIECE):
            fact = torch.arange(start, min(start + _PIECE, len(relations)))
            yield Messages(relations[fact], _others(columns, torch.full_like(fact, place), fact), columns[place, fact])


def _others(columns: Tensor, place: Tensor, fact: Tensor) -> Tensor:
    """Return the entities of facts at all positions but one, [arity - 1, m]."""
    after = torch.arange(1, len(columns))[:, None]
    return columns[(place + after) % len(columns), fact]


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
