"""Facts are found by any of their places; an entity that no fact has finds nothing, whatever its id."""

from __future__ import annotations

import numpy as np

from relatum import Hypergraph
from relatum.evidence.facts import FactStore
from relatum.evidence.soft_rule import SoftRule

GRAPH = Hypergraph.of([("r", "a", "b", "c"), ("r", "a", "d", "c"), ("r", "e", "b", "c"), ("s", "a", "c")])


def ids(*names: str) -> np.ndarray:
    return np.array([GRAPH.entities.id(name) for name in names], np.int32)


def test_what_stands_at_a_place_is_found_as_often_as_facts_have_it() -> None:
    store, r = FactStore(GRAPH), GRAPH.schema.id("r")
    found = store.lookup(r, 2, [0], [ids("a", "e", "b")])
    assert [found[number].tolist() for number in range(3)] == [[*ids("c", "c")], [*ids("c")], []]
    assert store.lookup(r, 1, [2, 0], [ids("c"), ids("a")])[0].tolist() == sorted(ids("b", "d").tolist())


def test_a_rule_looks_at_what_is_given_alone() -> None:
    store, r, s = FactStore(GRAPH), GRAPH.schema.id("r"), GRAPH.schema.id("s")
    rule = SoftRule(s, 1, r, 2, ((0, 0),))
    strange = np.array([[*ids("a"), 99, -1], [0, 0, 0]], np.int32)
    found = store.found(rule, strange)
    assert [found[number].tolist() for number in range(3)] == [[*ids("c", "c")], [], []]
