"""Which soft rules are worth reading: each by what it explains beyond those listed before it, with examples for and against.

A training fact is explained as far as the most confident listed rule goes that names one of its entities rightly.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from relatum.arrays import Bool
from relatum.data.vocabulary import Ids
from relatum.evidence.evidence import Evidence
from relatum.evidence.soft_rule import ANY, Atom, SoftRule
from relatum.records import Record

SUMMARY_COLUMNS: dict[str, type] = {
    "rule": str,
    "answers": str,
    "confidence": float,
    "right": int,
    "named": int,
    "explains": int,
    "examples": str,
    "counter_example": str,
}

_FACTS = 300  # of a relation, by which rules are compared
_EXAMPLES = 2


@dataclass(frozen=True)
class RuleSummary(Record):
    """What people read of a soft rule."""

    rule: str  # as Datalog writes it
    answers: str  # the argument of the head that it names
    confidence: float  # how likely a candidate is right that the rule names
    right: int  # how often it named the answer of a training fact
    named: int  # how many candidates it named in all
    explains: int  # about how many training facts it explains that no rule listed before it does
    examples: tuple[str, ...]  # training facts that it names, each with a fact that it rests on
    counter_example: str  # a fact that it names but that is not known; empty if there is none


def summaries(evidence: Evidence, heads: Iterable[str] = (), k: int = 20) -> list[RuleSummary]:
    """Return what people read of the k most notable rules, of some relations or of all."""
    schema = evidence.facts.schema
    wanted = {schema.id(schema[name].name) for name in heads} or set(range(len(schema)))
    return [summary_of(evidence, *one) for one in notable_rules(evidence, wanted)[:k]]


def summary_of(evidence: Evidence, rule: SoftRule, explains: float) -> RuleSummary:
    """Return what people read of a rule that explains about so many facts."""
    schema, names = evidence.facts.schema, evidence.facts.entities
    return RuleSummary(
        rule.text(schema, names),
        rule.answers(schema),
        rule.confidence,
        rule.right,
        rule.named,
        round(explains),
        tuple(_examples(evidence, rule)),
        _counter_example(evidence, rule),
    )


def notable_rules(evidence: Evidence, relations: Iterable[int]) -> list[tuple[SoftRule, float]]:
    """Return the rules about relations that somebody would want to read, and about how many facts each explains anew.

    Positions that agree make a rule for each of them: the most confident stands for all. That an entity is frequent is no
    rule that anybody would read.
    """
    found: list[tuple[SoftRule, float]] = []
    for relation in relations:
        facts, scale = _sample(evidence, relation)
        named = [(rule, _right(evidence, rule, facts)) for rule in _distinct(evidence, relation)]
        waiting = [
            (-scale * rule.confidence * float(right.sum()), number, rule, right)
            for number, (rule, right) in enumerate(named)
        ]
        heapq.heapify(waiting)
        explained = np.zeros(facts.shape[1])
        while waiting:
            _, number, rule, right = heapq.heappop(waiting)
            gain = scale * float(np.maximum(rule.confidence - explained[right], 0).sum())
            if waiting and gain < -waiting[0][0]:  # what it adds has become less since it was put there
                if gain > 0:
                    heapq.heappush(waiting, (-gain, number, rule, right))
                continue
            if gain >= 1:
                found.append((rule, gain))
                explained[right] = np.maximum(explained[right], rule.confidence)
    return sorted(found, key=lambda one: -one[1])


def _distinct(evidence: Evidence, relation: int) -> list[SoftRule]:
    best: dict[tuple[frozenset[Atom], int], SoftRule] = {}
    for position in range(evidence.facts.schema[relation].arity):
        for rule in evidence.about(relation, position):
            key = frozenset(rule.body), ANY if rule.names_what_is_read else rule.answer
            if rule.template != "frequency" and (key not in best or rule.confidence > best[key].confidence):
                best[key] = rule
    return list(best.values())


def _sample(evidence: Evidence, relation: int) -> tuple[Ids, float]:
    """Return some facts of a relation, spread over all of them, and how many each stands for."""
    columns = evidence.store.columns[relation]
    size = columns.shape[1]
    chosen = np.arange(size) if size <= _FACTS else np.linspace(0, size - 1, _FACTS).astype(np.int64)
    return columns[:, chosen], size / max(1, len(chosen))


def _right(evidence: Evidence, rule: SoftRule, facts: Ids) -> Bool:
    """Return the facts whose answer a rule names by others than the fact itself."""
    rows, named = evidence.store.found(rule, facts, itself=False).pairs()
    hit = rows[named == facts[rule.position][rows]]
    own = evidence.store.own(rule, facts) == facts[rule.position]
    right: Bool = np.bincount(hit, minlength=facts.shape[1]) > own
    return right


def _examples(evidence: Evidence, rule: SoftRule) -> list[str]:
    """Return training facts that a rule names rightly, each with one fact, or two of a path, that it rests on."""
    facts, _ = _sample(evidence, rule.relation)
    found = []
    for number in np.flatnonzero(_right(evidence, rule, facts))[:_EXAMPLES].tolist():
        if rests := evidence.store.groundings(rule, facts[:, number]):
            fact = _written(evidence, rule.relation, facts[:, number])
            found.append(f"{fact} <- {evidence.store.written(rule, rests[0])}")
    return found


def _counter_example(evidence: Evidence, rule: SoftRule) -> str:
    """Return a fact that a rule names beside a training fact and that is not known, with what it rests on."""
    facts, _ = _sample(evidence, rule.relation)
    known = evidence.store.answers(rule.relation, rule.position, facts)
    rows, named = evidence.store.found(rule, facts, itself=False).pairs()
    size = len(evidence.facts.entities)
    there, answers = known.pairs()
    for pair in np.setdiff1d(rows * size + named, there * size + answers)[:_EXAMPLES].tolist():
        fact = facts[:, pair // size].copy()
        fact[rule.position] = pair % size
        rests = evidence.store.groundings(rule, fact)
        if rests:
            return f"{_written(evidence, rule.relation, fact)} <- {evidence.store.written(rule, rests[0])}"
    return ""


def _written(evidence: Evidence, relation: int, fact: Ids) -> str:
    names = evidence.facts.entities
    return f"{evidence.facts.schema[relation].name}({', '.join(names[one] for one in fact.tolist())})"
