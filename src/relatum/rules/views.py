"""Views: one relation seen through selections and projections, and how far the tuples of views overlap with a head.

Any chain of renamings, projections and selections of one relation is such a view.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from relatum.algebra import Expression, Project, Relation, Rename, SelectConstant, SelectEqual, evaluate
from relatum.arrays import Bool, Float64, Int64
from relatum.data.hypergraph import Hypergraph
from relatum.data.schema import RelationSchema
from relatum.data.sorting import spread
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
        kept = [column for column in range(self.relation.arity) if column not in self.selected]
        return len(self.conditions) + (len(self.positions) < left or list(self.positions) != kept)

    @property
    def is_renaming(self) -> bool:
        """Whether it has all tuples and columns of its relation, so that the relation can as well be read off it."""
        return not self.conditions and len(self.positions) == self.relation.arity

    @property
    def selected(self) -> set[int]:
        """The columns that conditions are about."""
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

    The view has no conditions yet, which are to keep wanted rows of its relation and not unwanted ones; others do not
    matter.
    """
    rows = np.flatnonzero(wanted | unwanted)
    while True:
        free = [column for column in range(len(columns)) if column not in {*view.positions, *view.selected}]
        best = max(_conditions(view, free, columns[:, rows], wanted[rows]), default=None)
        if best is None or best[0] <= 0:
            return
        view = view.given(best[1])
        yield view
        rows = rows[best[1].holds(columns[:, rows])]


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


class Store:
    """The distinct facts of a hypergraph by relation, with an index of the pairs of entities that occur together.

    The index holds each pair of each ordered pair of columns: 12 bytes times the facts times the square of their arity.
    """

    def __init__(self, graph: Hypergraph) -> None:
        self.graph = graph
        self.columns = [evaluate(Relation(schema), graph).columns for schema in graph.schema]
        self.keys = TupleKeys(len(graph.entities), max(graph.schema.arities, default=1))

    @cached_property
    def _singles(self) -> _Index:
        return _Index(self, 1)

    @cached_property
    def _pairs(self) -> _Index:
        return _Index(self, 2)

    def id(self, view: View) -> int:
        """Return the id of a view's relation."""
        return self.graph.schema.id(view.relation.name)

    def search(self, target: Ids, *, covered: float, inside: float, without: int) -> Iterator[View]:
        """Yield the columns that hold a good part of the target's tuples, or whose tuples are for a good part the target's.

        Both shares can only fall as columns are added: so columns are chosen one after the other, and a choice is given up
        as soon as it has too little. It starts from the pairs that the target's first two columns make.

        A good part of the target is `covered`, and of a relation's rows `inside`. The target's tuples are distinct, and the
        relation `without` is left out.
        """
        if not target.shape[1]:
            return
        index = self._pairs if len(target) > 1 else self._singles
        prefixes = [np.sort(self.keys.of(target[:width])) for width in range(1, len(target) + 1)]
        for relation, positions in index.lookup(prefixes[index.width - 1], covered, inside):
            if relation != without:
                for found in self._extended(prefixes, relation, positions, covered, inside):
                    yield View(self.graph.schema[relation], found)

    def _extended(
        self, prefixes: list[Keys], relation: int, positions: tuple[int, ...], covered: float, inside: float
    ) -> Iterator[tuple[int, ...]]:
        if len(positions) == len(prefixes):
            yield positions
            return
        columns, wanted = self.columns[relation], prefixes[len(positions)]
        so_far = self.keys.of(columns[list(positions)])
        for column in range(len(columns)):
            if column not in positions:
                keys = so_far + self.keys.at(len(positions), columns[column])
                if _enough(wanted, keys, covered, inside):
                    yield from self._extended(prefixes, relation, (*positions, column), covered, inside)


def _enough(wanted: Keys, keys: Keys, covered: float, inside: float) -> bool:
    mine = np.sort(keys)
    if np.count_nonzero(found_in(wanted, mine)[0]) >= covered * len(wanted):
        return True
    return bool(np.count_nonzero(found_in(mine, wanted)[0]) >= inside * len(mine))


