"""The rules between relations: drawn, and as a table."""

from __future__ import annotations

from relatum.formatting import count, percent
from relatum.reasoning.rules import Rule, find_rules
from relatum.report.markup import Markup, entity, join, table, tag
from relatum.report.rule_graph import rules_image
from relatum.report.study import Study

__all__ = ["relationships"]

_DRAWN, _LISTED = 24, 60
_LONGEST = 160  # characters of a rule that is drawn: a longer one would make the picture unreadable


def relationships(study: Study) -> Markup:
    """Return the rules that the known facts tell, as a picture and as a table."""
    rules = find_rules(study.facts)
    if not rules:
        return tag("p", "No relation was found to equal, contain or lie within what algebra makes of the others.")
    told = (
        f"All known facts together tell of {count(len(rules), 'rule')}: which relations equal, contain or lie within what "
        "renaming, projecting, selecting, uniting and subtracting make of the others. Support counts the facts that both "
        "sides have; confidence is the share of the right side that is in the left, coverage the share of the left that "
        "is in the right; evidence is in nats."
    )
    if study.run.definitions:
        told += " Relations that were defined on the run take part."
    drawn = [rule for rule in rules if len(rule.told) <= _LONGEST][:_DRAWN]
    listed = rules[:_LISTED]
    caption = "Rules, the surest first" if len(listed) == len(rules) else f"The {_LISTED} surest of {len(rules)} rules"
    heads = ("rule", "support", "confidence", "coverage", "evidence")
    return join([tag("p", told), _picture(drawn, len(rules)), table(caption, heads, map(_row, listed))])


def _row(rule: Rule) -> tuple[str, ...]:
    shares = (percent(rule.confidence), percent(rule.coverage))
    return (
        tag("span", entity(rule.told, longest=4 * _LONGEST), class_="fact"),
        f"{rule.support:,}",
        *shares,
        f"{rule.evidence:.1f}",
    )


def _picture(rules: list[Rule], found: int) -> Markup:
    if not rules:
        return Markup("")
    title = "Relations as boxes, with arrows from those of a rule's right side to its left side"
    drawn = rules_image(rules, title, "The table that follows says the same in words.")
    caption = "All rules" if len(rules) == found else f"{len(rules)} of the rules"
    return tag("figure", tag("figcaption", caption), tag("div", Markup(drawn), class_="wide"))
