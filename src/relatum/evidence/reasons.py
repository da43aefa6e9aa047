"""Why a fact may be true: the rules that speak for it, and the very facts that they rest on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from relatum.data.vocabulary import Ids
from relatum.evidence.evidence import Evidence
from relatum.evidence.soft_rule import ANY, Atom, SoftRule

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
        facts: some of the facts that it rests on here, of a path two at a time; of neighbours, how many share which answers.
        more: how many others there are.
        grounds: the same facts by relation and entities, each once; of neighbours, none.
    """

    rule: str
    answers: str
    confidence: float
    right: int
    named: int
    facts: tuple[str, ...]
    more: int
    grounds: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the reason as plain data; its facts as text."""
        return {name: value for name, value in asdict(self).items() if name != "grounds"}


def reasons(evidence: Evidence, relation: int, fact: Ids, k: int = 5, only: int | None = None) -> list[Reason]:
    """Return the k most confident rules that speak for a fact, int32[arity], which itself does not count.

    A rule that can name several of its entities is listed once, for the one that it is best at, and of rules that rest on
    the same facts the simplest. `only` is the position whose entity the rules are to name, if not any.
    """
    found: dict[tuple[frozenset[Atom], int], tuple[SoftRule, list[tuple[int, ...]]]] = {}
    for position in range(len(fact)) if only is None else [only]:
        for rule in evidence.about(relation, position):
            key = frozenset(rule.body), ANY if rule.names_what_is_read else rule.answer
            before = found.get(key)
            if before is not None and before[0].confidence >= rule.confidence:
                continue
            same = before is not None and before[0].body == rule.body  # a path can be read from both its ends
            groundings = before[1] if before is not None and same else evidence.store.groundings(rule, fact)
            if groundings:
                found[key] = rule, groundings
    best: list[tuple[SoftRule, list[tuple[int, ...]]]] = []
    for rule, groundings in sorted(found.values(), key=lambda one: (-one[0].confidence, _size(one[0]))):
        listed = ((other.position, facts) for other, facts in best if other.body[0].relation == rule.body[0].relation)
        if (rule.position, groundings) not in listed:  # what rests on the very same facts says the same
            best.append((rule, groundings))
    found_reasons = [_reason(evidence, rule, groundings) for rule, groundings in best]
    for position in range(len(fact)) if only is None else [only]:
        found_reasons += _by_neighbours(evidence, relation, position, fact)
    return sorted(found_reasons, key=lambda one: -one.confidence)[:k]


def _by_neighbours(evidence: Evidence, relation: int, position: int, fact: Ids) -> list[Reason]:
    """Return what neighbours say for a fact, if its entity is among the best that they name for the position."""
    neighbours = evidence.neighbours.get((relation, position))
    if neighbours is None or not neighbours.among_the_best(fact, evidence.store):
        return []
    one, names, schema = neighbours.neighbourhood, evidence.facts.entities, evidence.facts.schema
    shared = neighbours.shared(fact)
    shown = tuple(
        f"{each.both} of {each.others} others with {names[each.answer]} have {names[int(fact[position])]}"
        for each in shared[:_FACTS]
    )
    head = schema[relation]
    answers = head.roles[position] if head.roles else f"argument {position + 1}"
    more = max(0, len(shared) - _FACTS)
    return [Reason(one.text(schema), answers, one.confidence, one.right, one.named, shown, more)]


def _size(rule: SoftRule) -> int:
    """Return how many positions of its body a rule looks at."""
    return sum(term != ANY for atom in rule.body for term in atom.terms)


def _reason(evidence: Evidence, rule: SoftRule, groundings: list[tuple[int, ...]]) -> Reason:
    schema, names = evidence.facts.schema, evidence.facts.entities
    shown = tuple(evidence.store.written(rule, each) for each in groundings[:_FACTS])
    more = max(0, len(groundings) - _FACTS)
    grounds = tuple(dict.fromkeys(fact for each in groundings[:_FACTS] for fact in evidence.store.named(rule, each)))
    text, answers = rule.text(schema, names), rule.answers(schema)
    return Reason(text, answers, rule.confidence, rule.right, rule.named, shown, more, grounds)
