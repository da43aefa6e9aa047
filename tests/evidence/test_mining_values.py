"""Values are named where a condition holds: a constant, or what stands at another position; frequent ones in any case."""

from __future__ import annotations

import numpy as np

from relatum import Hypergraph
from relatum.evidence.facts import FactStore
from relatum.evidence.mining import Matches, Values
from relatum.evidence.soft_rule import SoftRule


def made() -> Hypergraph:
    """Return who lives where: players all in Rome, and couples twice the same, by a relation that is a selection."""
    rng = np.random.default_rng(0)
    facts = [("lives", f"p{n}", "rome" if n < 40 else f"town{rng.integers(20)}") for n in range(100)]
    facts += [("plays", f"p{n}", f"team{n % 4}") for n in range(40)]
    rows = [(int(a), int(b)) for a, b in np.unique(rng.integers(0, 20, (80, 2)), axis=0)]
    facts += [("sent", f"x{a}", f"y{b}", f"x{a}" if (a + b) % 2 else f"x{(a + 3) % 20}") for a, b in rows]
    facts += [("returned", f"x{a}", f"y{b}") for a, b in rows if (a + b) % 2]
    facts += [("late", f"x{a}", f"y{b}", "very") for a, b in rows[::2]] + [("late", "x0", f"y{n}", "not") for n in range(20)]
    facts += [("tardy", f"x{a}", f"y{b}") for a, b in rows[::2]]
    return Hypergraph.of(facts)


GRAPH = made()
STORE = FactStore(GRAPH)
VALUES = Values(STORE, STORE.columns)
MATCHES = Matches(STORE, STORE.columns)


def rules(name: str, position: int) -> dict[str, SoftRule]:
    relation = GRAPH.schema.id(name)
    open_ = [match for match in MATCHES.of(relation, STORE.columns[relation]) if all(one != position for one, _ in match[1])]
    return {rule.text(GRAPH.schema, GRAPH.entities): rule for rule in VALUES.rules(relation, position, open_)}


def test_what_a_given_entity_is_known_for_names_a_constant() -> None:
    rule = rules("lives", 1)["lives(A, rome) <- plays(A, _)"]
    assert rule.confidence > 0.9
    assert rule.right == rule.named == 40


def test_a_match_that_leaves_the_answer_open_names_a_constant_or_a_given_entity() -> None:
    assert rules("late", 2)["late(A, B, very) <- tardy(A, B)"].confidence > 0.7
    assert rules("sent", 2)["sent(A, B, A) <- returned(A, B)"].confidence > 0.9


def test_frequent_entities_are_named_whatever_is_given() -> None:
    found = VALUES.frequent(GRAPH.schema.id("lives"), 1)
    texts = [rule.text(GRAPH.schema, GRAPH.entities) for rule in sorted(found, key=lambda rule: -rule.confidence)]
    assert texts[0] == "lives(A, rome) <- lives(_, rome)"
    assert not VALUES.frequent(GRAPH.schema.id("lives"), 0)  # nobody lives in two towns
