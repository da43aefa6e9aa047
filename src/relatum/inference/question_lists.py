"""Questions about one relation, as many as there may be: listed, made from known facts, or all that there are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from relatum.data.sorting import differs_from_previous
from relatum.data.vocabulary import Ids

__all__ = ["AllQuestions", "ListedQuestions", "Part", "Questions", "cut", "questions_around"]

Part = tuple[int, Ids]  # an open position, and questions int32[arity, n]


class Questions(Protocol):
    """Questions about one relation, each with one open position; what stands there is not looked at."""

    def __len__(self) -> int: ...

    def parts(self, size: int) -> Iterator[Part]:
        """Yield them in parts of at most `size` that have one open position."""


@dataclass(frozen=True, eq=False)
class ListedQuestions:
    """Questions by open position, int32[arity, n] each."""

    asked: Sequence[Ids]

    def __len__(self) -> int:
        return sum(columns.shape[1] for columns in self.asked)

    def parts(self, size: int) -> Iterator[Part]:
        """Yield them position by position."""
        return cut(enumerate(self.asked), size)


@dataclass(frozen=True, eq=False)
class AllQuestions:
    """Every question that leaves the last position open; `allowed` has the entities of each position."""

    allowed: Sequence[Ids]

    def __len__(self) -> int:
        return math.prod(len(ids) for ids in self.allowed[:-1])

    def parts(self, size: int) -> Iterator[Part]:
        """Yield them in the order of their entities; none is made before it is asked for."""
        *given, _ = self.allowed
        for start in range(0, len(self), size):
            numbers = np.arange(start, min(start + size, len(self)))
            places = np.unravel_index(numbers, [len(ids) for ids in given]) if given else ()
            rows = [ids[place] for ids, place in zip(given, places, strict=True)]
            yield len(given), np.stack([*rows, np.zeros(len(numbers), np.int32)])


def questions_around(facts: Ids) -> ListedQuestions:
    """Return every distinct question that facts, int32[arity, n], answer: those that opening one position of each gives."""
    asked = []
    for position in range(len(facts)):
        opened = facts.copy()
        opened[position] = 0
        order = np.lexsort(opened[::-1])
        distinct = differs_from_previous([column[order] for column in opened])
        asked.append(opened[:, order[distinct]])
    return ListedQuestions(asked)


def cut(asked: Iterable[Part], size: int) -> Iterator[Part]:
    """Yield parts that have at most `size` questions each."""
    for position, columns in asked:
        for start in range(0, columns.shape[1], size):
            yield position, columns[:, start : start + size]
