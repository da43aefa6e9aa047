"""Which facts a step takes. All that is drawn follows from (seed, epoch, step), so training can go on from any step."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from relatum.data.hypergraph import Hypergraph
from relatum.errors import DataError

__all__ = ["Batch", "epoch_batches", "step_rng"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Batch:
    """Facts of one arity: relations int64[n] and columns int64[arity, n]."""

    relations: Ints
    columns: Ints

    def __len__(self) -> int:
        return len(self.relations)


def step_rng(seed: int, epoch: int, group: int = -1) -> np.random.Generator:
    """Return the generator of one group of one epoch, or, without a group, of the epoch's order."""
    return np.random.default_rng([seed, epoch, group + 1])


def epoch_batches(facts: Hypergraph, size: int, seed: int, epoch: int, *, mixed: bool) -> list[list[Batch]]:
    """Return the steps of an epoch: every fact once, in steps of about `size` facts.

    Args:
        facts: the training facts.
        size: facts in a step.
        seed: of the run.
        epoch: its number.
        mixed: whether a step mixes relations (then it holds one batch per arity), or is of one relation.
    """
    if not len(facts):
        raise DataError("there are no facts to train on")
    chance = step_rng(seed, epoch)
    if mixed:
        return _mixed(facts, size, chance)
    steps = []
    for block in facts.blocks.values():
        bounds = np.flatnonzero(np.diff(block.relations, prepend=-1, append=-1))
        for start, stop in itertools.pairwise(bounds.tolist()):
            order = start + chance.permutation(stop - start)
            parts = max(1, round((stop - start) / size))
            for chosen in np.array_split(order, parts):
                relations, columns = block.relations[chosen], block.columns[:, chosen]
                steps.append([Batch(relations.astype(np.int64), columns.astype(np.int64))])
    return [steps[number] for number in chance.permutation(len(steps))]


def _mixed(facts: Hypergraph, size: int, chance: np.random.Generator) -> list[list[Batch]]:
    blocks = list(facts.blocks.values())
    arity_of = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
    row_of = np.concatenate([np.arange(len(block)) for block in blocks])
    order = chance.permutation(len(arity_of))
    steps = []
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        step = []
        for number in np.unique(arity_of[chosen]):
            rows = row_of[chosen[arity_of[chosen] == number]]
            block = blocks[number]
            step.append(Batch(block.relations[rows].astype(np.int64), block.columns[:, rows].astype(np.int64)))
        steps.append(step)
    return steps
