"""A model with parameters that tell the true tuples of a ground truth from all others, and the bounds by which it does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from relatum.data.hypergraph import Hypergraph
from relatum.models.base import Model, Parameters

__all__ = ["Separation", "numbered"]


@dataclass(frozen=True, eq=False)
class Separation:
    """A model, its parameters, and what they promise about the score of every tuple over its entities and relations.

    Attributes:
        model: the model, without state.
        parameters: its parameters; `model.encode` takes them.
        true_at_least: no true tuple scores below.
        false_at_most: no false tuple scores above; it is below `true_at_least`.
    """

    model: Model
    parameters: Parameters
    true_at_least: float
    false_at_most: float

    @property
    def threshold(self) -> float:
        """A score that lies between those of true and of false tuples."""
        return (self.true_at_least + self.false_at_most) / 2

    def scores(self, relations: Tensor, columns: Tensor) -> Tensor:
        """Return the score of each tuple, [n], given as relations [n] and columns [arity, n]."""
        return self.model.score(self.model.encode(self.parameters), relations, columns)


def numbered(truth: Hypergraph) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield, arity by arity, relations [n], columns [arity, n] and running numbers [n] of distinct facts, as int64."""
    start = 0
    for block in truth.blocks.values():
        numbers = torch.arange(start, start + len(block))
        yield torch.tensor(block.relations).long(), torch.tensor(block.columns).long(), numbers
        start += len(block)
