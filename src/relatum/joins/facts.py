"""Known facts alone: what follows from them has the value 1, all else none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relatum.arrays import Bool, Float64
from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.data.vocabulary import Ids
from relatum.joins.truths import BestFacts, Ranked
from relatum.time_limit import Limit


class FactTruths:
    """The facts of a hypergraph, as joins take them."""

    def __init__(self, facts: Hypergraph, known: KnownAnswers | None = None) -> None:
        self._facts, self._known = facts, KnownAnswers(facts) if known is None else known

    @property
    def size(self) -> int:
        """How many entities there are."""
        return len(self._facts.entities)

    def entity(self, name: str) -> int:
        """Return the number of an entity."""
        return self._facts.entities.id(name)

    def best(self, relation: str, position: int, questions: Ids, k: int) -> Ranked:
        """Return known answers to questions, at least k where there are so many."""
        lists = self._known.lookup(self._numbers(relation, questions), questions, position)
        counts = np.minimum(lists.counts, k)
        entities = np.full((len(counts), int(counts.max(initial=0))), -1, np.int32)
        there = np.arange(entities.shape[1]) < counts[:, None]
        starts = lists.starts[:, None] + np.arange(entities.shape[1])
        entities[there] = lists.pool[starts[there]]
        return Ranked(entities, there.astype(np.float64), (lists.counts > k).astype(np.float64))

    def values(self, relation: str, position: int, facts: Ids) -> Float64:
        """Return 1 for each fact that is known."""
        return self.known(relation, facts).astype(np.float64)

    def best_facts(self, relation: str, given: Sequence[int | None], k: int, limit: Limit) -> BestFacts:
        """Return all known facts that hold the given entities."""
        found = self._facts.table(relation).columns
        for column, entity in enumerate(given):
            if entity is not None:
                found = found[:, found[column] == entity]
        return BestFacts(found, np.ones(found.shape[1]), 0.0)

    def fact_values(self, relation: str, facts: Ids) -> Float64:
        """Return 1 for each fact that is known."""
        return self.known(relation, facts).astype(np.float64)

    def known(self, relation: str, facts: Ids) -> Bool:
        """Return which facts are known."""
        return self._known.lookup(self._numbers(relation, facts), facts, 0).contain(facts[0])

    def _numbers(self, relation: str, facts: Ids) -> Ids:
        return np.full(facts.shape[1], self._facts.schema.id(relation), np.int32)
