"""Rules of a run: soft rules by which facts speak for others, and exact ones between whole relations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from relatum.api import Run
from relatum.evidence.selection import RuleSummary, notable_rules, summary_of
from relatum.evidence.soft_rule import SoftRule
from relatum.resources.limits import MOST_RULES, bounded
from relatum.rules import Rule
from relatum.runs.reasons import without_prefixes_in


@dataclass(frozen=True)
class SoftRuleItem(RuleSummary):
    """A soft rule, with the relation whose facts it concludes and those that it reads."""

    head: str
    body: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExactRule:
    """A relation that equals, contains or lies within an expression over others.

    Attributes:
        rule: as people read it: `bought = permute[buyer, seller](sold)`.
        head: the relation.
        kind: `equal`, `contains` or `within`.
        body: the expression, as a query takes it.
        relations: those of the expression.
        support: how many known facts both have.
        confidence: the share of the expression's tuples that are facts of the head.
        coverage: the share of the head's facts that the expression has.
    """

    rule: str
    head: str
    kind: str
    body: str
    relations: tuple[str, ...]
    support: int
    confidence: float
    coverage: float


@dataclass(frozen=True, slots=True)
class RulesView:
    """Rules: soft ones, the most notable first; exact ones, those with most evidence first; whether there are more."""

    soft: tuple[SoftRuleItem, ...]
    exact: tuple[ExactRule, ...]
    truncated: bool


def rules(run: Run, relation: str | None = None, k: int = 20) -> RulesView:
    """Return the k most notable soft rules and the k best exact ones that conclude a relation, or any.

    A run that was trained without evidence is searched for rules once, which may take a while.
    """
    if relation is None:
        return _view(run, k, lambda rule: True, lambda rule: True)
    name = run.schema[relation].name
    number = run.schema.id(name)
    return _view(run, k, lambda rule: rule.relation == number, lambda rule: rule.head.name == name)


def rules_using(run: Run, relation: str, k: int = 20) -> RulesView:
    """Return the k most notable soft rules and the k best exact ones that read a relation to conclude another."""
    name = run.schema[relation].name
    number = run.schema.id(name)

    def reads(rule: SoftRule) -> bool:
        return rule.relation != number and any(atom.relation == number for atom in rule.body)

    def has(rule: Rule) -> bool:
        return rule.head.name != name and any(one.name == name for one in rule.relations)

    return _view(run, k, reads, has)


def _view(run: Run, k: int, soft: Callable[[SoftRule], bool], exact: Callable[[Rule], bool]) -> RulesView:
    k = bounded("k", k, MOST_RULES)
    chosen, whole = [one for one in _notable(run) if soft(one[0])], [one for one in _exact(run) if exact(one)]
    return RulesView(
        tuple(_soft_item(run, *one) for one in chosen[:k]),
        tuple(_exact_item(one) for one in whole[:k]),
        truncated=len(chosen) > k or len(whole) > k,
    )


def _notable(run: Run) -> list[tuple[SoftRule, float]]:
    """Return all soft rules that somebody would want to read, and about how many facts each explains."""
    return run.remembered("soft rules", lambda: notable_rules(run.rules_of_facts, range(len(run.model.schema))))


def _exact(run: Run) -> list[Rule]:
    return run.remembered("exact rules", lambda: list(run.rules()))


def _soft_item(run: Run, rule: SoftRule, explains: float) -> SoftRuleItem:
    one, schema = summary_of(run.rules_of_facts, rule, explains), run.model.schema
    shown = {
        "rule": without_prefixes_in(run, one.rule),
        "examples": tuple(without_prefixes_in(run, each) for each in one.examples),
        "counter_example": without_prefixes_in(run, one.counter_example),
    }
    body = tuple(dict.fromkeys(schema[atom.relation].name for atom in rule.body))
    return SoftRuleItem(**{**vars(one), **shown}, head=schema[rule.relation].name, body=body)


def _exact_item(rule: Rule) -> ExactRule:
    names = tuple(dict.fromkeys(one.name for one in rule.relations))
    kind = rule.kind.name.lower()
    return ExactRule(rule.display, rule.head.name, kind, str(rule.body), names, rule.support, rule.confidence, rule.coverage)
