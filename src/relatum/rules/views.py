"""Views: one relation seen through selections and projections, the choice of their conditions, and keys of tuples.

Any chain of renamings, projections and selections of one relation is such a view.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from relatum.algebra import Expression, Project, Relation, Rename, SelectConstant, SelectEqual
from relatum.arrays import Bool, Float64, Int64
from relatum.data.schema import RelationSchema
from relatum.data.vocabulary import Ids, Vocabulary

Keys = npt.NDArray[np.uint64]

_SEED = 20_240_229  # any fixed number: the same tuples have the same keys in every process


class TupleKeys:
    """Gives each tuple a 64-bit key: the sum, modulo 2^64, of one random number for each entity and position.

    Unlike packed ids, keys have no largest arity, and those of some columns of a table are sums of what its columns give.
    Two different tuples have one key with probability 2^-64: among a million tuples a pair is met once in 37 million runs.
    """

    def __init__(self, entities: int, positions: int) -> None:
        rng = np.random.default_rng(_SEED)
        self._numbers = rng.integers(0, 2**64, (positions, entities), np.uint64)

    def at(self, position: int, column: Ids) -> Keys:
        """Return what the entities of one column give to the keys of tuples that hold them at `position`."""
        found: Keys = self._numbers[position][column]
        return found

    def of(self, columns: Sequence[Ids] | Ids) -> Keys:
        """Return the keys of tuples, given column by column."""
        found = self.at(0, columns[0])
        for position, column in enumerate(columns[1:], 1):
            found += self.at(position, column)
        return found


def found_in(keys: Keys, known: Keys) -> tuple[Bool, Int64]:
    """Return whether each key is among the sorted `known` ones, and its index, or where it would be inserted."""
    indices = np.searchsorted(known, keys)
    if not len(known):
        return np.zeros(len(keys), np.bool_), indices
    return known[np.minimum(indices, len(known) - 1)] == keys, indices


@dataclass(frozen=True, slots=True, order=True)
class Condition:
    """A column holds an entity, or, where `other` is not -1, the same as another column."""

    column: int
    entity: int = -1
    other: int = -1

    def holds(self, columns: Ids) -> Bool:
        """Return which rows meet the condition."""
        found: Bool = columns[self.column] == (self.entity if self.other < 0 else columns[self.other])
        return found


@dataclass(frozen=True, slots=True)
class View:
    """The rows of a relation that meet the conditions, of which the columns `positions` are kept, in this order."""

    relation: RelationSchema
    positions: tuple[int, ...]
    conditions: tuple[Condition, ...] = ()

    @property
    def operations(self) -> int:
        """How many operations its expression has."""
        left = self.relation.arity - len(self.conditions)
        kept = [column for column in range(self.relation.arity) if column not in self._dropped]
        return len(self.conditions) + (len(self.positions) < left or list(self.positions) != kept)

    @property
    def is_renaming(self) -> bool:
        """Whether it has all tuples and columns of its relation, so that the relation can as well be read off it."""
        return not self.conditions and len(self.positions) == self.relation.arity

    @property
    def _dropped(self) -> set[int]:
        return {condition.column for condition in self.conditions}

    def given(self, condition: Condition) -> View:
        """Return the view with one more condition."""
        return replace(self, conditions=tuple(sorted((*self.conditions, condition))))

    def columns(self, columns: Ids) -> Ids:
        """Return the view's columns of the rows that meet the conditions; repeats are kept."""
        kept = columns[list(self.positions)]
        if not self.conditions:
            return kept
        return kept[:, np.logical_and.reduce([condition.holds(columns) for condition in self.conditions])]

    def expression(self, entities: Vocabulary) -> Expression:
        """Return the view in relational algebra: selections first, then one renaming or projection where needed."""
        found: Expression = Relation(self.relation)
        left = list(range(self.relation.arity))
        for condition in self.conditions:
            position = left.index(condition.column)
            if condition.other < 0:
                found = SelectConstant(found, position, entities[condition.entity])
            else:
                found = SelectEqual(found, position, left.index(condition.other))
            left.remove(condition.column)
        order = tuple(left.index(column) for column in self.positions)
        if order == tuple(range(len(left))):
            return found
        return Rename(found, order) if len(order) == len(left) else Project(found, order)


_TINY = 1e-12  # stands for 0 in a logarithm that is multiplied by 0
_CLEAR = 3.0  # nats beyond what the best of so many conditions gains by chance


def with_conditions(view: View, columns: Ids, wanted: Bool, unwanted: Bool) -> Iterator[View]:
    """Yield the view with one condition, with two, ..., as long as the next one tells wanted rows from unwanted ones.

    Args:
        view: columns of a relation, without conditions.
        columns: the relation's rows.
        wanted: the rows that the conditions should keep.
        unwanted: the rows that they should not; others do not matter.
    """
    rows = np.flatnonzero(wanted | unwanted)
    while True:
        free = [column for column in range(len(columns)) if column not in {*view.positions, *_columns(view)}]
        best = max(_conditions(view, free, columns[:, rows], wanted[rows]), default=None)
        if best is None or best[0] <= 0:
            return
        view = view.given(best[1])
        yield view
        rows = rows[best[1].holds(columns[:, rows])]


def _columns(view: View) -> list[int]:
    return [condition.column for condition in view.conditions]


def _conditions(view: View, free: list[int], columns: Ids, wanted: Bool) -> Iterator[tuple[float, Condition]]:
    """Yield what conditions gain, less what the best of as many would gain by chance; of constants only the best."""
    many, hits = len(wanted), int(np.count_nonzero(wanted))
    if not 0 < hits < many:
        return
    for column in free:
        values, indices = np.unique(columns[column], return_inverse=True)
        all_rows = np.bincount(indices).astype(np.float64)
        good_rows = np.bincount(indices, wanted).astype(np.float64)
        gains = _gain(good_rows, all_rows, hits, many)
        best = int(np.argmax(gains))
        yield float(gains[best]) - math.log(len(values)) - _CLEAR, Condition(column, entity=int(values[best]))
    for column in free:
        for other in (*view.positions, *(later for later in free if later > column)):
            same = columns[column] == columns[other]
            good_rows, all_rows = (np.array([np.count_nonzero(rows)], np.float64) for rows in (same & wanted, same))
            gain = float(_gain(good_rows, all_rows, hits, many)[0])
            yield gain - math.log(len(columns) ** 2) - _CLEAR, Condition(column, other=other)


def _gain(hits: Float64, rows: Float64, all_hits: int, all_rows: int) -> Float64:
    """Return how many nats knowing each condition tells about which rows are wanted; 0 where it speaks against them."""
    total = np.zeros_like(hits)
    for count, margin, part in (
        (hits, rows, all_hits),
        (rows - hits, rows, all_rows - all_hits),
        (all_hits - hits, all_rows - rows, all_hits),
        ((all_rows - rows) - (all_hits - hits), all_rows - rows, all_rows - all_hits),
    ):
        expected = np.maximum(margin * (part / all_rows), _TINY)
        total += count * np.log(np.maximum(count, _TINY) / expected)
    return np.where(hits * all_rows > rows * all_hits, total, 0.0)
