"""Soft rules of the training facts: templates propose rules, which are judged by how often they name the right answer.

- Matches: which positions of which relations hold the same entities more than by accident. They begin from pairs: for two
  positions of a relation, the pairs of positions anywhere whose facts hold the same entities. Pairs that agree are put
  together, so that a rule reads as many given entities as the facts bear out: renamings, projections, converses, and
  entities that occur together.
- Paths: two facts, joined by one entity, that lead from a given entity of a question to its answer.
- Values: rules whose answer is a constant, or the entity at another position, where some fact bears out a condition.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from relatum.arrays import Int64
from relatum.data.hypergraph import Hypergraph
from relatum.data.sorting import spread
from relatum.data.vocabulary import Ids
from relatum.evidence.facts import SUPPORT, FactStore, good, judged
from relatum.evidence.soft_rule import ANY, JOINED, Atom, SoftRule, constant

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
        front, found = self._first[relation], list[Match]()
        while front and len(found) < _MATCHES:
            tried = front[: _MATCHES - len(found)]
            found += tried
            front = [wider for match in tried for wider in self._extended(relation, facts, *match)]
        return found

    def _extended(self, relation: int, sample: Ids, body: int, match: tuple[tuple[int, int], ...]) -> Iterator[Match]:
        """Yield a match with one more pair of positions, where enough facts bear out what pairs make together."""
        for position in range(match[-1][0] + 1, len(sample)):
            for read in set(range(len(self._store.columns[body]))).difference(one for _, one in match):
                wider = (*match, (position, read))
                if body == relation and len(wider) == len(sample) and all(a == b for a, b in wider):
                    continue  # the fact itself
                agree = all((relation, one, position, body, other, read) in self._pairs for one, other in match)
                if agree and self._support(relation, sample, (body, wider)) >= SUPPORT:
                    yield body, wider

    def _support(self, relation: int, facts: Ids, match: Match) -> int:
        """Return how many facts there is another fact for that matches them."""
        return judged(self._store, matching_rule(self._store, relation, match[1][-1][0], match), facts).right


def matching_rule(store: FactStore, relation: int, position: int, match: Match) -> SoftRule:
    """Return the rule that answers a position by a match that has it."""
    return SoftRule(relation, position, (condition(store, match),), position)


def condition(store: FactStore, match: Match) -> Atom:
    """Return the atom that facts of a match are like."""
    return _atom(store, match[0], {read: one for one, read in match[1]})


def _atom(store: FactStore, relation: int, terms: Mapping[int, int]) -> Atom:
    """Return the atom of a relation that has terms at some positions, and any entity elsewhere."""
    return Atom(relation, tuple(terms.get(position, ANY) for position in range(len(store.columns[relation]))))


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


_STARTS = 200  # of a relation, whose paths are looked for
_FOLLOWED = 5  # facts of one relation, with an entity at one position, that are followed from it
_TRODDEN = 5  # facts that have such a path, at least
_MEETINGS = 1 << 22  # of steps that meet, of one relation and two of its positions: memory is bounded
_PATHS = 10  # of a position, at most
_OF_PATHS = 300  # facts that a path is judged by
_SURE_PATH = 0.01  # confidence


class Paths:
    """The steps from the entities of some facts to others that occur in a fact with them."""

    def __init__(self, store: FactStore, samples: list[Ids], rng: np.random.Generator) -> None:
        self._store, self._samples = store, samples
        self._facts = [sample[:, rng.permutation(sample.shape[1])[:_STARTS]] for sample in samples]
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
            kept = np.arange(len(head)) - np.searchsorted(head, head) < _FOLLOWED
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
        facts = self._facts[relation]
        others = (one for one in range(len(facts)) if one != position)
        proposed = [(given, *path) for given in others for path in self._joined(facts, given, position)]
        proposed.sort(key=lambda one: -one[1])
        rules = (self._rule(relation, position, given, *steps) for given, _, *steps in proposed[:_PATHS])
        return good(self._store, rules, self._samples[relation][:, :_OF_PATHS], _SURE_PATH)

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
        counts = np.where(np.cumsum(ends - starts) <= _MEETINGS, ends - starts, 0)
        one, other = np.repeat(np.arange(len(left)), counts), spread(starts, counts)
        joins = first[one] * len(self._steps) + second[other]
        both = np.unique(joins * (len(facts[0]) + 1) + left[one] // size)  # a fact counts once
        paths, support = np.unique(both // (len(facts[0]) + 1), return_counts=True)
        enough = support >= _TRODDEN
        pairs = (divmod(path, len(self._steps)) for path in paths[enough].tolist())
        return [(count, *pair) for count, pair in zip(support[enough].tolist(), pairs, strict=True)]

    def _rule(self, relation: int, position: int, given: int, first: int, second: int) -> SoftRule:
        ends = (self._steps[first], given), (self._steps[second], position)
        body = tuple(_atom(self._store, step[0], {step[1]: end, step[2]: JOINED}) for step, end in ends)
        return SoftRule(relation, position, body, position)


_RIGHT = 5  # times, at least
_LIFT = 2.0  # times as likely, or as unlikely to be wrong, must a value be on a condition as it is without
_SURE_VALUE = 0.05  # confidence
_VALUES = 20  # of a position, at most
_FREQUENT = 20  # entities of a position, at most


# A rule, how often it is right and names, and the share that it is right in all.
Proposal = tuple[SoftRule, float, int, float]


class Values:
    """What entities of facts are known for beside these facts: the relations and positions that they occur at."""

    def __init__(self, store: FactStore, samples: list[Ids]) -> None:
        self._store, self._samples = store, samples
        size = len(store.graph.entities)
        wanted = np.zeros(size, np.bool_)
        for sample in samples:
            wanted[sample] = True
        self._slots = [(relation, one) for relation, columns in enumerate(store.columns) for one in range(len(columns))]
        parts = []
        for relation, one in self._slots:
            entities = np.unique(store.columns[relation][one])
            parts.append(entities[wanted[entities]])
        entities = np.concatenate([*parts, np.empty(0, np.int32)])
        order = np.argsort(entities, kind="stable")
        self._of = np.repeat(np.arange(len(parts)), [len(part) for part in parts])[order]
        self._counts = np.bincount(entities, minlength=size)
        self._starts = np.cumsum(self._counts) - self._counts

    def rules(self, relation: int, position: int, matches: list[Match]) -> list[SoftRule]:
        """Return rules with a condition on one given entity, or on several by matches that leave the position open."""
        proposed = [*self._by_slots(relation, position), *self._by_matches(relation, position, matches)]
        found = []
        for rule, right, named, share in proposed:
            confidence = right / (named + 3)
            surer = confidence >= _LIFT * share or 1 - confidence <= (1 - share) / _LIFT
            if right >= _RIGHT and confidence >= _SURE_VALUE and surer:
                found.append((right * (confidence - share), rule))
        found.sort(key=lambda one: -one[0])
        return good(self._store, (rule for _, rule in found[:_VALUES]), self._samples[relation], _SURE_VALUE)

    def _by_slots(self, relation: int, position: int) -> Iterator[Proposal]:
        """Yield values by what a given entity is known for."""
        facts = self._samples[relation]
        answers, slots = facts[position], len(self._slots)
        shares = np.bincount(answers) / max(1, len(answers))
        for given in (one for one in range(len(facts)) if one != position):
            counts = self._counts[facts[given]]
            rows, known = np.repeat(np.arange(len(answers)), counts), self._of[spread(self._starts[facts[given]], counts)]
            named = np.bincount(known, minlength=slots).tolist()
            pairs, rights = np.unique(known * len(shares) + answers[rows], return_counts=True)
            often = rights >= _RIGHT
            for pair, right in zip(pairs[often].tolist(), rights[often].tolist(), strict=True):
                slot, answer = divmod(pair, len(shares))
                if self._slots[slot] != (relation, given):
                    yield self._occurs(relation, position, slot, given, constant(answer)), right, named[slot], shares[answer]
            same = answers == facts[given]
            equal = np.bincount(known, same[rows], minlength=slots).tolist()
            for slot in (slot for slot, count in enumerate(equal) if count):
                yield self._occurs(relation, position, slot, given, given), equal[slot], named[slot], float(same.mean())

    def _by_matches(self, relation: int, position: int, matches: list[Match]) -> Iterator[Proposal]:
        """Yield values by several given entities that another relation holds too."""
        facts = self._samples[relation]
        answers = facts[position]
        for match in (one for one in matches if one[0] != relation):
            atom = condition(self._store, match)
            there = self._store.borne_out(atom, facts)
            named = int(there.sum())
            values, rights = np.unique(answers[there], return_counts=True)
            for value, right in zip(values.tolist(), rights.tolist(), strict=True):
                yield SoftRule(relation, position, (atom,), constant(value)), right, named, float((answers == value).mean())
            for given, _ in match[1]:
                same = answers == facts[given]
                yield SoftRule(relation, position, (atom,), given), float(same[there].sum()), named, float(same.mean())

    def frequent(self, relation: int, position: int) -> list[SoftRule]:
        """Return rules that name the most frequent entities of a position, whatever is given."""
        facts = self._samples[relation]
        entities, counts = np.unique(facts[position], return_counts=True)
        best = entities[np.argsort(-counts, kind="stable")][:_FREQUENT][np.sort(counts)[::-1][:_FREQUENT] > 1]
        atoms = [_atom(self._store, relation, {position: constant(one)}) for one in best.tolist()]
        return good(self._store, [SoftRule(relation, position, (each,), each.terms[position]) for each in atoms], facts)

    def _occurs(self, relation: int, position: int, slot: int, given: int, answer: int) -> SoftRule:
        """Return the rule that where a given entity occurs at a slot, an answer is likely."""
        body, there = self._slots[slot]
        return SoftRule(relation, position, (_atom(self._store, body, {there: given}),), answer)


_SAMPLED = 20_000  # facts of a relation whose pairs are looked for
_JUDGED = 1_000  # facts of a relation that a rule is judged by
_READ = 60  # of matches, for one position, at most


def mine(facts: Hypergraph, seed: int = 0, advance: Callable[[int], None] = lambda _: None) -> list[SoftRule]:
    """Return the soft rules of facts, by relation and open position, the most confident first; the same for the same seed.

    `advance` is called with how many relations are done since the last call.
    """
    store, rng = FactStore(facts), np.random.default_rng(seed)
    samples = [_drawn(columns, _SAMPLED, rng) for columns in store.columns]
    matches = Matches(store, samples)
    samples = [_drawn(sample, _JUDGED, rng) for sample in samples]
    values, paths = Values(store, samples), Paths(store, samples, rng)
    found: list[SoftRule] = []
    for relation, sample in enumerate(samples):
        matched = matches.of(relation, sample)
        for position in range(len(sample)):
            able = [match for match in matched if any(one == position for one, _ in match[1])]
            read = good(store, (matching_rule(store, relation, position, match) for match in able), sample)
            rules = sorted(read, key=_doubt)[:_READ] + paths.rules(relation, position)
            rules += values.rules(relation, position, [match for match in matched if match not in able])
            found += sorted(rules + values.frequent(relation, position), key=_doubt)
        advance(1)
    return found


def _doubt(rule: SoftRule) -> float:
    return -rule.confidence


def _drawn(columns: Ids, most: int, rng: np.random.Generator) -> Ids:
    size = columns.shape[1]
    return columns if size <= most else columns[:, np.sort(rng.choice(size, most, replace=False))]
