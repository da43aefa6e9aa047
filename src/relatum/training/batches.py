"""Batches of facts. All that is drawn follows from (seed, epoch, batch), so training can go on from any step."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from relatum.arrays import Int64
from relatum.data.hypergraph import Hypergraph
from relatum.errors import DataError


@dataclass(frozen=True, eq=False, slots=True)
class ArityBatch:
    """Facts of one arity: relations int64[n] and columns int64[arity, n]."""

    relations: Int64
    columns: Int64

    def __len__(self) -> int:
        return len(self.relations)


Batch = list[ArityBatch]  # one for each arity


def step_rng(seed: int, epoch: int, batch: int = -1) -> np.random.Generator:
    """Return the generator of one batch of one epoch, or, without a batch, of the epoch's order."""
    return np.random.default_rng([seed, epoch, batch + 1])


def epoch_batches(facts: Hypergraph, size: int, seed: int, epoch: int, *, mixed: bool) -> list[Batch]:
    """Return the batches of an epoch: every fact once, in batches of about `size` facts.

    Args:
        facts: the training facts.
        size: facts in a batch.
        seed: of the run.
        epoch: its number.
        mixed: whether a batch mixes relations, or is of one relation.
    """
    if not len(facts):
        raise DataError("no-facts", "there are no facts to train on")
    rng = step_rng(seed, epoch)
    if mixed:
        return _mixed(facts, size, rng)
    batches = []
    for block in facts.blocks.values():
        bounds = np.flatnonzero(np.diff(block.relations, prepend=-1, append=-1))
        for start, stop in itertools.pairwise(bounds.tolist()):
            order = start + rng.permutation(stop - start)
            parts = max(1, round((stop - start) / size))
            for chosen in np.array_split(order, parts):
                relations, columns = block.relations[chosen], block.columns[:, chosen]
                batches.append([ArityBatch(relations.astype(np.int64), columns.astype(np.int64))])
    return [batches[number] for number in rng.permutation(len(batches))]


def _mixed(facts: Hypergraph, size: int, rng: np.random.Generator) -> list[Batch]:
    blocks = list(facts.blocks.values())
    arity_of = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
    row_of = np.concatenate([np.arange(len(block)) for block in blocks])
    order = rng.permutation(len(arity_of))
    batches = []
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        batch = []
        for number in np.unique(arity_of[chosen]):
            rows = row_of[chosen[arity_of[chosen] == number]]
            block = blocks[number]
            batch.append(ArityBatch(block.relations[rows].astype(np.int64), block.columns[:, rows].astype(np.int64)))
        batches.append(batch)
    return batches
