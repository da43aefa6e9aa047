"""Rules of a run: soft rules by which facts speak for others, and exact ones between whole relations."""

from __future__ import annotations

from dataclasses import dataclass

from relatum.api import Run

__all__ = ["ExactRule", "RulesView", "SoftRuleItem", "rules"]


@dataclass(frozen=True, slots=True)
class SoftRuleItem:
    """A soft rule.

    Attributes:
        rule: as Datalog writes it.
        head: the relation whose facts it concludes.
        body: the relations that it reads.
        answers: the argument of the head that it names.
        confidence: how likely a candidate is right that the rule names.
        right: how often it named the answer of a training fact.
        named: how many candidates it named in all.
        explains: about how many training facts it explains that no rule listed before it does.
        examples: training facts that it names, each with a fact that it rests on.
        counter_example: a fact that it names but that is not known; empty if there is none.
    """

    rule: str
    head: str
    body: tuple[str, ...]
    answers: str
    confidence: float
    right: int
    named: int
    explains: int
    examples: tuple[str, ...]
    counter_example: str


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
    raise NotImplementedError
