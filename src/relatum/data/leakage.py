"""Leakage: test facts that follow from training facts by permuting columns, or by dropping some.

If most test facts of `bought` are training facts of `sold` with two columns exchanged, or those of a symmetric relation
stand in train the other way round, then a model that learns this one rule answers them, and its score says little else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from relatum.arrays import Bool, Int64
from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.schema import RelationSchema
from relatum.data.sorting import spread
from relatum.data.vocabulary import Ids

_BUDGET = 2_000_000_000  # training rows that may be looked at in all: some seconds
_STEP = 20_000  # what one look costs besides its rows, in rows
_ABOVE_EXPECTED = 2.0  # times as many as expected by chance is a leak


@dataclass(frozen=True)
class Leak:
    """Test facts of one relation that are columns of training facts."""

    relation: RelationSchema  # the relation of the test facts
    source: RelationSchema  # the relation of the training facts; it may be the same
    columns: tuple[int, ...]  # for each position of the relation, the position of the source that holds the same entity
    found: int  # how many test facts of the relation such a training fact is there for
    test: int
    # the share that would be found if one entity of each test fact were any other that the relation has there
    expected: float

    @property
    def body(self) -> str:
        """What the test facts follow from, as relational algebra: `permute[1, 0, 2](sold)`."""
        columns = ", ".join(map(str, self.columns))
        if len(self.columns) < self.source.arity:
            return f"project[{columns}]({self.source.name})"
        return self.source.name if list(self.columns) == sorted(self.columns) else f"permute[{columns}]({self.source.name})"

    def to_json(self) -> dict[str, Any]:
        """Return the leak as plain data."""
        names = {"relation": self.relation.name, "source": self.source.name, "columns": list(self.columns)}
        return {**names, "follows_from": self.body, "found": self.found, "test": self.test, "chance": self.expected}


@dataclass(frozen=True)
class Leakage:
    """All leaks, those of most facts first."""

    leaks: tuple[Leak, ...]
    facts: int  # distinct test facts that follow by at least one of them
    test: int  # distinct test facts
    complete: bool  # whether all ways to choose columns were tried; where there are too many, some are not

    def to_json(self) -> dict[str, Any]:
        """Return the leaks as plain data."""
        return {**vars(self), "leaks": [leak.to_json() for leak in self.leaks]}


def find_leaks(split: Split, *, share: float = 0.1, least: int = 5) -> Leakage:
    """Return what of the test facts follows from training facts by permuting or dropping columns.

    A leak explains at least so many test facts of a relation and such a `share` of them, which must also be twice that
    of chance.
    """
    train, test = split.train.distinct(), split.test.distinct()
    occurrences = _Occurrences(train)
    tested = [(number, relation) for number, relation in enumerate(split.schema) if len(test.table(relation.name))]
    leaks, leaked, complete, spare = list[Leak](), 0, True, _BUDGET
    for done, (number, relation) in enumerate(tested):
        facts, known = test.table(relation.name).columns, train.table(relation.name).columns
        held = [np.unique(np.concatenate(pair)) for pair in zip(facts, known, strict=True)]
        enough = max(least, int(np.ceil(share * facts.shape[1])), 1)
        implied = np.zeros(facts.shape[1], np.bool_)
        budget = _Budget(spare // (len(tested) - done))  # what one relation leaves is for the next ones
        spare -= budget.rows
        for other, allowed in occurrences.sources(facts, enough):
            source = split.schema[other]
            columns = train.table(source.name).columns
            for chosen, found in _maps(facts, columns, allowed, enough, len(split.entities), budget):
                if other == number and list(chosen) == sorted(chosen):
                    continue  # facts of both parts, which are counted as such
                expected = _expected_share(facts, columns[list(chosen)], len(found), held, len(split.entities))
                if len(found) / facts.shape[1] >= _ABOVE_EXPECTED * expected:
                    implied[found] = True
                    leaks.append(Leak(relation, source, chosen, len(found), facts.shape[1], expected))
        leaked += int(implied.sum())
        complete &= budget.rows >= 0
        spare += budget.rows
    leaks.sort(key=lambda leak: (-leak.found, -leak.found / leak.test, leak.relation.name, leak.source.name, leak.columns))
    return Leakage(tuple(leaks), leaked, len(test), complete)


@dataclass
class _Budget:
    """How many rows may still be looked at."""

    rows: int


class _Occurrences:
    """In which columns of which relations each entity occurs."""

    def __init__(self, graph: Hypergraph) -> None:
        self._arities = np.array([relation.arity for relation in graph.schema], np.int64)
        self._first = np.cumsum(self._arities) - self._arities  # columns of all relations are numbered on
        self._columns = int(self._arities.sum())
        pairs = [
            np.unique(column.astype(np.int64) * self._columns + self._first[block.relations] + position)
            for block in graph.blocks.values()
            for position, column in enumerate(block.columns)
        ]
        entities, self._occupied = np.divmod(np.unique(np.concatenate(pairs or [np.zeros(0, np.int64)])), self._columns or 1)
        self._starts = np.searchsorted(entities, np.arange(len(graph.entities) + 1))

    def sources(self, facts: Ids, enough: int) -> Iterator[tuple[int, Bool]]:
        """Yield each relation that may hold enough of the facts, and which of its columns may be which: bool[mine, its]."""
        counts = np.stack([self._counts(column) for column in facts])
        for relation in np.flatnonzero(self._arities >= len(facts)).tolist():
            start = self._first[relation]
            allowed = counts[:, start : start + self._arities[relation]] >= enough
            if allowed.any(axis=1).all():
                yield relation, allowed

    def _counts(self, entities: Ids) -> Int64:
        """Return for each column of any relation how many of the entities, with repeats, occur in it."""
        values, repeats = np.unique(entities, return_counts=True)
        sizes = self._starts[values + 1] - self._starts[values]
        occupied = self._occupied[spread(self._starts[values], sizes)]
        return np.bincount(occupied, np.repeat(repeats, sizes), self._columns).astype(np.int64)


def _maps(
    facts: Ids, columns: Ids, allowed: Bool, enough: int, entities: int, budget: _Budget
) -> Iterator[tuple[tuple[int, ...], Int64]]:
    """Yield each choice of columns that enough facts are found in, and which facts these are.

    Columns are chosen one after the other. Rows that agree on those chosen so far have one number, their group, so that a
    group and the next entity fit one machine word; a choice that too few facts are found in is not gone on with.
    """
    held = np.zeros((len(facts), entities), np.bool_)
    for mask, column in zip(held, facts, strict=True):
        mask[column] = True
    rows, every = np.arange(columns.shape[1]), np.arange(facts.shape[1])
    stack: list[tuple[tuple[int, ...], Int64, Int64, Int64, Int64]] = [((), rows, 0 * rows, every, 0 * every)]
    while stack and budget.rows >= 0:
        chosen, rows, groups, found, wanted = stack.pop()
        if len(chosen) == len(facts):
            yield chosen, found
            continue
        mine = facts[len(chosen)][found]
        for column in np.flatnonzero(allowed[len(chosen)])[::-1].tolist():
            if column in chosen:
                continue
            budget.rows -= len(rows) + _STEP
            kept = held[len(chosen)][columns[column][rows]]
            finer, indices, there = _refine(groups[kept], columns[column][rows[kept]], wanted, mine, entities)
            if there.sum() >= enough:
                stack.append(((*chosen, column), rows[kept], finer, found[there], indices[there]))


def _refine(groups: Int64, column: Ids, wanted: Int64, entities: Ids, size: int) -> tuple[Int64, Int64, Bool]:
    """Return the groups of rows by one more column, those that facts want by one more entity, and whether they are there."""
    known, finer = np.unique(groups * size + column, return_inverse=True)
    keys = wanted * size + entities
    indices = np.searchsorted(known, keys)
    there = indices < len(known)
    there[there] = known[indices[there]] == keys[there]
    return finer, indices, there


def _expected_share(facts: Ids, columns: Ids, found: int, held: list[Ids], size: int) -> float:
    """Return the share of facts that are found with one entity replaced, over all positions and others of their columns."""
    hits = tries = 0
    for position, entities in enumerate(held):
        rows = columns[:, np.isin(columns[position], entities)]
        groups, wanted = np.zeros(rows.shape[1], np.int64), np.zeros(facts.shape[1], np.int64)
        left = np.arange(facts.shape[1])  # facts whose other entities are known together
        for other in (other for other in range(len(facts)) if other != position):
            groups, wanted, there = _refine(groups, rows[other], wanted, facts[other][left], size)
            left, wanted = left[there], wanted[there]
        answers = np.bincount(np.unique(groups * size + rows[position]) // size, minlength=1)
        hits += int(answers[wanted].sum()) - found
        tries += facts.shape[1] * (len(entities) - 1)
    return hits / tries if tries else 0.0
