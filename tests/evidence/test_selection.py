"""Rules are listed by what they explain beyond those before them, each with facts for it and against it."""

from __future__ import annotations

import numpy as np

from relatum import Hypergraph
from relatum.evidence.evidence import Evidence
from relatum.evidence.mining import mine
from relatum.evidence.selection import notable_rules, summaries

ROWS = np.unique(np.random.default_rng(0).integers(0, 40, (150, 2)), axis=0).tolist()
GRAPH = Hypergraph.of(
    [("likes", f"a{a}", f"b{b}") for a, b in ROWS]
    + [("knows", f"b{b}", f"a{a}") for a, b in ROWS[::2]]
    + [("met", f"a{a}", f"b{b}", f"day{a % 5}") for a, b in ROWS[1::2]]
)
EVIDENCE = Evidence(GRAPH, mine(GRAPH))


def test_rules_come_by_what_they_explain_beyond_others_and_none_twice() -> None:
    found = notable_rules(EVIDENCE, [GRAPH.schema.id("likes")])
    texts = [rule.text(GRAPH.schema, GRAPH.entities) for rule, _ in found]
    assert set(texts[:2]) == {"likes(A, B) <- knows(B, A)", "likes(A, B) <- met(A, B, _)"}
    gains = [gain for _, gain in found]
    assert gains == sorted(gains, reverse=True)
    assert sum(gains) <= len(ROWS)
    assert gains[2:] == [] or gains[2] < gains[1] / 2
    found = [rule for rule, _ in notable_rules(EVIDENCE, range(len(GRAPH.schema)))]
    assert len({(rule.relation, rule.body, rule.names_what_is_read or rule.answer) for rule in found}) == len(found)
    assert all(rule.template != "frequency" for rule in found)


def test_a_rule_is_shown_with_facts_for_and_against_it() -> None:
    known = {f"{name}({', '.join(entities)})" for name, *entities in GRAPH}
    for one in summaries(EVIDENCE, k=50):
        for example in one.examples:
            fact, rests = example.split(" <- ")
            assert fact in known
            assert fact not in rests
        if one.counter_example:
            fact, _ = one.counter_example.split(" <- ")
            assert fact not in known
    (first, *_) = summaries(EVIDENCE, ["knows"])
    assert first.rule == "knows(A, B) <- likes(B, A)"
    assert first.examples
    assert first.counter_example.startswith("knows(")
