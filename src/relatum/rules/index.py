"""Tuples indexed, and how far views overlap with a head."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from relatum.algebra import Relation, evaluate
from relatum.arrays import Float64, Int64
from relatum.data.hypergraph import Hypergraph
from relatum.data.schema import RelationSchema
from relatum.data.sorting import spread
from relatum.data.vocabulary import Ids
from relatum.rules.views import Keys, TupleKeys, View, found_in, with_conditions


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

    def columns_of(self, relation: RelationSchema) -> Ids:
        """Return the distinct facts of a relation."""
        return self.columns[self.graph.schema.id(relation.name)]

    def search(self, target: Ids, *, covered: float, inside: float, without: int) -> Iterator[View]:
        """Yield the columns that hold a good part of the target's tuples, or whose tuples are for a good part the target's.

        Both shares can only fall as columns are added: so columns are chosen one after the other, and a choice is given up
        as soon as it has too little. It starts from the pairs that the target's first two columns make.

        Args:
            target: distinct tuples.
            covered: the least share of the target's tuples that are found; or else
            inside: the least share of the relation's rows whose tuples are the target's.
            without: a relation that is left out.
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
    """A view, and where its observed tuples are.

    Attributes:
        view: the view.
        reasons: for each tuple of the head, how many rows of the view's relation give it.
        outside: the sorted keys of the view's other tuples.
        rows: for each of these, a row that gives it.
    """

    view: View
    reasons: Int64
    outside: Keys
    rows: Int64

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
    columns = view.columns(store.columns_of(view.relation))
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
        columns = store.columns_of(view.relation)
        if len(view.positions) < len(columns):
            keys = store.keys.of(columns[list(view.positions)])
            wanted, _ = found_in(keys, head.keys)
            unwanted = ~wanted if avoiding is None else found_in(keys, avoiding.keys)[0]
            found += with_conditions(view, columns, wanted, unwanted)
    return list(dict.fromkeys(found))
