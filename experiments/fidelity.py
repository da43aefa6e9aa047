"""The shape of a dataset, how far two shapes are apart, and the three things the paper asks of a synthetic dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from relatum.algebra import Expression
from relatum.algebra.node import post_order
from relatum.arrays import Int64
from relatum.data.derivations import OPERATIONS
from relatum.data.hypergraph import Hypergraph, Split
from relatum.synth.dataset import SynthDataset

__all__ = ["LARGE", "Criteria", "Shape", "criteria", "distances", "kolmogorov_smirnov", "total_variation"]

LARGE = 10  # tuples; a relation with fewer says little about an operation
_DEPTHS = range(1, 5)  # those of the paper
_PARTS = ("train", "test")


@dataclass(frozen=True)
class Shape:
    """What a dataset looks like from afar; the facts of all its parts, each counted once.

    Attributes:
        arities: how many facts there are of each arity.
        degrees: how often each entity occurs, int64[entities].
        sizes: how many facts each relation has, int64[relations].
    """

    arities: Mapping[int, int]
    degrees: Int64
    sizes: Int64

    @classmethod
    def of(cls, split: Split) -> Shape:
        """Return the shape of a split."""
        graph = Hypergraph.union(list(split.parts.values())).distinct()
        sizes = np.array([len(graph.table(name)) for name in graph.schema.names], np.int64)
        return cls({arity: len(block) for arity, block in graph.blocks.items()}, graph.degrees(), sizes)


def total_variation(ours: Mapping[int, float], theirs: Mapping[int, float]) -> float:
    """Return half the sum of the differences between two distributions, given as weights: 0 if alike, 1 if disjoint."""
    totals = sum(ours.values()), sum(theirs.values())
    gaps = (ours.get(key, 0) / totals[0] - theirs.get(key, 0) / totals[1] for key in {*ours, *theirs})
    return sum(map(abs, gaps)) / 2


def kolmogorov_smirnov(ours: Int64, theirs: Int64) -> float:
    """Return the largest difference between the cumulative distributions of two samples: 0 if alike, 1 if apart."""
    values = np.union1d(ours, theirs)
    shares = [np.searchsorted(np.sort(sample), values, side="right") / len(sample) for sample in (ours, theirs)]
    return float(np.abs(shares[0] - shares[1]).max())


def distances(ours: Shape, theirs: Shape) -> dict[str, float]:
    """Return how far two shapes are apart: total variation for arities, Kolmogorov and Smirnov's distance for the rest."""
    return {
        "arity": total_variation(ours.arities, theirs.arities),
        "degree": kolmogorov_smirnov(ours.degrees, theirs.degrees),
        "size_of_large": kolmogorov_smirnov(ours.sizes[ours.sizes >= LARGE], theirs.sizes[theirs.sizes >= LARGE]),
        "size": kolmogorov_smirnov(ours.sizes, theirs.sizes),
    }


@dataclass(frozen=True)
class Criteria:
    """The paper's three criteria, as counts.

    Attributes:
        operations: by part, how many tuples are of a relation whose last operation is this one.
        depths: by part, how many tuples are of a relation of this depth, from 1 up.
        repeated: how many relations took two operations or more.
        mixed: how many of those took operations of different types.
        sequences: how many different sequences of such operations there are, each read along the deepest operands.
        mixed_tuples: by part, how many tuples are of a mixed relation.
    """

    operations: Mapping[str, Mapping[str, int]]
    depths: Mapping[str, Mapping[int, int]]
    repeated: int
    mixed: int
    sequences: int
    mixed_tuples: Mapping[str, int]

    @property
    def complete(self) -> bool:
        """Whether all five operations are in train and in test."""
        return all(self.operations[part].get(operation) for part in _PARTS for operation in OPERATIONS)

    @property
    def diverse(self) -> bool:
        """Whether depths 1 to 4 are in train and in test."""
        return all(self.depths[part].get(depth) for part in _PARTS for depth in _DEPTHS)

    @property
    def compositional(self) -> bool:
        """Whether relations derived by operations of different types are in train and in test."""
        return all(self.mixed_tuples[part] for part in _PARTS)

    def to_json(self) -> dict[str, Any]:
        """Return counts and verdicts as plain data."""
        depths = {part: {str(depth): count for depth, count in found.items()} for part, found in self.depths.items()}
        verdicts = {"complete": self.complete, "diverse": self.diverse, "compositional": self.compositional}
        return {**verdicts, **vars(self), "depths": depths}


def criteria(dataset: SynthDataset) -> Criteria:
    """Return what a synthetic dataset has of the three things that the paper asks for."""
    operations: dict[str, Counter[str]] = {part: Counter() for part in _PARTS}
    depths: dict[str, Counter[int]] = {part: Counter() for part in _PARTS}
    for part in _PARTS:
        for (operation, depth), count in dataset.counts(part).items():
            if depth:
                operations[part][operation] += count
                depths[part][depth] += count
    mixed = {name: expression for name, expression in dataset.expressions.items() if len(_types(_nodes(expression))) > 1}
    return Criteria(
        operations={part: dict(found) for part, found in operations.items()},
        depths={part: dict(sorted(found.items())) for part, found in depths.items()},
        repeated=sum(expression.depth > 1 for expression in dataset.expressions.values()),
        mixed=len(mixed),
        sequences=len({tuple(map(_type, _deepest(expression))) for expression in mixed.values()}),
        mixed_tuples={part: sum(len(dataset.split.parts[part].table(name)) for name in mixed) for part in _PARTS},
    )


def _nodes(expression: Expression) -> list[Expression]:
    return post_order(expression, lambda node: node.children)


def _deepest(expression: Expression) -> list[Expression]:
    """Return the operations from the last to the first, at each going on with the deepest operand."""
    path = []
    while expression.children:
        path.append(expression)
        expression = max(expression.children, key=lambda child: child.depth)
    return path


def _types(nodes: Iterable[Expression]) -> set[str]:
    return {_type(node) for node in nodes if node.children}


def _type(node: Expression) -> str:
    """Return the paper's name of an operation, which has one for both selections."""
    return {"permute": "rename", "select_equal": "select"}.get(node.operation, node.operation)
