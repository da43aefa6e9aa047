"""How often a rule is right about training facts, each of which does not speak for itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from relatum.data.vocabulary import Ids
from relatum.evidence.facts import FactStore
from relatum.evidence.soft_rule import SoftRule
from relatum.kernels.evidence import count_right

__all__ = ["SUPPORT", "good", "judged"]

SUPPORT = 3  # facts that bear out what a rule may be made of, at least
_LEAST = 0.002  # confidence: what names hundreds for one that is right says nothing


def judged(store: FactStore, rule: SoftRule, facts: Ids) -> SoftRule:
    """Return a rule with how often it is right about some facts."""
    others = [one for one in range(len(facts)) if one != rule.position]
    known = store.lookup(rule.relation, rule.position, others, [facts[one] for one in others])
    found = store.found(rule, facts, itself=False)
    right, named = count_right(found, facts[rule.position], known, store.own(rule, facts))
    return replace(rule, rights=tuple(right.tolist()), nameds=tuple(named.tolist()))


def good(store: FactStore, rules: Iterable[SoftRule], facts: Ids, least: float = _LEAST) -> list[SoftRule]:
    """Return the rules that are right more than once and not too seldom, judged by some facts."""
    found = (judged(store, rule, facts) for rule in rules)
    return [rule for rule in found if rule.right > 1 and rule.confidence >= least]
