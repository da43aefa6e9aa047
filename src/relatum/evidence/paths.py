"""Paths: two facts, joined by one entity, that lead from a given entity of a question to its answer."""

from __future__ import annotations

import itertools

import numpy as np

from relatum.data.sorting import spread
from relatum.data.vocabulary import Ids
from relatum.evidence.facts import FactStore, good
from relatum.evidence.soft_rule import ANY, JOINED, Atom, SoftRule

_FACTS = 200  # of a relation, whose paths are looked for
_NEIGHBOURS = 5  # facts of one relation, with an entity at one position, that are followed from it
_SUPPORT = 5  # facts that have such a path, at least
_PAIRS = 1 << 22  # of steps that meet, of one relation and two of its positions: memory is bounded
_PATHS = 10  # of a position, at most
_JUDGED = 300  # facts that a path is judged by
_LEAST = 0.01  # confidence


class Paths:
    """The steps from the entities of some facts to others that occur in a fact with them."""

    def __init__(self, store: FactStore, samples: list[Ids], rng: np.random.Generator) -> None:
        self._store, self._samples = store, samples
        self._facts = [sample[:, rng.permutation(sample.shape[1])[:_FACTS]] for sample in samples]
        size = len(store.graph.entities)
        wanted = np.zeros(size, np.bool_)
        for sample in self._facts:
            wanted[sample] = True
        self._steps = [
            (relation, *pair)
            for relation, columns in enumerate(store.columns)
            for pair in itertools.permutations(range(len(columns)), 2)
        ]
        heads, tails = [], []
        for relation, start, end in self._steps:
            columns = store.columns[relation]
            rows = np.flatnonzero(wanted[columns[start]])
            rows = rows[rng.permutation(len(rows))]
            rows = rows[np.argsort(columns[start][rows], kind="stable")]
            head = columns[start][rows]
            kept = np.arange(len(head)) - np.searchsorted(head, head) < _NEIGHBOURS
            heads.append(head[kept])
            tails.append(columns[end][rows[kept]])
        head = np.concatenate([*heads, np.empty(0, np.int32)])
        order = np.argsort(head, kind="stable")
        self._step = np.repeat(np.arange(len(heads)), [len(each) for each in heads])[order]
        self._tail = np.concatenate([*tails, np.empty(0, np.int32)])[order].astype(np.int64)
        self._counts = np.bincount(head, minlength=size)
        self._starts = np.cumsum(self._counts) - self._counts

    def rules(self, relation: int, position: int) -> list[SoftRule]:
        """Return the paths that answer a position, judged."""
        facts, proposed = self._facts[relation], []
        for given in (one for one in range(len(facts)) if one != position):
            for support, first, second in self._joined(facts, given, position):
                proposed.append((support, given, first, second))
        proposed.sort(key=lambda one: -one[0])
        rules = (self._rule(relation, position, *each) for _, *each in proposed[:_PATHS])
        return good(self._store, rules, self._samples[relation][:, :_JUDGED], _LEAST)

    def _joined(self, facts: Ids, given: int, position: int) -> list[tuple[int, int, int]]:
        """Return how many facts have a path from one position to another, its first step, and its second, backwards."""
        size = len(self._store.graph.entities)
        sides = []
        for entities in (facts[given], facts[position]):
            counts = self._counts[entities]
            rows, index = np.repeat(np.arange(len(entities)), counts), spread(self._starts[entities], counts)
            inside = (self._tail[index] == facts[:, rows]).any(axis=0)  # no path leads through the fact itself
            keys = rows[~inside] * size + self._tail[index[~inside]]
            order = np.argsort(keys, kind="stable")
            sides.append((keys[order], self._step[index[~inside]][order]))
        (left, first), (right, second) = sides
        starts, ends = np.searchsorted(right, left), np.searchsorted(right, left, side="right")
        counts = np.where(np.cumsum(ends - starts) <= _PAIRS, ends - starts, 0)
        one, other = np.repeat(np.arange(len(left)), counts), spread(starts, counts)
        joins = first[one] * len(self._steps) + second[other]
        both = np.unique(joins * (len(facts[0]) + 1) + left[one] // size)  # a fact counts once
        paths, support = np.unique(both // (len(facts[0]) + 1), return_counts=True)
        enough = support >= _SUPPORT
        pairs = (divmod(path, len(self._steps)) for path in paths[enough].tolist())
        return [(count, *pair) for count, pair in zip(support[enough].tolist(), pairs, strict=True)]

    def _rule(self, relation: int, position: int, given: int, first: int, second: int) -> SoftRule:
        atoms = []
        for step, end in ((self._steps[first], given), (self._steps[second], position)):
            terms = [ANY] * len(self._store.columns[step[0]])
            terms[step[1]], terms[step[2]] = end, JOINED
            atoms.append(Atom(step[0], tuple(terms)))
        return SoftRule(relation, position, tuple(atoms), position)
