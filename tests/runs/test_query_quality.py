"""How the hard answers to queries are ranked: as brute force over all entities has it, with known facts and without."""

from __future__ import annotations

import random

import numpy as np
import pytest

import relatum
from relatum.arrays import Bool, Float64
from relatum.data.hypergraph import Hypergraph
from relatum.data.splitting import hold_out
from relatum.joins.conjunction import alternatives_of
from relatum.querysets import QuerySet, sample_queries
from relatum.runs.join_truths import RunTruths
from relatum.runs.query_quality import evaluate_queries, known_before, rank_query

SIZE = 40


@pytest.fixture(scope="module")
def clubs(tmp_path_factory: pytest.TempPathFactory) -> relatum.Run:
    """Return a small run about who is in which club, of which a fifth is held out for test."""
    rng = random.Random(2)
    names = [f"e{number:02}" for number in range(SIZE)]
    facts = {(word, rng.choice(names), rng.choice(names[:8])) for word in ("in", "likes") for _ in range(150)}
    split = hold_out(Hypergraph.of(sorted(facts)), 0.15, 0.2, "random", 0, "clubs", None)
    return relatum.fit(split, dim=8, epochs=10, progress=False, seed=1)


@pytest.fixture(scope="module")
def queries(clubs: relatum.Run) -> QuerySet:
    return sample_queries(clubs.split, count=12, seed=0, shapes=["2i", "2d"])


def worth(truths: RunTruths, expression: relatum.algebra.Expression) -> tuple[Float64, Bool]:
    """Return the values of all entities as answers to an intersection, and which rest on a known fact."""
    (one,) = alternatives_of(expression)
    values, rests = np.ones(SIZE), np.zeros(SIZE, np.bool_)
    for atom in one.atoms:
        position = next(at for at, term in enumerate(atom.terms) if isinstance(term, int))
        facts = np.array([[truths.entity(t) if isinstance(t, str) else 0] * SIZE for t in atom.terms], np.int32)
        facts[position] = np.arange(SIZE)
        values *= truths.values(atom.relation, position, facts)
        rests |= truths.known(atom.relation, facts)
    return values, rests


def test_ranks_equal_brute_force_with_known_facts_and_without(clubs: relatum.Run, queries: QuerySet) -> None:
    truths = RunTruths(clubs, known_before(clubs, queries), floor=0.0)
    compared = 0
    for query in queries.of_shape("2i"):
        values, rests = worth(truths, query.expression)
        right = {truths.entity(one[0]) for one in (*query.easy, *query.hard)}
        wrong = np.array([entity not in right for entity in range(SIZE)])
        for alone in (False, True):
            counted = np.where(rests, 0.0, values) if alone else values
            ranked = rank_query(truths, query, predicted_alone=alone)
            for (name,), rank in zip(sorted(query.full_hard), ranked.full_hard, strict=True):
                own = counted[truths.entity(name)]
                above, equal = (wrong & (counted > own)).sum(), (wrong & (counted == own)).sum()
                assert own > 0
                assert rank == pytest.approx(1 + above + equal / 2)
                compared += 1
    assert compared > 10


def test_known_non_answers_stay_so_and_full_hard_answers_rank_better_by_predicted_facts_alone(
    clubs: relatum.Run, queries: QuerySet
) -> None:
    truths = RunTruths(clubs, known_before(clubs, queries), floor=0.0)
    for query in queries.of_shape("2d"):
        with_known, alone = (rank_query(truths, query, predicted_alone=way) for way in (False, True))
        assert all(mine <= other for mine, other in zip(alone.full_hard, with_known.full_hard, strict=True))
    usual, alone = (evaluate_queries(clubs, queries, predicted_alone=way)[0] for way in (False, True))
    assert usual.full_hard_mrr is not None
    assert alone.full_hard_mrr is not None
    assert alone.full_hard_mrr > usual.full_hard_mrr
    assert usual.mrr > alone.mrr
