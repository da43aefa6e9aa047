"""Mining finds renamings, projections and co-occurrence, judges them without the fact itself, and is the same each time."""

from __future__ import annotations

import itertools

import numpy as np

from relatum import Hypergraph
from relatum.evidence.mining import TEMPLATES, mine


def made(seed: int = 0) -> Hypergraph:
    """Return facts of r, its renaming s, its projection p, and of an unrelated relation."""
    rng = np.random.default_rng(seed)
    rows = np.unique(rng.integers(0, 30, (200, 3)), axis=0).tolist()
    facts = [("r", f"a{a}", f"b{b}", f"c{c}") for a, b, c in rows]
    facts += [("s", f"c{c}", f"a{a}", f"b{b}") for a, b, c in rows[::2]]
    facts += [("p", f"b{b}", f"a{a}") for a, b, _ in rows]
    facts += [("other", f"x{a}", f"y{b}") for a, b, _ in rows]
    return Hypergraph.of(facts)


def test_renamings_and_projections_are_found_with_all_that_is_given() -> None:
    graph = made()
    texts = {rule.text(graph.schema, graph.entities): rule for rule in mine(graph)}
    renaming = texts["s(A, B, C) <- r(B, C, A)"]
    assert renaming.right == len(graph.table("s").columns[0])
    assert renaming.confidence > 0.85
    assert texts["p(A, B) <- r(B, A, _)"].confidence > 0.9
    assert "r(A, B, C) <- s(C, A, B)" in texts
    assert not any("other" in text and " r(" in text for text in texts)


def test_a_fact_does_not_speak_for_itself() -> None:
    pairs = [("likes", f"a{n}", f"b{n}") for n in range(50)]  # each entity once: nothing else is known of it
    assert mine(Hypergraph.of(pairs)) == []


def test_every_template_can_be_left_out() -> None:
    graph = made()
    found = {rule.template for rule in mine(graph)}
    assert found <= set(TEMPLATES)
    assert {"match", "frequency"} <= found
    for name in found:
        assert {rule.template for rule in mine(graph, templates=set(TEMPLATES) - {name})} == found - {name}


def test_the_same_seed_finds_the_same_rules_the_most_confident_first() -> None:
    graph = made()
    rules = mine(graph)
    assert rules == mine(graph)
    for one, other in itertools.pairwise(rules):
        if (one.relation, one.position) == (other.relation, other.position):
            assert one.confidence >= other.confidence


def test_there_is_nothing_to_find_in_no_facts_or_in_facts_of_one_entity() -> None:
    assert mine(Hypergraph.of([("tall", "alex"), ("tall", "drew")])) == []
    empty = Hypergraph.of([("r", "a", "b")])
    assert mine(Hypergraph(empty.entities, empty.schema, ())) == []
