"""Matches: which positions of which relations hold the same entities more than by accident.

It begins from pairs: for two positions of a relation, the pairs of positions anywhere whose facts hold the same entities.
Pairs that agree are put together, so that a rule reads as many given entities as the facts bear out: renamings, projections,
converses, and entities that occur together.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from relatum.arrays import Int64
from relatum.data.sorting import spread
from relatum.data.vocabulary import Ids
from relatum.evidence.facts import SUPPORT, FactStore, judged
from relatum.evidence.soft_rule import ANY, Atom, SoftRule

Match = tuple[int, tuple[tuple[int, int], ...]]  # a relation, and pairs of a position and the one there that agrees with it
Pair = tuple[int, int, int, int, int, int]  # relation, two of its positions, another one, two of its positions

_MATCHES = 500  # of one relation, at most


class Matches:
    """The matches of every relation, from samples of their facts."""

    def __init__(self, store: FactStore, samples: list[Ids]) -> None:
        self._store = store
        self._pairs = _supported_pairs(store, samples)
        self._first: dict[int, list[Match]] = defaultdict(list)
        for relation, first, second, body, read, other in sorted(self._pairs):
            self._first[relation].append((body, ((first, read), (second, other))))

    def of(self, relation: int, facts: Ids) -> list[Match]:
        """Return the matches of a relation that enough of some facts bear out."""
        return list(_grown(self._store, relation, facts, self._first[relation], self._pairs))


def matching_rule(store: FactStore, relation: int, position: int, match: Match) -> SoftRule:
    """Return the rule that answers a position by a match that has it."""
    return SoftRule(relation, position, (condition(store, match),), position)


def condition(store: FactStore, match: Match) -> Atom:
    """Return the atom that facts of a match are like."""
    body, agreeing = match
    terms = [ANY] * len(store.columns[body])
    for one, read in agreeing:
        terms[read] = one
    return Atom(body, tuple(terms))


def _supported_pairs(store: FactStore, samples: list[Ids]) -> set[Pair]:
    """Return the pairs of positions that hold the entities of enough sampled facts at two of their positions.

    The sampled side is sorted once, and the facts of each pair of positions are looked up in it: memory grows with the
    sample and with the largest relation, not with all facts.
    """
    size = len(store.graph.entities)
    groups = [
        (relation, first, second)
        for relation, columns in enumerate(samples)
        for first, second in itertools.combinations(range(len(columns)), 2)
    ]
    keys = [_keys(samples[relation], first, second, size) for relation, first, second in groups]
    group = np.repeat(np.arange(len(groups)), [len(each) for each in keys])
    whole = np.concatenate([*keys, np.empty(0, np.int64)])
    if not len(whole):
        return set()
    order = np.argsort(whole, kind="stable")
    distinct, starts, counts = np.unique(whole[order], return_index=True, return_counts=True)
    group = group[order]
    found: set[Pair] = set()
    for body, columns in enumerate(store.columns):
        for first, second in itertools.permutations(range(len(columns)), 2):
            there, times = np.unique(_keys(columns, first, second, size), return_counts=True)
            index = np.minimum(np.searchsorted(distinct, there), len(distinct) - 1)
            known = distinct[index] == there
            index, times = index[known], times[known]
            members = group[spread(starts[index], counts[index])]
            by_group = np.bincount(members, minlength=len(groups))
            for number in np.flatnonzero(by_group >= SUPPORT).tolist():
                support = by_group[number]
                if groups[number] == (body, first, second):  # a fact is no support for itself
                    repeated = index[times > 1]
                    support = np.count_nonzero(group[spread(starts[repeated], counts[repeated])] == number)
                if support >= SUPPORT:
                    found.add((*groups[number], body, first, second))
    return found


def _keys(columns: Ids, first: int, second: int, size: int) -> Int64:
    keys: Int64 = columns[first].astype(np.int64) * size + columns[second]
    return keys


def _grown(store: FactStore, relation: int, sample: Ids, front: list[Match], pairs: set[Pair]) -> Iterator[Match]:
    """Yield the matches of a relation: supported pairs, and what they make together where enough facts bear it out."""
    count = 0
    while front:
        following: list[Match] = []
        for body, match in front:
            count += 1
            if count > _MATCHES:
                return
            yield body, match
            following += _extended(store, relation, sample, body, match, pairs)
        front = following


def _extended(
    store: FactStore, relation: int, sample: Ids, body: int, match: tuple[tuple[int, int], ...], pairs: set[Pair]
) -> list[Match]:
    found = []
    for position in range(match[-1][0] + 1, len(sample)):
        for read in set(range(len(store.columns[body]))).difference(one for _, one in match):
            wider = (*match, (position, read))
            if body == relation and len(wider) == len(sample) and all(a == b for a, b in wider):
                continue  # the fact itself
            agree = all((relation, one, position, body, other, read) in pairs for one, other in match)
            if agree and _support(store, relation, sample, (body, wider)) >= SUPPORT:
                found.append((body, wider))
    return found


def _support(store: FactStore, relation: int, facts: Ids, match: Match) -> int:
    """Return how many facts there is another fact for that matches them."""
    return judged(store, matching_rule(store, relation, match[1][-1][0], match), facts).right
