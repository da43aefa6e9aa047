"""Values: rules whose answer is a constant, or the entity at another position, where some fact bears out a condition."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from relatum.data.sorting import spread
from relatum.data.vocabulary import Ids
from relatum.evidence.facts import FactStore, good
from relatum.evidence.matches import Match, condition
from relatum.evidence.soft_rule import ANY, Atom, SoftRule, constant

_RIGHT = 5  # times, at least
_LIFT = 2.0  # times as likely, or as unlikely to be wrong, must a value be on a condition as it is without
_LEAST = 0.05  # confidence
_RULES = 20  # of a position, at most
_FREQUENT = 20  # entities of a position, at most


Proposal = tuple[
    SoftRule, float, int, float
]  # a rule, how often it is right and names, and the share that it is right in all


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
            if right >= _RIGHT and confidence >= _LEAST and surer:
                found.append((right * (confidence - share), rule))
        found.sort(key=lambda one: -one[0])
        return good(self._store, (rule for _, rule in found[:_RULES]), self._samples[relation], _LEAST)

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
        terms = [(*(ANY,) * position, constant(one), *(ANY,) * (len(facts) - position - 1)) for one in best.tolist()]
        rules = [SoftRule(relation, position, (Atom(relation, each),), each[position]) for each in terms]
        return good(self._store, rules, facts)

    def _occurs(self, relation: int, position: int, slot: int, given: int, answer: int) -> SoftRule:
        """Return the rule that where a given entity occurs at a slot, an answer is likely."""
        body, there = self._slots[slot]
        terms = [ANY] * len(self._store.columns[body])
        terms[there] = given
        return SoftRule(relation, position, (Atom(body, tuple(terms)),), answer)
