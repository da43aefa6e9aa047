"""Rules between relations: what equals, contains or lies within an expression over the others, found from tuples."""

from relatum.rules.mining import estimate_observed, find_rules
from relatum.rules.rule import Examples, Kind, Rule, examples, predictions

__all__ = [
    "Examples",
    "Kind",
    "Rule",
    "estimate_observed",
    "examples",
    "find_rules",
    "predictions",
]
