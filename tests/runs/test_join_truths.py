"""What a run gives joins: the probabilities that `complete` gives, known facts as 1; answers are those of brute force."""

from __future__ import annotations

import gc
import itertools
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import relatum
from relatum.data.hypergraph import Hypergraph
from relatum.data.splitting import hold_out
from relatum.runs.join_truths import CAP, FLOOR, RunTruths
from relatum.runs.query_rows import QueryRows
from relatum.time_limit import Deadline
from support.run_truths import NAMES, SIZE, check_joins, small_run


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> relatum.Run:
    near = [(NAMES[a], NAMES[(a + d) % SIZE]) for a in range(SIZE) for d in (1, 2)]
    return small_run(tmp_path_factory, [*(("near", a, b) for a, b in near), *(("with", b, a) for a, b in near)], seed=5)


@pytest.mark.parametrize("word", ["product", "minimum"])
def test_answers_of_a_trained_run_equal_brute_force(small: relatum.Run, word: str, count: Callable[[int, int], int]) -> None:
    check_joins(small, word, count(25, 1000))


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


def test_what_is_remembered_of_a_question_does_not_grow_with_what_was_asked_for() -> None:
    names = [f"e{number}" for number in range(2000)]
    facts = Hypergraph.of([("near", one, names[(number * 7) % 2000]) for number, one in enumerate(names)])
    run = relatum.fit(
        hold_out(facts, 0.05, 0.05, "random", 0, "many", None), dim=2, epochs=1, evidence=False, progress=False
    )
    truths = RunTruths(run)
    questions = np.array([np.arange(400), np.zeros(400)], np.int32)
    truths.best("near", 1, questions[:, :1], 2000)
    tracemalloc.start()
    for number in range(1, 400):
        truths.best("near", 1, questions[:, number : number + 1], 2000)
    gc.collect()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 400 * 1024 + 100_000, "of 400 times 2,000 candidates"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> relatum.Run:
    """Return a small run of another model than ReAlE."""
    beside = [("beside", NAMES[a], NAMES[(a + d) % SIZE]) for a in range(SIZE) for d in (1, 2)]
    return small_run(tmp_path_factory, beside, seed=3, model="m-distmult")


@pytest.mark.parametrize("word", ["product", "minimum"])
def test_answers_equal_brute_force(run: relatum.Run, word: str) -> None:
    check_joins(run, word, 25)


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
    truths, limit = RunTruths(run), Deadline(1e-9)
    found = truths.best_facts("gave", [None, None, None], 1000, limit)
    known = run.stored.table("gave").columns.shape[1]
    assert found.columns.shape[1] == known, "known facts need no model"
    assert found.rest > 0
    assert limit.stopped
