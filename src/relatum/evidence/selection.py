"""Which soft rules are worth reading: one of those that say the same, and none that adds conditions which add nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from relatum.data.schema import Schema
from relatum.evidence.soft_rule import SoftRule

__all__ = ["SUMMARY_COLUMNS", "RuleSummary", "notable_rules", "summaries"]

SUMMARY_COLUMNS: dict[str, type] = {"rule": str, "answers": str, "confidence": float, "right": int, "named": int}

_ADDS = 1.1  # times the confidence that more conditions must bring

Match = frozenset[tuple[int, int]]


@dataclass(frozen=True)
class RuleSummary:
    """What people read of a soft rule: its text, the argument that it names, and how often it was right in training."""

    rule: str
    answers: str
    confidence: float
    right: int
    named: int

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain data."""
        return asdict(self)


def summaries(rules: Iterable[SoftRule], schema: Schema, heads: Iterable[str] = ()) -> list[RuleSummary]:
    """Return what people read of the notable rules, of some relations or of all, those most worth it first."""
    wanted = {schema.id(schema[name].name) for name in heads}
    return [
        RuleSummary(rule.text(schema), rule.answers(schema), rule.confidence, rule.right, rule.named)
        for rule in notable_rules(rules)
        if not wanted or rule.relation in wanted
    ]


def notable_rules(rules: Iterable[SoftRule]) -> list[SoftRule]:
    """Return the rules that somebody would want to read, those that are right most often and most surely first.

    Positions of two relations that agree make a rule for each of these positions: the most confident stands for all. A rule
    that reads more given entities than another of the same two relations is told if it is more confident.
    """
    best: dict[tuple[int, int], dict[Match, SoftRule]] = defaultdict(dict)
    for rule in rules:
        match, found = frozenset((*rule.given, (rule.position, rule.answer))), best[rule.relation, rule.body]
        if match not in found or rule.confidence > found[match].confidence:
            found[match] = rule
    kept = [
        rule
        for found in best.values()
        for match, rule in found.items()
        if all(rule.confidence > _ADDS * other.confidence for smaller, other in found.items() if smaller < match)
    ]
    return sorted(kept, key=lambda rule: (-rule.right * rule.confidence, rule.relation, rule.body, rule.given))
