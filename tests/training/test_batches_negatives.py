"""What facts are compared with."""

from __future__ import annotations

import numpy as np

from relatum import Hypergraph
from relatum.training.batches import NegativeSampler, epoch_batches, step_rng
from relatum.training.settings import TrainingSettings

FACTS = [("likes", f"a{i}", f"b{i % 3}") for i in range(10)] + [("city", f"c{i}") for i in range(90)]
GRAPH = Hypergraph.of(FACTS)


def pools(near: float, negatives: int) -> dict[str, list[str]]:
    """Return the pool of one step of each relation, by names."""
    candidates = NegativeSampler(GRAPH, TrainingSettings(num_negatives=negatives, in_relation_share=near))
    steps = epoch_batches(GRAPH, 1000, 0, 0, mixed=False)
    return {
        GRAPH.schema[int(step[0].relations[0])].name: [
            GRAPH.entities[int(entity)] for entity in candidates.draw(step, step_rng(0, 0, 0))[0]
        ]
        for step in steps
    }


def test_a_pool_has_the_size_that_was_asked_for() -> None:
    for near in (0.0, 0.3, 1.0):
        assert {len(pool) for pool in pools(near, 40).values()} == {40}


def test_a_share_of_the_pool_is_of_the_relation() -> None:
    drawn = pools(near=0.5, negatives=20)
    assert all(name[0] in "ab" for name in drawn["likes"][:10])
    assert all(name[0] == "c" for name in drawn["city"][:10])
    assert any(name[0] == "c" for name in drawn["likes"])


def test_all_entities_of_a_small_relation_are_taken_and_the_rest_comes_from_anywhere() -> None:
    drawn = pools(near=0.9, negatives=100)["likes"]
    assert sorted(drawn[:13]) == sorted({name for fact in FACTS if fact[0] == "likes" for name in fact[1:]})
    assert sum(name[0] == "c" for name in drawn) > 50


def test_without_a_share_all_entities_are_alike() -> None:
    drawn = pools(near=0.0, negatives=10_000)["likes"]
    counts = np.unique(drawn, return_counts=True)[1]
    assert len(counts) == len(GRAPH.entities)
    assert counts.min() > 50
