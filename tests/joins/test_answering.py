"""The best answers to queries with joins: equal to trying every assignment, for trees and any other shape."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import reduce

import numpy as np
import pytest

from relatum import RelationSchema
from relatum.algebra import Expression, Relation
from relatum.algebra.clauses import Goal, conjunction
from relatum.joins.answering import JoinAnswers, best_answers, judged
from relatum.joins.conjunction import Conjunction, alternatives_of
from relatum.joins.tree import is_tree
from relatum.joins.truths import conjunction_by
from support.dense_truths import DenseTruths, brute_force

SIZE = 5
RELATIONS = [Relation(RelationSchema(f"r{number}", arity)) for number, arity in enumerate([1, 2, 2, 2, 3, 3])]
ENTITIES = [f"e{number}" for number in range(SIZE)]


def random_truths(chance: random.Random) -> DenseTruths:
    draw = np.random.default_rng(chance.randrange(2**32))
    arrays = {}
    for relation in RELATIONS:
        shape = (SIZE,) * relation.arity
        known = draw.random(shape) < chance.choice([0.0, 0.1, 0.3])
        values = 0.99 * draw.random((relation.arity + 1, *shape)) ** chance.choice([1, 3])
        values[draw.random(values.shape) < 0.2] = 0.0
        arrays[relation.name] = np.where(known, 1.0, values)
    return DenseTruths(SIZE, arrays)


def random_query(chance: random.Random) -> Expression:
    """Return a query of 1 to 4 facts and some that are negated, of any shape, with at most 5 variables."""
    names = list(range(chance.randint(1, 5)))

    def goal(variables: list[int], constants: float) -> Goal:
        relation = chance.choice(RELATIONS)
        terms = tuple(
            chance.choice(ENTITIES) if chance.random() < constants else chance.choice(variables)
            for _ in range(relation.arity)
        )
        return relation, terms

    positives = [goal(names, 0.35) for _ in range(chance.randint(1, 4))]
    used = list(dict.fromkeys(term for _, terms in positives for term in terms if isinstance(term, int)))
    if not used:
        return random_query(chance)
    head = chance.sample(used, min(len(used), chance.choice([1, 1, 1, 2, 3])))
    negatives = [goal([*used, 9], 0.3) for _ in range(chance.choice([0, 0, 1, 2]))]
    return conjunction(head, positives, negatives)


def whole_truth(truths: DenseTruths, alternatives: tuple[Conjunction, ...], word: str) -> dict[tuple[int, ...], float]:
    found: dict[tuple[int, ...], float] = {}
    for one in alternatives:
        for head, value in brute_force(truths, one, conjunction_by(word)).items():
            found[head] = max(found.get(head, 0.0), value)
    return {head: value for head, value in found.items() if value > 0}


def check(query: Expression, truths: DenseTruths, word: str, k: int) -> JoinAnswers:
    """Check the k best answers to a query against all assignments."""
    right = whole_truth(truths, alternatives_of(query), word)
    found = best_answers(query, truths, k, word)
    assert found.proven
    assert not found.stopped
    assert len(found.answers) == min(k, len(right))
    assert len({one.entities for one in found.answers}) == len(found.answers)
    best = sorted(right.values(), reverse=True)[:k]
    np.testing.assert_allclose([one.value for one in found.answers], best, rtol=1e-12)
    for one in found.answers:
        assert one.value == pytest.approx(right[one.entities], rel=1e-12)
        facts = [fact.value for fact in one.witness if not fact.negated]
        if not any(fact.negated for fact in one.witness):
            assert reduce(conjunction_by(word), facts, 1.0) == pytest.approx(one.value, rel=1e-12)
    again = judged(query, truths, [one.entities for one in found.answers], word)
    np.testing.assert_allclose([one.value for one in again], [one.value for one in found.answers], rtol=1e-12)
    return found


@pytest.mark.parametrize("word", ["product", "minimum"])
@pytest.mark.parametrize("seed", range(4))
def test_answers_values_and_witnesses_equal_brute_force(seed: int, word: str, count: Callable[[int, int], int]) -> None:
    chance = random.Random(seed)
    trees = 0
    for _ in range(count(40, 400)):
        query = random_query(chance)
        check(query, random_truths(chance), word, chance.choice([1, 3, 10, 200]))
        trees += all(map(is_tree, alternatives_of(query)))
    assert trees, "some are trees, and some are not"
