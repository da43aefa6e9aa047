"""Reasons name the rules that speak for a fact and the facts that they rest on, never the fact itself."""

from __future__ import annotations

import numpy as np

import relatum
from relatum import Hypergraph
from relatum.evidence.evidence import Evidence
from relatum.evidence.mining import mine
from relatum.evidence.reasons import reasons

ROWS = np.unique(np.random.default_rng(0).integers(0, 15, (120, 2)), axis=0).tolist()
GRAPH = Hypergraph.of([("likes", f"e{a}", f"e{b}") for a, b in ROWS] + [("knows", f"e{b}", f"e{a}") for a, b in ROWS[::2]])
EVIDENCE = Evidence(GRAPH, mine(GRAPH))


def test_a_fact_is_explained_by_the_facts_that_a_rule_rests_on_and_never_by_itself() -> None:
    a, b = ROWS[1]  # which knows has not
    fact = GRAPH.entities.ids([f"e{b}", f"e{a}"])
    first, *_ = reasons(EVIDENCE, GRAPH.schema.id("knows"), fact)
    assert first.rule == "knows(A, B) <- likes(B, A)"
    assert first.facts == (f"likes(e{a}, e{b})",)
    assert first.more == 0
    assert 0.2 < first.confidence < 0.5  # knows has every other one
    for a, b in ROWS:
        fact = GRAPH.entities.ids([f"e{a}", f"e{b}"])
        for reason in reasons(EVIDENCE, GRAPH.schema.id("likes"), fact, 50):
            assert f"likes(e{a}, e{b})" not in reason.facts


def test_a_path_is_explained_by_the_facts_of_both_its_atoms() -> None:
    rows = [(n, n % 17, (3 * (n % 17) + 5) % 7) for n in range(80)]
    facts = [("born", f"p{p}", f"city{c}") for p, c, _ in rows] + [("lies", f"city{c}", f"land{s}") for _, c, s in rows]
    graph = Hypergraph.of(facts + [("national", f"p{p}", f"land{s}") for p, _, s in rows[::2]])
    evidence = Evidence(graph, mine(graph))
    p, c, s = rows[1]
    found = reasons(evidence, graph.schema.id("national"), graph.entities.ids([f"p{p}", f"land{s}"]))
    (path,) = (one for one in found if one.rule == "national(A, B) <- born(A, Z), lies(Z, B)")
    assert path.facts == (f"born(p{p}, city{c}), lies(city{c}, land{s})",)


def test_a_run_without_evidence_of_its_own_looks_for_rules_when_asked_why() -> None:
    run = relatum.fit(GRAPH, dim=10, epochs=1, progress=False)
    a, b = ROWS[1]
    found = run.why(f"knows(e{b}, e{a})")
    assert found[0].rule == "knows(A, B) <- likes(B, A)"
    assert found[0].to_dict()["facts"] == (f"likes(e{a}, e{b})",)
    assert len(run.why("knows", f"e{b}", f"e{a}", k=1)) == 1
