"""Algorithm 4's two steps, on hypergraphs small enough to see through."""

from __future__ import annotations

import numpy as np
import pytest

from relatum.data.hypergraph import Hypergraph
from relatum.synth.sampling import hold_out, sub_sample


def star(facts: int) -> Hypergraph:
    """Return facts that share one entity, each with another of its own."""
    return Hypergraph.of([("likes", "hub", f"leaf{number:04}") for number in range(facts)])


@pytest.mark.parametrize("seed", range(5))
def test_wanted_entities_go_on_to_occur(seed: int) -> None:
    wanted = ["leaf0007", "leaf0123", "leaf0456"]
    kept = sub_sample(star(500), 5, {}, wanted, np.random.default_rng(seed))
    assert len(kept) == 5
    assert set(wanted) <= set(kept.entities)
    assert len(kept.entities) == 6  # and those that vanished have no name any more
    assert set(kept) <= set(star(500))


def test_every_relation_keeps_its_proportion() -> None:
    facts = [
        (name, f"a{number}", f"b{number}") for name, size in (("r", 600), ("s", 300), ("t", 4)) for number in range(size)
    ]
    kept = sub_sample(Hypergraph.of(facts), 302, {}, [], np.random.default_rng(0))
    assert [len(kept.table(name)) for name in "rst"] == pytest.approx([200, 100, 3], abs=2)
    assert len(kept.table("t")) == 3
    assert len(kept) == 302


def test_a_fact_that_alone_holds_an_entity_is_never_held_out() -> None:
    split = hold_out(star(50), [0], 0.2, 0.2, np.random.default_rng(0))
    assert len(split.train) == 50


@pytest.mark.parametrize("seed", range(10))
def test_each_stratum_reaches_test_however_small_it_is(seed: int) -> None:
    rng = np.random.default_rng(seed)
    facts = {("big", f"e{a}", f"e{b}") for a, b in rng.integers(20, size=(300, 2))}
    facts |= {("tiny", f"e{a}", f"e{b}") for a, b in [(0, 1), (1, 2), (2, 3), (3, 4)]}
    split = hold_out(Hypergraph.of(sorted(facts)), [0, 1], 0.1, 0.1, rng)
    assert len(split.test.table("tiny")) == len(split.valid.table("tiny")) == 1
    assert len(split.test.table("big")) == round(0.1 * (len(facts) - 4))
    assert set(split.train) | set(split.valid) | set(split.test) == facts
    assert np.all(split.train.degrees() > 0)
