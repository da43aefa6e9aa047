"""A range of entities, as one tile or one worker has them: what is about all entities, by its indices in the range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relatum.arrays import Bool, Int64
from relatum.data.answer_index import AnswerLists
from relatum.data.sorting import spread
from relatum.data.vocabulary import Ids
from relatum.kernels.filters import Bonus, Excluded, excluded_pairs

__all__ = ["EntityRange"]


@dataclass(frozen=True, slots=True)
class EntityRange:
    """The entities from `first` to before `last`."""

    first: int
    last: int

    def indices(self, entities: Ids) -> Int64:
        """Return the indices of entities in the range; -1 for those that are not in it."""
        return np.where(self._holds(entities), entities.astype(np.int64) - self.first, -1)

    def lists(self, lists: Excluded) -> Excluded:
        """Return what of some lists is in the range."""
        rows, indices, _ = self._pairs(lists)
        return excluded_pairs(rows, indices, len(lists.counts))

    def bonus(self, bonus: Bonus) -> Bonus:
        """Return what of a bonus is for entities in the range."""
        rows, indices, kept = self._pairs(bonus)
        values = bonus.values[spread(bonus.starts, bonus.counts)][kept]
        found = excluded_pairs(rows, indices, len(bonus.counts))
        return Bonus(found.pool, found.starts, found.counts, values)

    def _pairs(self, lists: Excluded) -> tuple[Int64, Int64, Bool]:
        """Return pairs of a question and an entity in the range, by its index, and which of all pairs they are."""
        rows, entities = AnswerLists(lists.pool, lists.starts, lists.counts).pairs()
        here = self._holds(entities)
        return rows[here], entities[here].astype(np.int64) - self.first, here

    def _holds(self, entities: Ids) -> Bool:
        found: Bool = (entities >= self.first) & (entities < self.last)
        return found
