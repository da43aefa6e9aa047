"""What a run gives joins: the probabilities that `complete` gives, known facts as 1; and answers as brute force has them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import relatum
from relatum.algebra import Relation
from relatum.data.hypergraph import Hypergraph
from relatum.data.splitting import hold_out
from relatum.joins.answering import best_answers
from relatum.joins.conjunction import alternatives_of
from relatum.runs.join_truths import CAP, FLOOR, RunTruths
from support.dense_truths import DenseTruths, random_query, whole_truth

SIZE = 9
NAMES = [f"e{number}" for number in range(SIZE)]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> relatum.Run:
    """Return a small run with rules that can be learned, and enough held-out facts for probabilities."""
    rng = random.Random(5)
    facts = {("near", NAMES[a], NAMES[(a + d) % SIZE]) for a in range(SIZE) for d in (1, 2)}
    facts |= {("with", NAMES[b], NAMES[a]) for _, a, b in ((f[0], NAMES.index(f[1]), NAMES.index(f[2])) for f in facts)}
    facts |= {("gave", NAMES[a], NAMES[(2 * a) % SIZE], NAMES[b]) for a in range(SIZE) for b in range(0, SIZE, 2)}
    listed = sorted(facts)
    rng.shuffle(listed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RELATUM_CACHE", str(tmp_path_factory.mktemp("cache")))
        split = hold_out(Hypergraph.of(listed), 0.15, 0.1, "random", 0, "small", None)
        return relatum.fit(split, dim=8, epochs=20, progress=False, seed=1)


def dense(truths: RunTruths, run: relatum.Run) -> DenseTruths:
    """Return all values as arrays, each looked up fact by fact."""
    arrays = {}
    for schema in run.schema:
        facts = np.array(list(itertools.product(range(SIZE), repeat=schema.arity)), np.int32).T
        values = [truths.values(schema.name, position, facts) for position in range(schema.arity)]
        values.append(truths.fact_values(schema.name, facts))
        arrays[schema.name] = np.stack(values).reshape(schema.arity + 1, *[SIZE] * schema.arity)
    return DenseTruths(SIZE, arrays)


@pytest.mark.parametrize("word", ["product", "minimum"])
def test_answers_of_a_trained_run_equal_brute_force(small: relatum.Run, word: str, count: Callable[[int, int], int]) -> None:
    chance, truths = random.Random(word), RunTruths(small)
    whole = dense(truths, small)
    relations = [Relation(schema) for schema in small.schema]
    for _ in range(count(25, 1000)):
        query = random_query(chance, relations, NAMES, most_variables=3)
        right = whole_truth(whole, alternatives_of(query), word)
        found = best_answers(query, truths, 20, word)
        assert found.proven
        best = sorted(right.values(), reverse=True)[:20]
        np.testing.assert_allclose([one.value for one in found.answers], best, rtol=1e-4)
        for one in found.answers:
            assert one.value == pytest.approx(right[one.entities], rel=1e-4)


def test_values_are_the_probabilities_that_complete_gives(gappy_run: Path) -> None:
    run = relatum.open(gappy_run)
    looked_at = 0
    for customer in range(1, 20):
        rows = {row.entities: row for row in run.joined(f"(ratings)({customer}, ?)", k=100)}
        for answer in run.complete("ratings", str(customer), "?", k=60):
            if answer.known:
                assert rows[answer.entities].probability == 1
                assert rows[answer.entities].known
            elif answer.probability is not None and answer.probability < 0.999 * FLOOR:
                assert answer.entities not in rows
            elif answer.probability is not None and 1.001 * FLOOR <= answer.probability <= CAP:
                assert rows[answer.entities].probability == pytest.approx(answer.probability, rel=1e-4)
                assert not rows[answer.entities].known
                looked_at += 1
    assert looked_at > 20


def test_facts_that_are_held_out_are_not_known(small: relatum.Run) -> None:
    truths = RunTruths(small, small.split.train)
    for name, *entities in small.split.test:
        fact = np.array([[small.entities.id(one)] for one in entities], np.int32)
        assert not truths.known(name, fact)[0]
        assert truths.values(name, 0, fact)[0] <= CAP


def test_without_known_facts_only_what_is_predicted_counts(small: relatum.Run) -> None:
    truths = RunTruths(small)
    alone = truths.without_known()
    for schema in small.schema:
        facts = np.array(list(itertools.product(range(SIZE), repeat=schema.arity)), np.int32).T
        known = truths.known(schema.name, facts)
        assert (alone.known(schema.name, facts) == known).all()
        for position in range(schema.arity):
            whole = truths.values(schema.name, position, facts)
            np.testing.assert_array_equal(alone.values(schema.name, position, facts), np.where(known, 0.0, whole))
            ranked = alone.best(schema.name, position, facts[:, :1], SIZE)
            listed = np.repeat(facts[:, :1], ranked.entities.shape[1], axis=1)
            listed[position] = ranked.entities[0]
            there = ranked.entities[0] >= 0
            assert not truths.known(schema.name, listed[:, there]).any()
        np.testing.assert_array_equal(
            alone.fact_values(schema.name, facts), np.where(known, 0.0, truths.fact_values(schema.name, facts))
        )
