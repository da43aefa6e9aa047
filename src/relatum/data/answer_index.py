"""Answers by a key of several columns: what stands at one column of facts where others hold given entities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relatum.arrays import Bool, Int64
from relatum.data.sorting import LARGEST_KEY, differs_from_previous, row_order, spread
from relatum.data.vocabulary import Ids


@dataclass(frozen=True, eq=False, slots=True)
class AnswerLists:
    """The known answers to a batch of questions: `answers[i]` are those to question i, ascending.

    Nothing is copied: the answers of all questions lie in one pool, where many questions share their part.
    """

    pool: Ids
    starts: Int64
    counts: Int64

    def __getitem__(self, question: int) -> Ids:
        start = self.starts[question]
        answers: Ids = self.pool[start : start + self.counts[question]]
        return answers

    def __len__(self) -> int:
        return len(self.starts)

    def contain(self, entities: Ids) -> Bool:
        """Return for each question whether the given entity, int32[questions], is among its answers."""
        low, high = self.starts, self.starts + self.counts
        for _ in range(int(np.max(self.counts, initial=0)).bit_length()):  # binary search, all questions in step
            middle = (low + high) >> 1
            smaller = (low < high) & (self.pool[np.minimum(middle, len(self.pool) - 1)] < entities)
            low, high = np.where(smaller, middle + 1, low), np.where(smaller, high, middle)
        inside = low < self.starts + self.counts
        inside[inside] = self.pool[low[inside]] == entities[inside]
        return inside

    def pairs(self) -> tuple[Int64, Ids]:
        """Return every (question, answer) as two arrays, question by question; as long as there are answers in all."""
        return np.repeat(np.arange(len(self)), self.counts), self.pool[spread(self.starts, self.counts)]


class AnswerIndex:
    """Answers by a key of several columns, found for many keys at once.

    Rows are sorted by the key and then by the answer, so that the answers to a key are neighbours. A key is found level by
    level: each level packs as many columns as an int64 holds behind the number of the group found so far. One level does for
    most data; there is no limit to the arity. An answer is there as often as rows have it.
    """

    def __init__(self, key: Sequence[Ids], sizes: Sequence[int], answers: Ids, num_entities: int) -> None:
        """Sort the rows; `sizes` says how many different values each column of the key can have.

        `levels` has the columns and the ascending keys of each level, `offsets` where the answers to each key begin, and
        `answers` all of these.
        """
        self._sizes = tuple(sizes)
        order = row_order([*key, answers], [*self._sizes, num_entities])
        self.answers = answers[order]
        self.levels: list[tuple[range, Int64]] = []
        group, groups, index = np.zeros(len(order), np.int64), 1, 0
        while index < len(key):
            start, room = index, LARGEST_KEY // groups
            while index < len(key) and room >= self._sizes[index]:
                group = group * self._sizes[index] + key[index][order]
                room //= self._sizes[index]
                index += 1
            first = differs_from_previous([group])
            self.levels.append((range(start, index), group[first]))
            group = np.cumsum(first) - 1
            groups = len(self.levels[-1][1])
        self.offsets = np.append(np.flatnonzero(first), len(order)).astype(np.int32)

    def lookup(self, key: Sequence[Ids]) -> AnswerLists:
        """Return the answers to each key, one of whose columns is as long as there are questions."""
        if not len(self.answers):
            nothing = np.zeros(len(key[0]), np.int64)
            return AnswerLists(self.answers, nothing, nothing)
        group, found = np.zeros(len(key[0]), np.int64), np.ones(len(key[0]), np.bool_)
        for indices, known in self.levels:
            for index in indices:
                group = group * self._sizes[index] + key[index]
            wanted = group
            group = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
            found &= known[group] == wanted
        starts = self.offsets[group].astype(np.int64)
        return AnswerLists(self.answers, starts, np.where(found, self.offsets[group + 1] - starts, 0))

    @property
    def nbytes(self) -> int:
        """The memory that the arrays take."""
        return self.answers.nbytes + self.offsets.nbytes + sum(known.nbytes for _, known in self.levels)
