"""A rule is judged by other facts than the one that it is to answer, and other known answers are no mistakes."""

from __future__ import annotations

from relatum import Hypergraph
from relatum.evidence.facts import FactStore
from relatum.evidence.judging import good, judged
from relatum.evidence.soft_rule import Atom, SoftRule

GRAPH = Hypergraph.of([("r", "a", "b"), ("r", "a", "c"), ("r", "e", "e"), ("s", "a", "b"), ("s", "a", "d"), ("s", "e", "a")])
R, S = GRAPH.schema.id("r"), GRAPH.schema.id("s")


def test_what_a_rule_names_is_counted() -> None:
    store = FactStore(GRAPH)
    rule = judged(store, SoftRule(R, 1, (Atom(S, (0, 1)),), 1), store.columns[R])
    assert rule.right == 1  # b; not c, for which b is a known answer
    assert rule.named == 1 + 2 + 1  # b, d twice, and a


def test_a_fact_does_not_bear_itself_out() -> None:
    store = FactStore(GRAPH)
    assert judged(store, SoftRule(R, 1, (Atom(R, (1, 0)),), 1), store.columns[R]).named == 0  # r(e, e) is no other fact


def test_rules_that_were_right_once_are_left_out() -> None:
    store = FactStore(GRAPH)
    assert good(store, [SoftRule(R, 1, (Atom(S, (0, 1)),), 1)], store.columns[R]) == []
