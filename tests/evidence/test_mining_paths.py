"""Paths through one entity are found, whichever way round their facts are, and never through the fact itself."""

from __future__ import annotations

import numpy as np

from relatum import Hypergraph
from relatum.evidence.facts import FactStore
from relatum.evidence.mining import Paths

ROWS = [(n, n % 17, (3 * (n % 17) + 5) % 7) for n in range(80)]
GRAPH = Hypergraph.of(
    [("born", f"p{p}", f"city{c}", f"year{p % 9}") for p, c, _ in ROWS]
    + [("lies", f"land{s}", f"city{c}") for _, c, s in ROWS]
    + [("national", f"p{p}", f"land{s}") for p, _, s in ROWS[::2]]
)
STORE = FactStore(GRAPH)


def rules(name: str, position: int) -> dict[str, float]:
    paths = Paths(STORE, STORE.columns, np.random.default_rng(0))
    found = paths.rules(GRAPH.schema.id(name), position)
    return {rule.text(GRAPH.schema, GRAPH.entities): rule.confidence for rule in found}


def test_two_facts_that_one_entity_joins_lead_to_the_answer() -> None:
    assert rules("national", 1)["national(A, B) <- born(A, Z, _), lies(B, Z)"] > 0.9
    assert "national(A, B) <- lies(B, Z), born(A, Z, _)" in rules("national", 0)


def test_the_same_seed_finds_the_same_paths() -> None:
    assert rules("national", 0) == rules("national", 0)


def test_no_path_leads_through_the_fact_itself() -> None:
    alone = FactStore(Hypergraph.of([("likes", f"a{n}", f"b{n}") for n in range(30)]))
    assert not Paths(alone, alone.columns, np.random.default_rng(0)).rules(0, 1)
