"""Who hears of whom: the facts of a hypergraph as messages to each of their entities from all the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from relatum.data.hypergraph import Hypergraph

__all__ = ["Layer", "Messages", "Neighbourhoods"]

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
