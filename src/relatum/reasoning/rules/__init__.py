"""Rules between relations: what equals, contains or lies within an expression over the others, found from tuples."""

from relatum.reasoning.rules.evidence import ModelEvidence, model_evidence
from relatum.reasoning.rules.finding import estimate_observed, find_rules
from relatum.reasoning.rules.rule import Examples, Kind, Rule, examples, predictions

__all__ = [
    "Examples",
    "Kind",
    "ModelEvidence",
    "Rule",
    "estimate_observed",
    "examples",
    "find_rules",
    "model_evidence",
    "predictions",
]
