"""What is already known: for a fact with one position left open, every entity that completes it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from relatum.data.hypergraph import Block, Hypergraph, check_ids
from relatum.data.sorting import LARGEST_KEY, Index, differs_from_previous, row_order, spread
from relatum.data.vocabulary import Ids

__all__ = ["AnswerLists", "KnownAnswers"]


@dataclass(frozen=True, eq=False, slots=True)
class AnswerLists:
    """The known answers to a batch of questions: `answers[i]` are those to question i, ascending.

    Nothing is copied: the answers of all questions lie in one pool, where many questions share their part.
    """

    pool: Ids
    starts: Index
    counts: Index

    def __getitem__(self, question: int) -> Ids:
        start = self.starts[question]
        answers: Ids = self.pool[start : start + self.counts[question]]
        return answers

    def __len__(self) -> int:
        return len(self.starts)

    def contain(self, entities: Ids) -> npt.NDArray[np.bool_]:
        """Return for each question whether the given entity, int32[questions], is among its answers."""
        low, high = self.starts, self.starts + self.counts
        for _ in range(int(np.max(self.counts, initial=0)).bit_length()):  # binary search, all questions in step
            middle = (low + high) >> 1
            smaller = (low < high) & (self.pool[np.minimum(middle, len(self.pool) - 1)] < entities)
            low, high = np.where(smaller, middle + 1, low), np.where(smaller, high, middle)
        inside = low < self.starts + self.counts
        inside[inside] = self.pool[low[inside]] == entities[inside]
        return inside

    def pairs(self) -> tuple[Index, Ids]:
        """Return every (question, answer) as two arrays, question by question; as long as there are answers in all."""
        return np.repeat(np.arange(len(self)), self.counts), self.pool[spread(self.starts, self.counts)]


class KnownAnswers:
    """All answers that the given hypergraphs know, looked up for many questions at once; built by sorting."""

    def __init__(self, *graphs: Hypergraph) -> None:
        self._bounds = (len(graphs[0].schema), len(graphs[0].entities))
        self._indexes: dict[int, list[_Index]] = {}
        for arity, facts in Hypergraph.union(graphs).distinct().blocks.items():
            self._indexes[arity] = [_Index(facts, position, *self._bounds) for position in range(arity)]

    def lookup(self, relations: Ids, columns: Ids, position: int) -> AnswerLists:
        """Return the entities known at `position` of each question, in ascending order.

        Args:
            relations: int32[n], the relation of each question; all of one arity.
            columns: int32[arity, n], the entities; what stands in row `position` is not looked at.
            position: the open position, from 0.
        """
        key = (relations, *columns[:position], *columns[position + 1 :])
        for column, bound in zip(key, (self._bounds[0], *[self._bounds[1]] * len(key)), strict=False):
            check_ids(column, bound, "question")
        if len(columns) not in self._indexes:
            nothing = np.zeros(len(relations), np.int64)
            return AnswerLists(np.empty(0, np.int32), nothing, nothing)
        return self._indexes[len(columns)][position].lookup(key)

    @property
    def nbytes(self) -> int:
        """The memory that the arrays take."""
        return sum(index.nbytes for indexes in self._indexes.values() for index in indexes)


class _Index:
    """The answers at one position of the facts of one arity.

    Facts are sorted by relation and other entities, the key, and then by the answer, so that the answers to a question
    are neighbours. A key is found level by level: each level packs as many columns as an int64 holds behind the number
    of the group found so far. One level does for most data; there is no limit to the arity.
    """

    def __init__(self, facts: Block, position: int, relation_count: int, entity_count: int) -> None:
        answers = facts.columns[position]
        key = [facts.relations, *(column for other, column in enumerate(facts.columns) if other != position)]
        self._sizes = (relation_count, *[entity_count] * (facts.arity - 1))
        order = row_order([*key, answers], [*self._sizes, entity_count])
        self._answers = answers[order]
        self._levels: list[tuple[range, Index]] = []
        group, groups, index = np.zeros(len(order), np.int64), 1, 0
        while index < len(key):
            start, room = index, LARGEST_KEY // groups
            while index < len(key) and room >= self._sizes[index]:
                group = group * self._sizes[index] + key[index][order]
                room //= self._sizes[index]
                index += 1
            first = differs_from_previous([group])
            self._levels.append((range(start, index), group[first]))
            group = np.cumsum(first) - 1
            groups = len(self._levels[-1][1])
        self._offsets = np.append(np.flatnonzero(first), len(order)).astype(np.int32)

    def lookup(self, key: tuple[Ids, ...]) -> AnswerLists:
        group, found = np.zeros(len(key[0]), np.int64), np.ones(len(key[0]), np.bool_)
        for indices, known in self._levels:
            for index in indices:
                group = group * self._sizes[index] + key[index]
            wanted = group
            group = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
            found &= known[group] == wanted
        starts = self._offsets[group].astype(np.int64)
        return AnswerLists(self._answers, starts, np.where(found, self._offsets[group + 1] - starts, 0))

    @property
    def nbytes(self) -> int:
        arrays = (self._answers, self._offsets, *(known for _, known in self._levels))
        return sum(array.nbytes for array in arrays)
