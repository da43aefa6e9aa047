"""Soft rules of the training facts: which positions of which relations hold the same entities more than by accident.

It begins from pairs: for two positions of a relation, the pairs of positions anywhere whose facts hold the same entities.
Pairs that agree are put together, so that a rule reads as many given entities as the facts bear out. Then each is asked how
often it names the answer of training facts, the fact itself left out.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator

import numpy as np

from relatum.arrays import Int64
from relatum.data.answer_index import AnswerLists
from relatum.data.hypergraph import Hypergraph
from relatum.data.sorting import spread
from relatum.data.vocabulary import Ids
from relatum.evidence.facts import FactStore
from relatum.evidence.soft_rule import SoftRule
from relatum.kernels.evidence import count_right

__all__ = ["mine"]

Match = tuple[int, tuple[tuple[int, int], ...]]  # a relation, and pairs of a position and the one there that agrees with it
Pair = tuple[int, int, int, int, int, int]  # relation, two of its positions, another one, two of its positions

_SAMPLED = 20_000  # facts of a relation whose pairs are looked for
_JUDGED = 1_000  # facts of a relation that a rule is judged by
_SUPPORT = 3  # facts, at least
_MATCHES = 500  # of one relation, at most
_RULES = 60  # for one position, at most
_LEAST = 0.002  # confidence: what names hundreds for one that is right says nothing


def mine(facts: Hypergraph, seed: int = 0, advance: Callable[[int], None] = lambda _: None) -> list[SoftRule]:
    """Return the soft rules of facts, by relation and open position, the most confident first; the same for the same seed.

    `advance` is called with how many relations are done since the last call.
    """
    store, rng = FactStore(facts), np.random.default_rng(seed)
    samples = [_drawn(columns, _SAMPLED, rng) for columns in store.columns]
    pairs = _supported_pairs(store, samples)
    found: list[SoftRule] = []
    matched: dict[int, list[Match]] = defaultdict(list)
    for relation, first, second, body, read, other in sorted(pairs):
        matched[relation].append((body, ((first, read), (second, other))))
    for relation, sample in enumerate(samples):
        judged = _drawn(sample, _JUDGED, rng)
        matches = list(_grown(store, relation, judged, matched[relation], pairs))
        for position in range(len(judged)):
            rules = (_rule(store, relation, position, match, judged) for match in matches)
            good = [rule for rule in rules if rule is not None and rule.right > 1 and rule.confidence >= _LEAST]
            found += sorted(good, key=lambda rule: -rule.confidence)[:_RULES]
        advance(1)
    return found


def _drawn(columns: Ids, most: int, rng: np.random.Generator) -> Ids:
    size = columns.shape[1]
    drawn: Ids = columns if size <= most else columns[:, np.sort(rng.choice(size, most, replace=False))]
    return drawn


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
            for number in np.flatnonzero(by_group >= _SUPPORT).tolist():
                support = by_group[number]
                if groups[number] == (body, first, second):  # a fact is no support for itself
                    repeated = index[times > 1]
                    support = np.count_nonzero(group[spread(starts[repeated], counts[repeated])] == number)
                if support >= _SUPPORT:
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
            if agree and _support(store, relation, sample, body, wider) >= _SUPPORT:
                found.append((body, wider))
    return found


def _support(store: FactStore, relation: int, sample: Ids, body: int, match: tuple[tuple[int, int], ...]) -> int:
    """Return how many sampled facts there is another fact for that matches them."""
    *given, (position, read) = match
    rule = SoftRule(relation, position, body, read, tuple(given))
    right, _ = count_right(store.found(rule, sample), sample[position], _nothing(sample.shape[1]), itself=rule.reads_itself)
    return int(right.sum())


def _rule(store: FactStore, relation: int, position: int, match: Match, sample: Ids) -> SoftRule | None:
    """Return the rule that answers a position by a match, judged by some facts; None if the match has not the position."""
    body, agreeing = match[0], dict(match[1])
    if position not in agreeing:
        return None
    answer = agreeing.pop(position)
    rule = SoftRule(relation, position, body, answer, tuple(agreeing.items()))
    others = [one for one in range(len(sample)) if one != position]
    known = store.lookup(relation, position, others, [sample[one] for one in others])
    right, named = count_right(store.found(rule, sample), sample[position], known, itself=rule.reads_itself)
    return SoftRule(relation, position, body, answer, rule.given, tuple(right.tolist()), tuple(named.tolist()))


def _nothing(size: int) -> AnswerLists:
    none = np.zeros(size, np.int64)
    return AnswerLists(np.empty(0, np.int32), none, none)
