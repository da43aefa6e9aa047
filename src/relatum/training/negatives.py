"""What facts are compared with: entities drawn for each step, some of them from where they could be mistaken for answers."""

from __future__ import annotations

import itertools

import numpy as np

from relatum.arrays import Int64
from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.kernels.filters import Excluded, excluded_pairs, nothing_excluded
from relatum.training.batches import ArityBatch, Batch
from relatum.training.settings import TrainingSettings


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
            return [self._pool(int(facts.relations[0]), rng) for facts in batch]
        shapes = [(*facts.columns.shape, self.settings.num_negatives) for facts in batch]
        return [rng.integers(0, self.num_entities, shape) for shape in shapes]

    def excluded(self, facts: ArityBatch, position: int, entities: Int64 | None) -> Excluded:
        """Return for every fact the candidates that are true too, other than its own entity.

        Args:
            facts: the facts.
            position: which of their entities is compared with others.
            entities: the candidates, ascending; None for all entities. What is returned are indices among them.
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

    def _pool(self, relation: int, rng: np.random.Generator) -> Int64:
        inside = self._in_relation.get(relation, np.empty(0, np.int64))
        wanted = round(self.settings.in_relation_share * self.settings.num_negatives)
        if len(inside) > wanted:
            inside = inside[rng.integers(0, len(inside), wanted)]
        anywhere = rng.integers(0, self.num_entities, self.settings.num_negatives - len(inside))
        return np.concatenate([inside, anywhere])
