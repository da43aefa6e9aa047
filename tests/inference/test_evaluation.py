"""Breakdowns are what counting the questions of each part gives; parts are named and in order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from relatum import Hypergraph
from relatum.data.derivations import ELEMENTARY, OPERATIONS, Derivation
from relatum.inference.evaluation import DERIVATION_KEYS, KEYS, SIZE, breakdown, macro_mrr
from relatum.inference.ranking import Metrics, Ranks
from support.mistakes import mistake
from support.strategies import restrict

SIZES = {"none": 0, "one": 1, "nine": 9, "ten": 10, "nineties": 99, "many": 100, "most": 1000}
TRAINED = [(name, f"e{number}", f"e{number + 1}") for name, size in SIZES.items() for number in range(size)]
GRAPH = Hypergraph.of([*TRAINED, *((name, "a", "b") for name in SIZES), ("wide", "a", "b", "c")])
NAMES = list(GRAPH.schema.names)
ORIGINS = {
    name: Derivation("elementary", 0) if number < 2 else Derivation(("union", "select")[number % 2], 1 + number % 3)
    for number, name in enumerate(NAMES[:-1])
}
STEPS = (1000, "1000+"), (100, "100-999"), (10, "10-99"), (1, "1-9"), (0, "0")


def drawn(seed: int, count: int = 200) -> Ranks:
    """Return ranks of questions about relations in any order."""
    rng = np.random.default_rng(seed)
    relation = rng.integers(0, len(NAMES), count)
    arity = np.array([one.arity for one in GRAPH.schema])[relation]
    better, equal = rng.integers(0, 30, count), rng.integers(0, 3, count)
    return Ranks(better, equal, np.arange(count), relation, arity, rng.integers(0, arity), rng.random(count) < 0.2)


def size_of(relation: int) -> str:
    facts = SIZES.get(NAMES[relation], 0)
    return next(name for least, name in STEPS if facts >= least)


PARTS: dict[str, Callable[[Ranks, int], object]] = {
    "arity": lambda ranks, one: ranks.arity[one],
    "position": lambda ranks, one: ranks.position[one],
    "relation": lambda ranks, one: NAMES[ranks.relation[one]],
    "seen": lambda ranks, one: "unseen" if ranks.unseen[one] else "seen",
    SIZE: lambda ranks, one: size_of(ranks.relation[one]),
    **{
        key: lambda ranks, one, key=key: getattr(ORIGINS.get(NAMES[ranks.relation[one]]), key, None)
        for key in DERIVATION_KEYS
    },
}


@pytest.mark.parametrize("key", PARTS)
def test_each_part_has_the_metrics_of_its_questions(key: str) -> None:
    for seed in range(5):
        ranks = drawn(seed)
        found = breakdown(ranks, key, GRAPH.schema, ORIGINS, restrict(GRAPH, TRAINED))
        labels = np.array([str(PARTS[key](ranks, one)) for one in range(len(ranks))])
        assert found.keys() == set(labels) - {"None"}
        for name, part in found.items():
            assert part == Metrics.of(ranks.where(labels == name))
        assert macro_mrr(found) == pytest.approx(np.mean([part.mrr for part in found.values()]))
    assert breakdown(drawn(0, 0), key, GRAPH.schema, ORIGINS, GRAPH) == {}
    assert macro_mrr({}) == 0


def test_parts_are_in_order() -> None:
    ranks, train = drawn(0), restrict(GRAPH, TRAINED)
    assert set(PARTS) == {*KEYS, SIZE, *DERIVATION_KEYS}
    found = {key: list(breakdown(ranks, key, GRAPH.schema, ORIGINS, train)) for key in PARTS}
    assert found["seen"] == ["unseen", "seen"]
    assert found[SIZE] == ["0", "1-9", "10-99", "100-999", "1000+"]
    assert found["operation"] == [one for one in (ELEMENTARY, *OPERATIONS) if one in ("elementary", "union", "select")]
    assert found["relation"] == NAMES
    assert all(found[key] == sorted(found[key]) for key in ("arity", "position", "depth"))


def test_what_cannot_be_broken_down_is_refused() -> None:
    for key in ("depth", SIZE):
        with mistake("no-such-breakdown", place=f"by {key}"):
            breakdown(drawn(0), key, GRAPH.schema)
    for key in ("relations", "unseen_flag"):
        with mistake("unknown-name"):
            breakdown(drawn(0), key, GRAPH.schema)
