"""Rules between relations: what equals, contains or lies within an expression over the others, found from tuples."""

from relatum.rules.mining import estimate_observed_share, mine_rules
from relatum.rules.observed_share import ObservedShare
from relatum.rules.rule import Examples, Rule, RuleKind, examples, predictions

__all__ = [
    "Examples",
    "ObservedShare",
    "Rule",
    "RuleKind",
    "estimate_observed_share",
    "examples",
    "mine_rules",
    "predictions",
]
