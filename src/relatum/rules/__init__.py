"""Rules between relations: what equals, contains or lies within an expression over the others, found from tuples."""

from relatum.rules.mining import estimate_completeness, mine_rules
from relatum.rules.rule import Examples, Rule, RuleKind, examples, predictions

__all__ = [
    "Examples",
    "Rule",
    "RuleKind",
    "estimate_completeness",
    "examples",
    "mine_rules",
    "predictions",
]
