"""Matches are positions that hold the same entities in enough facts; a fact does not match itself."""

from __future__ import annotations

import numpy as np

from relatum import Hypergraph
from relatum.evidence.facts import FactStore
from relatum.evidence.mining import Matches, condition, matching_rule
from relatum.evidence.soft_rule import ANY, Atom

ROWS = np.unique(np.random.default_rng(0).integers(0, 30, (120, 3)), axis=0).tolist()
GRAPH = Hypergraph.of(
    [("r", f"a{a}", f"b{b}", f"c{c}") for a, b, c in ROWS] + [("s", f"c{c}", f"a{a}", f"b{b}") for a, b, c in ROWS[::2]]
)
R, S = GRAPH.schema.id("r"), GRAPH.schema.id("s")


def test_pairs_that_agree_are_put_together() -> None:
    store = FactStore(GRAPH)
    matches = Matches(store, store.columns).of(S, store.columns[S])
    assert (R, ((0, 2), (1, 0))) in matches
    assert (R, ((0, 2), (1, 0), (2, 1))) in matches
    assert not any(body == S and len(agreeing) == 3 for body, agreeing in matches)


def test_a_match_makes_a_rule_for_each_of_its_positions() -> None:
    store = FactStore(GRAPH)
    match = (R, ((0, 2), (1, 0)))
    assert condition(store, match) == Atom(R, (1, ANY, 0))
    assert matching_rule(store, S, 1, match).text(GRAPH.schema, GRAPH.entities) == "s(A, B, C) <- r(B, _, A)"
