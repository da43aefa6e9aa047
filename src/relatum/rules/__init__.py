"""Rules between relations: what equals, contains or lies within an expression over the others, found from tuples."""

from relatum.rules.mining import estimate_observed_share, mine_rules
from relatum.rules.rule import Examples, Rule, RuleKind, examples, predictions
from relatum.rules.statistics import ObservedShare

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
