"""Algorithm 2: counts, distinctness, repeats, skew, narrow positions, and what cannot be."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from relatum.data.hypergraph import Block
from relatum.synth.erdos_renyi import RandomRelation, draw_count, random_blocks
from support.mistakes import mistake


def rows(block: Block) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in block.rows), strict=True))


def repeats_in(block: Block) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.array([len(set(row[1:])) < block.arity for row in rows(block)], np.bool_)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("skew", [0.0, 0.7])
def test_facts_are_distinct_sorted_and_of_their_relations_arity(seed: int, skew: float) -> None:
    kinds = [RandomRelation.expecting(200 if arity > 1 else 20, arity, 60) for arity in (3, 2, 2, 4, 1)]
    blocks = random_blocks(60, kinds, np.random.default_rng(seed), repeats=0.2, skew=skew, narrow=0.5, domain=6)
    assert [block.arity for block in blocks] == [1, 2, 3, 4]
    for block in blocks:
        found = rows(block)
        assert found == sorted(set(found))
        assert {kinds[relation].arity for relation in block.relations.tolist()} == {block.arity}
        assert block.columns.min() >= 0
        assert block.columns.max() < 60


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_exactly_the_stated_share_of_tuples_repeats_an_entity_and_always_at_one_pair_of_positions(share: float) -> None:
    kinds = [RandomRelation.expecting(400, arity, 500) for arity in (2, 3, 5)]
    for block in random_blocks(500, kinds, np.random.default_rng(1), repeats=share, skew=0.5):
        doubled = repeats_in(block)
        assert doubled.sum() == round(len(block) * share)
        pairs = {
            (p, q)
            for row in np.array(rows(block))[doubled][:, 1:]
            for p in range(block.arity)
            for q in range(p)
            if row[p] == row[q]
        }
        assert len(pairs) == (share > 0)


def test_probability_one_makes_every_edge_of_every_relation_and_zero_none() -> None:
    kinds = [RandomRelation(2, 1.0), RandomRelation(2, 1.0), RandomRelation(3, 0.0)]
    two, three = random_blocks(6, kinds, np.random.default_rng(0))
    assert rows(two) == [(label, a, b) for label in range(2) for a in range(6) for b in range(6) if a != b]
    assert len(three) == 0


@pytest.mark.parametrize(("entities", "arity"), [(40, 2), (1_000, 3), (1_000_000, 3), (1_000_000, 6)])
def test_counts_are_binomial_however_many_edges_are_possible(entities: int, arity: int) -> None:
    kind = RandomRelation.expecting(300, arity, entities)
    rng = np.random.default_rng(7)
    drawn = np.array([draw_count(entities, kind, rng) for _ in range(4_000)])
    variance = 300 * (1 - kind.probability)
    assert abs(drawn.mean() - 300) < 5 * np.sqrt(variance / len(drawn))
    assert 0.85 < drawn.var() / variance < 1.15


def test_without_skew_all_entities_are_alike_and_with_it_they_are_not() -> None:
    kind = [RandomRelation.expecting(20_000, 2, 1_000)]
    (even,) = random_blocks(1_000, kind, np.random.default_rng(0))
    (uneven,) = random_blocks(1_000, kind, np.random.default_rng(0), skew=0.7)
    even_degrees, uneven_degrees = (np.bincount(block.columns.ravel(), minlength=1_000) for block in (even, uneven))
    assert even_degrees.max() < 40 + 6 * np.sqrt(40)
    assert uneven_degrees.max() > 10 * even_degrees.max()
    # The most frequent tenth has (1/10)^(1 - skew) of all places, half of them; duplicates take a little away.
    tenth = np.sort(uneven_degrees)[-100:].sum() / uneven_degrees.sum()
    assert 0.40 < tenth < 0.55


def test_a_narrow_position_holds_few_entities() -> None:
    kinds = [RandomRelation.expecting(500, 3, 2_000) for _ in range(10)]
    (block,) = random_blocks(2_000, kinds, np.random.default_rng(3), narrow=1.0, domain=7, repeats=0.1)
    for label in range(10):
        columns = block.columns[:, block.relations == label]
        narrow = [len(np.unique(column)) <= 7 for column in columns]
        assert sum(narrow) == 1


def test_what_cannot_be_made_is_refused() -> None:
    with mistake("impossible-facts"):
        random_blocks(3, [RandomRelation(2, 1.0)], np.random.default_rng(0), repeats=0.9)
    with mistake("impossible-synthetic"):
        random_blocks(1_000_000, [RandomRelation(2, 1.0)], np.random.default_rng(0))


def test_large_hypergraphs_are_made_without_a_loop_over_tuples(count: Callable[[int, int], int]) -> None:
    tuples = count(200_000, 10_000_000)
    kinds = [RandomRelation.expecting(tuples / 20, arity, tuples // 10) for arity in (2, 3) for _ in range(10)]
    start = time.perf_counter()
    blocks = random_blocks(tuples // 10, kinds, np.random.default_rng(0), repeats=0.1, skew=0.5)
    assert time.perf_counter() - start < 60  # seconds; 10 million took 6 on two slow processors
    assert abs(sum(map(len, blocks)) - tuples) < 6 * np.sqrt(tuples)