class _Index:
    """The columns and relations in which each entity, or each pair of entities, occurs."""

    def __init__(self, store: Store, width: int) -> None:
        self.width = width
        self.slots: list[tuple[int, tuple[int, ...]]] = []
        keys, sizes = [np.empty(0, np.uint64)], list[int]()
        for relation, columns in enumerate(store.columns):
            for positions in itertools.permutations(range(len(columns)), width) if columns.size else ():
                self.slots.append((relation, positions))
                keys.append(np.unique(store.keys.of(columns[list(positions)])))
                sizes.append(len(keys[-1]))
        joined = np.concatenate(keys)
        order = np.argsort(joined)
        self.sizes = np.array(sizes, np.int64)
        self._keys = joined[order]
        self._slots = np.repeat(np.arange(len(sizes), dtype=np.int32), self.sizes)[order]

    def lookup(self, wanted: Keys, covered: float, inside: float) -> list[tuple[int, tuple[int, ...]]]:
        """Return the columns that hold enough of the `wanted` keys, or of whose keys enough are wanted."""
        distinct, repeats = np.unique(wanted, return_counts=True)
        starts, stops = (np.searchsorted(self._keys, distinct, side=side) for side in ("left", "right"))
        slots = self._slots[spread(starts, stops - starts)]
        weights: Float64 = np.repeat(repeats, stops - starts).astype(np.float64)
        rows = np.bincount(slots, weights, minlength=len(self.slots))
        keys = np.bincount(slots, minlength=len(self.slots))
        enough = (rows >= covered * len(wanted)) | (keys >= inside * self.sizes)
        return [self.slots[slot] for slot in np.flatnonzero(enough & (keys > 0))]


class Head:
    """A set of tuples, sorted by key, that bodies are compared with."""

    def __init__(self, store: Store, relation: int, columns: Ids) -> None:
        keys = store.keys.of(columns)
        order = np.argsort(keys)
        self.relation, self.columns, self.keys = relation, columns[:, order], keys[order]

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, eq=False)
class Measured:
    """A view, and where its observed tuples are."""

    view: View
    reasons: Int64  # for each tuple of the head, how many rows of the view's relation give it
    outside: Keys  # of the view's other tuples, sorted
    rows: Int64  # for each of these, a row that gives it

    @cached_property
    def support(self) -> int:
        """How many tuples are both in the head and in the view."""
        return int(np.count_nonzero(self.reasons))

    @property
    def size(self) -> int:
        """How many tuples the view has."""
        return self.support + len(self.outside)


def measure(view: View, head: Head, store: Store) -> Measured:
    """Return where the tuples of a view are."""
    columns = view.columns(store.columns[store.id(view)])
    keys, first, counts = np.unique(store.keys.of(columns), return_index=True, return_counts=True)
    inside, indices = found_in(keys, head.keys)
    reasons = np.zeros(len(head), np.int64)
    reasons[indices[inside]] = counts[inside]
    return Measured(view, reasons, keys[~inside], first[~inside])


_COVERED = 0.1  # the least share of the head's tuples that a view has, or else
_INSIDE = 0.3  # the least share of a relation's rows that a view has in the head


def candidates(head: Head, store: Store, avoiding: Head | None = None) -> list[View]:
    """Return views that have a good part of a head's tuples, or a good part of whose tuples are the head's.

    Where there are tuples to avoid, conditions are chosen so as to avoid them; else, to avoid all that is not the head's.
    """
    found = []
    for view in store.search(head.columns, covered=_COVERED, inside=_INSIDE, without=head.relation):
        found.append(view)
        columns = store.columns[store.id(view)]
        if len(view.positions) < len(columns):
            keys = store.keys.of(columns[list(view.positions)])
            wanted, _ = found_in(keys, head.keys)
            unwanted = ~wanted if avoiding is None else found_in(keys, avoiding.keys)[0]
            found += with_conditions(view, columns, wanted, unwanted)
    return list(dict.fromkeys(found))
