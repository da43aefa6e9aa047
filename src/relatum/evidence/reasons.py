"""Why a fact may be true: the rules that speak for it, and the very facts that they rest on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from relatum.data.vocabulary import Ids
from relatum.evidence.evidence import Evidence
from relatum.evidence.soft_rule import SoftRule

__all__ = ["Reason", "reasons"]

_FACTS = 3  # that are shown


@dataclass(frozen=True)
class Reason:
    """A rule that speaks for a fact.

    Attributes:
        rule: as Datalog writes it.
        answers: which argument of the head the rule is best at naming.
        confidence: how likely a candidate is right that the rule names.
        right: how often it named the answer of a training fact.
        named: how many candidates it named in all.
        facts: some of the facts that it rests on here.
        more: how many others there are.
    """

    rule: str
    answers: str
    confidence: float
    right: int
    named: int
    facts: tuple[str, ...]
    more: int

    def to_dict(self) -> dict[str, Any]:
        """Return the reason as plain data."""
        return asdict(self)


def reasons(evidence: Evidence, relation: int, fact: Ids, k: int = 5, only: int | None = None) -> list[Reason]:
    """Return the k most confident rules that speak for a fact, int32[arity], which itself does not count.

    A rule that can name several of its entities is told once, for the one that it is best at. `only` is the position whose
    entity the rules are to name, if not any.
    """
    found: dict[tuple[int, frozenset[tuple[int, int]]], tuple[SoftRule, Ids]] = {}
    for position in range(len(fact)) if only is None else [only]:
        for rule in evidence.about(relation, position):
            agreeing = frozenset((*rule.given, (rule.position, rule.answer)))
            before = found.get((rule.body, agreeing))
            if before is not None and before[0].confidence >= rule.confidence:
                continue
            facts = before[1] if before is not None else _resting_on(evidence, rule, fact)
            if facts.shape[1]:
                found[rule.body, agreeing] = rule, facts
    best = sorted(found.values(), key=lambda one: -one[0].confidence)[:k]
    return [_reason(evidence, rule, facts) for rule, facts in best]


def _resting_on(evidence: Evidence, rule: SoftRule, fact: Ids) -> Ids:
    """Return the facts of the body, int32[arity, n], that agree with a fact; not the fact itself."""
    columns = evidence.store.columns[rule.body]
    there = np.ones(columns.shape[1], np.bool_)
    for position, read in (*rule.given, (rule.position, rule.answer)):
        there &= columns[read] == fact[position]
    if rule.body == rule.relation:
        there &= (columns != fact[:, None]).any(axis=0)
    found: Ids = columns[:, there]
    return found


def _reason(evidence: Evidence, rule: SoftRule, facts: Ids) -> Reason:
    schema, names = evidence.facts.schema, evidence.facts.entities
    body = schema[rule.body]
    shown = tuple(f"{body.name}({', '.join(names[one] for one in each)})" for each in facts.T[:_FACTS].tolist())
    more = max(0, facts.shape[1] - _FACTS)
    return Reason(rule.text(schema), rule.answers(schema), rule.confidence, rule.right, rule.named, shown, more)
