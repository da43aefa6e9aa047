"""A few facts of a shop, and rules over its relations."""

from __future__ import annotations

from relatum import Hypergraph
from relatum.algebra import parse
from relatum.rules import Rule, RuleKind

GRAPH = Hypergraph.of(
    [
        ("sold", "drew", "alex", "book"),
        ("sold", "drew", "sam", "coffee"),
        ("sold", "alex", "sam", "book"),
        ("bought", "alex", "drew", "book"),
        ("bought", "sam", "drew", "coffee"),
        ("bought", "kim", "sam", "tea"),
        ("knows", "drew", "alex"),
    ]
)


def rule(text: str, kind: RuleKind = RuleKind.EQUAL, head: str = "bought") -> Rule:
    return Rule(GRAPH.schema[head], parse(text, GRAPH.schema), kind, 2, 2 / 3, 2 / 3, 1.5)
