"""Batches of facts, and the entities that these are compared with, some from where they could be mistaken for answers.

All that is drawn follows from (seed, epoch, batch), so training can go on from any step.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from relatum.arrays import Int64
from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.errors import DataError
from relatum.kernels.filters import Excluded, excluded_pairs, nothing_excluded
from relatum.training.settings import TrainingSettings


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
    """Return the batches of an epoch: every fact once, in batches of about `size` facts, of one relation or mixed."""
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


class NegativeSampler:
    """Draws candidates by the settings: pools or replacements, or nothing where every entity is a candidate.

    Most entities are no answer to a question by their type alone: a city is no film. What is left to learn
    soon lies among the entities that the relation is known with, so a share of a pool is drawn from these.
    """

    def __init__(self, facts: Hypergraph, settings: TrainingSettings) -> None:
        self.settings, self.num_entities = settings, len(facts.entities)
        self._known = None if settings.negative_sampling == "per-fact" else KnownAnswers(facts)
        self._in_relation: dict[int, Int64] = {}
        if settings.negative_sampling == "shared" and settings.in_relation_share:
            for block in facts.blocks.values():
                bounds = np.flatnonzero(np.diff(block.relations, prepend=-1, append=-1))
                for start, stop in itertools.pairwise(bounds.tolist()):
                    self._in_relation[int(block.relations[start])] = np.unique(block.columns[:, start:stop]).astype(np.int64)

    def draw(self, batch: Batch, rng: np.random.Generator) -> list[Int64]:
        """Return what is drawn for each arity: a pool, or replacements [arity, n, negatives], or nothing."""
        if self.settings.negative_sampling == "all-entities":
            return [np.empty(0, np.int64)] * len(batch)
        if self.settings.negative_sampling == "shared":
            inside = [self._in_relation.get(int(facts.relations[0]), np.empty(0, np.int64)) for facts in batch]
            return [draw_pool(each, self.num_entities, self.settings, rng) for each in inside]
        shapes = [(*facts.columns.shape, self.settings.num_negatives) for facts in batch]
        return [rng.integers(0, self.num_entities, shape) for shape in shapes]

    def excluded(self, facts: ArityBatch, position: int, entities: Int64 | None) -> Excluded:
        """Return for every fact the candidates at a position that are true too, other than its own entity.

        Candidates are `entities`, ascending, and what is returned are indices among them; None for all entities.
        """
        if self._known is None:
            return nothing_excluded(len(facts))
        answers = self._known.lookup(facts.relations.astype(np.int32), facts.columns.astype(np.int32), position)
        numbers, found = answers.pairs()
        other = found != facts.columns[position][numbers]
        numbers, ids = numbers[other], found[other].astype(np.int64)
        if entities is not None:
            indices = np.minimum(np.searchsorted(entities, ids), len(entities) - 1)
            there = entities[indices] == ids
            numbers, ids = numbers[there], indices[there]
        return excluded_pairs(numbers, ids, len(facts))


def draw_pool(inside: Int64, entities: int, settings: TrainingSettings, rng: np.random.Generator) -> Int64:
    """Return a shared pool, in no order: some of the entities inside of a relation, and others from anywhere."""
    wanted = round(settings.in_relation_share * settings.num_negatives)
    if len(inside) > wanted:
        inside = inside[rng.integers(0, len(inside), wanted)]
    return np.concatenate([inside, rng.integers(0, entities, settings.num_negatives - len(inside))])
