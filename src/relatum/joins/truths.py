"""How true facts are, as joins need it: the best answers to questions, and the values of given facts.

A fact that is known counts 1. One that is predicted counts its probability as an answer to its question, and never more than
a cap below 1: what is predicted never equals what is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from relatum.arrays import Bool, Float64
from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.data.vocabulary import Ids
from relatum.errors import SettingError
from relatum.time_limit import Deadline


class Ranked(NamedTuple):
    """The best answers to questions, [n, k]: entities, -1 for none, and values, never rising; no other is above `rest`."""

    entities: Ids
    values: Float64
    rest: Float64


class BestFacts(NamedTuple):
    """The best facts, int32[arity, k], and their values, never rising; no other is above `rest`."""

    columns: Ids
    values: Float64
    rest: float


class Truths(Protocol):
    """What is known and believed about the facts of stored relations, by their names."""

    @property
    def size(self) -> int:
        """How many entities there are."""

    def entity(self, name: str) -> int:
        """Return the number of an entity."""

    def best(self, relation: str, position: int, questions: Ids, k: int) -> Ranked:
        """Return at least the k best answers at a position to questions, int32[arity, n], where there are so many."""

    def values(self, relation: str, position: int, facts: Ids) -> Float64:
        """Return the values of facts, int32[arity, n], as answers at a position."""

    def best_facts(self, relation: str, given: Sequence[int | None], k: int, limit: Deadline) -> BestFacts:
        """Return the best facts that hold the given entities, None being open, at least k where there are so many.

        Where the limit is reached, fewer are found, and `rest` is what others could still be.
        """

    def fact_values(self, relation: str, facts: Ids) -> Float64:
        """Return the values of facts, int32[arity, n], that answer no question."""

    def known(self, relation: str, facts: Ids) -> Bool:
        """Return which facts, int32[arity, n], are known."""


@dataclass(frozen=True, slots=True)
class Conjoin:
    """How the values of facts become the value of all of them together."""

    word: str
    of: Callable[[Float64 | float, Float64 | float], Float64]

    def __call__(self, left: Float64 | float, right: Float64 | float) -> Float64:
        """Return the value of two facts, or of two arrays of them."""
        return np.asarray(self.of(left, right), np.float64)


CONJUNCTIONS = {"product": Conjoin("product", np.multiply), "minimum": Conjoin("minimum", np.minimum)}


def conjunction_by(word: str) -> Conjoin:
    """Return how values are joined: by `product` or `minimum`."""
    if word not in CONJUNCTIONS:
        raise SettingError(
            "setting-out-of-range", f"must be one of {', '.join(CONJUNCTIONS)}, not {word!r}", place="conjunction"
        )
    return CONJUNCTIONS[word]


class FactTruths:
    """Known facts alone: what follows from them has the value 1, all else none."""

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

    def best_facts(self, relation: str, given: Sequence[int | None], k: int, limit: Deadline) -> BestFacts:
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
