"""What facts are compared with: entities drawn for each step, some of them from where they could be mistaken for answers."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.kernels.filters import Known, known_pairs, nothing_known
from relatum.training.batches import Batch
from relatum.training.settings import TrainingSettings

__all__ = ["NegativeSampler"]

Ints = npt.NDArray[np.int64]


class NegativeSampler:
    """Draws candidates by the settings: pools or replacements, or nothing where every entity is a candidate.

    Most entities are no answer to a question by their kind alone: nobody takes a city for a film. What is left to learn
    soon lies among the entities that the relation is known with, so a share of a pool is drawn from these.
    """

    def __init__(self, facts: Hypergraph, settings: TrainingSettings) -> None:
        self.settings, self.entity_count = settings, len(facts.entities)
        masks = settings.mask_true and settings.negative_sampling != "per-fact"
        self._known = KnownAnswers(facts) if masks else None
        self._near: dict[int, Ints] = {}
        if settings.negative_sampling == "shared" and settings.in_relation_share:
            for block in facts.blocks.values():
                bounds = np.flatnonzero(np.diff(block.relations, prepend=-1, append=-1))
                for start, stop in itertools.pairwise(bounds.tolist()):
                    self._near[int(block.relations[start])] = np.unique(block.columns[:, start:stop]).astype(np.int64)

    def draw(self, step: list[Batch], chance: np.random.Generator) -> list[Ints]:
        """Return what is drawn for each batch: a pool, or replacements [arity, n, negatives], or nothing."""
        if self.settings.negative_sampling == "all-entities":
            return [np.empty(0, np.int64)] * len(step)
        if self.settings.negative_sampling == "shared":
            return [self._pool(int(batch.relations[0]), chance) for batch in step]
        shapes = [(*batch.columns.shape, self.settings.num_negatives) for batch in step]
        return [chance.integers(0, self.entity_count, shape) for shape in shapes]

    def hidden(self, batch: Batch, position: int, entities: Ints | None) -> Known:
        """Return for every fact the candidates that are true too, other than its own entity.

        Args:
            batch: the facts.
            position: which of their entities is compared with others.
            entities: the candidates, ascending; None for all entities. What is returned are places among them.
        """
        if self._known is None:
            return nothing_known(len(batch))
        answers = self._known.lookup(batch.relations.astype(np.int32), batch.columns.astype(np.int32), position)
        facts, found = answers.pairs()
        other = found != batch.columns[position][facts]
        facts, ids = facts[other], found[other].astype(np.int64)
        if entities is not None:
            places = np.minimum(np.searchsorted(entities, ids), len(entities) - 1)
            there = entities[places] == ids
            facts, ids = facts[there], places[there]
        return known_pairs(facts, ids, len(batch))

    def _pool(self, relation: int, chance: np.random.Generator) -> Ints:
        near = self._near.get(relation, np.empty(0, np.int64))
        wanted = round(self.settings.in_relation_share * self.settings.num_negatives)
        if len(near) > wanted:
            near = near[chance.integers(0, len(near), wanted)]
        anywhere = chance.integers(0, self.entity_count, self.settings.num_negatives - len(near))
        return np.concatenate([near, anywhere])
