"""Joins without any value by models for which there are no bounds: all facts are tried, and what time leaves out is said."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import relatum
from relatum.algebra import Relation
from relatum.data.hypergraph import Hypergraph
from relatum.data.splitting import hold_out
from relatum.joins.answering import best_answers
from relatum.joins.conjunction import alternatives_of
from relatum.runs.join_truths import RunTruths
from relatum.runs.query_rows import QueryRows
from relatum.time_limit import Limit
from support.dense_truths import DenseTruths, random_query, whole_truth

SIZE = 9
NAMES = [f"e{number}" for number in range(SIZE)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> relatum.Run:
    """Return a small run of another model than ReAlE."""
    rng = random.Random(3)
    facts = {("beside", NAMES[a], NAMES[(a + d) % SIZE]) for a in range(SIZE) for d in (1, 2)}
    facts |= {("gave", NAMES[a], NAMES[(2 * a) % SIZE], NAMES[b]) for a in range(SIZE) for b in range(0, SIZE, 2)}
    listed = sorted(facts)
    rng.shuffle(listed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RELATUM_CACHE", str(tmp_path_factory.mktemp("cache")))
        split = hold_out(Hypergraph.of(listed), 0.15, 0.1, "random", 0, "small", None)
        return relatum.fit(split, model="m-distmult", dim=8, epochs=20, progress=False, seed=1)


@pytest.mark.parametrize("word", ["product", "minimum"])
def test_answers_equal_brute_force(run: relatum.Run, word: str) -> None:
    chance, truths = random.Random(word), RunTruths(run)
    arrays = {}
    for schema in run.schema:
        facts = np.array(list(itertools.product(range(SIZE), repeat=schema.arity)), np.int32).T
        values = [truths.values(schema.name, position, facts) for position in range(schema.arity)]
        values.append(truths.fact_values(schema.name, facts))
        arrays[schema.name] = np.stack(values).reshape(schema.arity + 1, *[SIZE] * schema.arity)
    whole = DenseTruths(SIZE, arrays)
    for _ in range(25):
        query = random_query(chance, [Relation(schema) for schema in run.schema], NAMES, most_variables=3)
        right = whole_truth(whole, alternatives_of(query), word)
        found = best_answers(query, truths, 20, word)
        assert found.proven
        best = sorted(right.values(), reverse=True)[:20]
        np.testing.assert_allclose([one.value for one in found.answers], best, rtol=1e-4)


def test_a_join_without_any_value_is_answered(run: relatum.Run) -> None:
    found = run.sql(
        "SELECT b.position_0, g.position_2 FROM beside b JOIN gave g ON g.position_0 = b.position_1 WHERE NOT known LIMIT 9",
        seconds=None,
    )
    assert isinstance(found, QueryRows)
    assert len(found) == 9
    assert found.proven
    assert all(not row.known for row in found)


def test_what_is_not_tried_in_time_is_not_proven(run: relatum.Run) -> None:
    truths, limit = RunTruths(run), Limit(1e-9)
    found = truths.best_facts("gave", [None, None, None], 1000, limit)
    known = run.stored.table("gave").columns.shape[1]
    assert found.columns.shape[1] == known, "known facts need no model"
    assert found.rest > 0
    assert limit.stopped
