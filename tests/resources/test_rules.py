"""Rules are listed with what they conclude and what they read."""

from __future__ import annotations

from relatum import Run
from relatum.resources.rules import rules


def test_rules_are_those_of_the_run(example: Run) -> None:
    found = rules(example, k=5)
    assert [rule.rule for rule in found.soft] == [rule.rule for rule in example.soft_rules(k=5)]
    assert [rule.rule for rule in found.exact] == [rule.display for rule in example.rules()][:5]
    assert found.truncated == (len(rules(example, k=200).soft) > 5 or len(rules(example, k=200).exact) > 5)


def test_rules_of_tables_are_listed_without_the_prefixes_of_types(tables: Run) -> None:
    found = rules(tables, k=200).soft
    assert found
    assert not any("customers.city:" in rule.rule for rule in found)
