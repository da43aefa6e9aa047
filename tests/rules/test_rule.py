"""Rules told to a person: their text and Datalog, examples, predictions."""

from __future__ import annotations

from dataclasses import replace

from relatum.algebra import evaluate, parse_datalog
from relatum.rules import RuleKind, examples, predictions
from support.mistakes import mistake
from support.shop_rules import GRAPH, rule

BOUGHT = rule("permute[1, 0, 2](sold)")


def test_a_rule_reads_as_algebra_and_as_datalog() -> None:
    assert str(BOUGHT) == "bought = permute[1, 0, 2](sold)"
    assert BOUGHT.display == str(BOUGHT)  # no roles are known
    assert BOUGHT.datalog == "bought(X, Y, Z) <- sold(Y, X, Z)"
    read = parse_datalog(BOUGHT.datalog, GRAPH.schema)
    assert list(evaluate(read, GRAPH)) == list(evaluate(BOUGHT.body, GRAPH))
    assert BOUGHT.to_json()["rule"] == str(BOUGHT)
    assert BOUGHT.to_json()["kind"] == "equal"


def test_a_bound_is_read_from_the_head_to_the_body() -> None:
    bound = rule("project[0, 1](sold)", RuleKind.WITHIN, "knows")
    assert str(bound) == "knows within project[0, 1](sold)"
    assert bound.datalog == "knows(X, Y) -> sold(X, Y, Z)"
    with mistake("unusable-rule"):
        _ = rule("union(sold, sold)", RuleKind.WITHIN).datalog


def test_examples_and_predictions_are_those_of_the_three_parts() -> None:
    found = examples(BOUGHT, GRAPH)
    assert found.both == [("alex", "drew", "book"), ("sam", "drew", "coffee")]
    assert found.only_body == [("sam", "alex", "book")]
    assert found.only_head == [("kim", "sam", "tea")]
    assert len(examples(BOUGHT, GRAPH, most=1).both) == 1
    assert list(predictions(BOUGHT, GRAPH)) == [("sam", "alex", "book")]
    assert list(predictions(replace(BOUGHT, kind=RuleKind.CONTAINS), GRAPH)) == [("sam", "alex", "book")]
    with mistake("unusable-rule"):
        predictions(replace(BOUGHT, kind=RuleKind.WITHIN), GRAPH)
