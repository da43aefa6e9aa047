"""Rules between relations: what equals, contains or lies within an expression over the others, found from tuples."""

from relatum.reasoning.rules.drawing import draw_rules, rules_svg
from relatum.reasoning.rules.evidence import ModelEvidence, model_evidence
from relatum.reasoning.rules.finding import estimate_observed, find_rules
from relatum.reasoning.rules.rule import Examples, Kind, Rule, examples, predictions

__all__ = [
    "Examples",
    "Kind",
    "ModelEvidence",
    "Rule",
    "draw_rules",
    "estimate_observed",
    "examples",
    "find_rules",
    "model_evidence",
    "predictions",
    "rules_svg",
]
