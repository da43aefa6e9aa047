"""The best answers to queries with joins: equal to trying every assignment, for trees and any other shape."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
import pytest

from relatum import RelationSchema
from relatum.algebra import Expression, Relation
from relatum.joins.answering import JoinAnswers, best_answers, judged
from relatum.joins.conjunction import alternatives_of
from relatum.joins.tree import is_tree
from relatum.joins.truths import BestFacts, conjunction_by
from relatum.time_limit import Deadline
from support.dense_truths import DenseTruths, random_query, whole_truth
from support.mistakes import mistake

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
    likely = best_answers(query, truths, k, word, least=0.2)
    np.testing.assert_allclose([one.value for one in likely.answers], [value for value in best if value >= 0.2], rtol=1e-12)
    again = judged(query, truths, [one.entities for one in found.answers], word)
    np.testing.assert_allclose([one.value for one in again], [one.value for one in found.answers], rtol=1e-12)
    return found


@pytest.mark.parametrize("word", ["product", "minimum"])
@pytest.mark.parametrize("seed", range(4))
def test_answers_values_and_witnesses_equal_brute_force(seed: int, word: str, count: Callable[[int, int], int]) -> None:
    chance = random.Random(seed)
    trees = 0
    for _ in range(count(40, 400)):
        query = random_query(chance, RELATIONS, ENTITIES)
        check(query, random_truths(chance), word, chance.choice([1, 3, 10, 200]))
        trees += all(map(is_tree, alternatives_of(query)))
    assert trees, "some are trees, and some are not"


def test_a_limit_of_time_gives_what_was_found_and_says_so() -> None:
    chance = random.Random(1)
    truths = random_truths(chance)
    pair = RELATIONS[1].join(RELATIONS[2], {1: 0}).project(0)
    found = best_answers(pair, truths, 5, limit=Deadline(1e-9))
    assert found.stopped
    assert not found.proven
    assert all(not one.proven for one in found.answers)


class NeverProven(DenseTruths):
    """Truths whose best facts may always be followed by better ones, as where a look at them was cut off."""

    def best_facts(self, relation: str, given: Sequence[int | None], k: int, limit: Deadline) -> BestFacts:
        return super().best_facts(relation, given, k, limit)._replace(rest=1.0)


def test_a_search_that_proves_nothing_ends_with_its_time() -> None:
    truths = random_truths(random.Random(1))
    either = RELATIONS[4].join(RELATIONS[5], {0: 0, 1: 1}).project(0, 1)
    found = best_answers(either, NeverProven(truths.size, truths.arrays), 5, limit=Deadline(0.2))
    assert found.stopped
    assert not found.proven


def test_what_cannot_hold_has_no_answers_and_too_many_alternatives_are_refused() -> None:
    truths = random_truths(random.Random(2))
    nothing = RELATIONS[1].filter(0, "e1").filter(0, "e2")
    assert best_answers(nothing, truths, 3).answers == ()
    either = RELATIONS[1] | RELATIONS[2]
    many = either
    for _ in range(8):
        many = many.join(either, {1: 0}).project(0, 2)
    with mistake("too-many-alternatives"):
        best_answers(many, truths, 3)
