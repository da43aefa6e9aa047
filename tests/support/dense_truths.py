"""What joins give on few entities, by trying every assignment: how true facts are stands in arrays."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relatum.algebra import Expression, Relation
from relatum.algebra.clauses import Goal, conjunction
from relatum.algebra.rule import Term
from relatum.arrays import Bool, Float64
from relatum.data.vocabulary import Ids
from relatum.joins.conjunction import Conjunction, Negation
from relatum.joins.order import DirectedAtom, steps_of
from relatum.joins.truths import BestFacts, Conjoin, Ranked, conjunction_by
from relatum.time_limit import Deadline


@dataclass(frozen=True)
class DenseTruths:
    """Values of all facts of few entities, e0, e1, ...: of each relation an array for each position, and one of facts.

    Attributes:
        size: how many entities there are.
        arrays: of each relation, [arity + 1, size, ..., size].
    """

    size: int
    arrays: dict[str, Float64]

    def entity(self, name: str) -> int:
        return int(name[1:])

    def best(self, relation: str, position: int, questions: Ids, k: int) -> Ranked:
        k = max(1, k // 64)  # far fewer than wanted would be usual: bounds must do
        found = np.stack(
            [
                self.arrays[relation][
                    (position, *(slice(None) if at == position else one for at, one in enumerate(question)))
                ]
                for question in questions.T.tolist()
            ]
        )
        order = np.argsort(-found, axis=1, kind="stable")
        values = np.take_along_axis(found, order, 1)
        rest = values[:, k] if k < self.size else np.zeros(len(found))
        return Ranked(order[:, :k].astype(np.int32), values[:, :k], rest)

    def values(self, relation: str, position: int, facts: Ids) -> Float64:
        return self.arrays[relation][(position, *facts)]

    def best_facts(self, relation: str, given: Sequence[int | None], k: int, limit: Deadline) -> BestFacts:
        k = max(1, k // 32)
        array = self.arrays[relation][-1]
        ranges = [range(self.size) if one is None else [one] for one in given]
        facts = np.array(list(itertools.product(*ranges)), np.int32).T
        values = array[tuple(facts)]
        order = np.argsort(-values, kind="stable")
        rest = float(values[order[k]]) if k < len(order) else 0.0
        return BestFacts(facts[:, order[:k]], values[order[:k]], rest)

    def fact_values(self, relation: str, facts: Ids) -> Float64:
        return self.arrays[relation][(-1, *facts)]

    def known(self, relation: str, facts: Ids) -> Bool:
        return self.fact_values(relation, facts) == 1


def value_of(truths: DenseTruths, directed: DirectedAtom, row: dict[Term, int]) -> float:
    """Return the value of an atom under an assignment of all its variables."""
    fact = tuple(row[term] if isinstance(term, int) else truths.entity(term) for term in directed.atom.terms)
    return float(truths.arrays[directed.atom.relation][(-1 if directed.position is None else directed.position, *fact)])


def brute_force(
    truths: DenseTruths, one: Conjunction, conjoin: Conjoin, given: dict[Term, int] | None = None
) -> dict[tuple[int, ...], float]:
    """Return the best value for all entities of the head, by trying every assignment."""
    given = given or {}

    def entity(term: Term, row: dict[Term, int]) -> int:
        return row[term] if isinstance(term, int) else truths.entity(term)

    steps = steps_of(one, [name for name in given if isinstance(name, int)])
    names = [name for name in one.variables if name not in given]
    found: dict[tuple[int, ...], float] = {}
    for entities in itertools.product(range(truths.size), repeat=len(names)):
        row = {**given, **dict(zip(names, entities, strict=True))}
        if any(entity(left, row) == entity(right, row) for left, right in one.unequal):
            continue
        if any(entity(left, row) != entity(right, row) for left, right in one.equal):
            continue
        value = 1.0
        for step in steps:
            for directed in step.atoms:
                value = float(conjoin(value, value_of(truths, directed, row)))
            for negation in step.negations:
                value = float(conjoin(value, 1 - negated(truths, negation, conjoin, row)))
        head = tuple(entity(term, row) for term in one.head)
        found[head] = max(found.get(head, 0.0), value)
    return found


def negated(truths: DenseTruths, negation: Negation, conjoin: Conjoin, row: dict[Term, int]) -> float:
    """Return how true that is which is negated."""
    given: dict[Term, int] = {name: row[name] for name in negation.variables}
    values = [max(brute_force(truths, inner, conjoin, given).values(), default=0.0) for inner in negation.alternatives]
    return max(values, default=0.0)


def random_query(
    chance: random.Random, relations: Sequence[Relation], entities: Sequence[str], most_variables: int = 5
) -> Expression:
    """Return a query of 1 to 4 facts and some that are negated, of any shape."""
    names = list(range(chance.randint(1, most_variables)))

    def goal(variables: list[int], constants: float) -> Goal:
        relation = chance.choice(relations)
        terms = tuple(
            chance.choice(entities) if chance.random() < constants else chance.choice(variables)
            for _ in range(relation.arity)
        )
        return relation, terms

    positives = [goal(names, 0.35) for _ in range(chance.randint(1, 4))]
    used = list(dict.fromkeys(term for _, terms in positives for term in terms if isinstance(term, int)))
    if not used:
        return random_query(chance, relations, entities, most_variables)
    head = chance.sample(used, min(len(used), chance.choice([1, 1, 1, 2, 3])))
    negatives = [goal([*used, 9], 0.3) for _ in range(chance.choice([0, 0, 1, 2]))]
    return conjunction(head, positives, negatives)


def whole_truth(truths: DenseTruths, alternatives: tuple[Conjunction, ...], word: str) -> dict[tuple[int, ...], float]:
    found: dict[tuple[int, ...], float] = {}
    for one in alternatives:
        for head, value in brute_force(truths, one, conjunction_by(word)).items():
            found[head] = max(found.get(head, 0.0), value)
    return {head: value for head, value in found.items() if value > 0}
