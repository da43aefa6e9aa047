"""Small runs whose joins can be tried by brute force, and that check."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import relatum
from relatum.algebra import Relation
from relatum.data.hypergraph import Hypergraph
from relatum.data.splitting import hold_out
from relatum.joins.answering import best_answers
from relatum.joins.conjunction import alternatives_of
from relatum.runs.join_truths import RunTruths
from support.dense_truths import DenseTruths, random_query, whole_truth

SIZE = 9
NAMES = [f"e{number}" for number in range(SIZE)]


def small_run(paths: pytest.TempPathFactory, more: Iterable[tuple[str, ...]], seed: int, **settings: Any) -> relatum.Run:
    """Return a small run on given facts and some that rules can tell, with enough held-out ones for probabilities."""
    facts = {*more} | {("gave", NAMES[a], NAMES[(2 * a) % SIZE], NAMES[b]) for a in range(SIZE) for b in range(0, SIZE, 2)}
    listed = sorted(facts)
    random.Random(seed).shuffle(listed)
    split = hold_out(Hypergraph.of(listed), 0.15, 0.1, "random", 0, "small", None)
    return relatum.fit(split, dim=8, epochs=20, progress=False, seed=1, **settings)


def check_joins(run: relatum.Run, word: str, queries: int) -> None:
    """Check the best answers to random queries against all assignments, values looked up fact by fact."""
    chance, truths, arrays = random.Random(word), RunTruths(run), {}
    for schema in run.schema:
        facts = np.array(list(itertools.product(range(SIZE), repeat=schema.arity)), np.int32).T
        values = [truths.values(schema.name, position, facts) for position in range(schema.arity)]
        values.append(truths.fact_values(schema.name, facts))
        arrays[schema.name] = np.stack(values).reshape(schema.arity + 1, *[SIZE] * schema.arity)
    whole, relations = DenseTruths(SIZE, arrays), [Relation(schema) for schema in run.schema]
    for _ in range(queries):
        query = random_query(chance, relations, NAMES, most_variables=3)
        right = whole_truth(whole, alternatives_of(query), word)
        found = best_answers(query, truths, 20, word)
        assert found.proven
        best = sorted(right.values(), reverse=True)[:20]
        np.testing.assert_allclose([one.value for one in found.answers], best, rtol=1e-4)
        for one in found.answers:
            assert one.value == pytest.approx(right[one.entities], rel=1e-4)
