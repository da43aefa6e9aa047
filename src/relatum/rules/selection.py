"""One rule for each claim: which hypothesis a head gets, and which of two equivalent rules is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from relatum.algebra import Relation, Rename
from relatum.rules.hypotheses import Hypothesis
from relatum.rules.index import Store
from relatum.rules.rule import Rule, RuleKind

__all__ = ["choose_rules", "deduplicate"]


def choose_rules(rivals: Mapping[int, list[Hypothesis]], store: Store) -> tuple[dict[int, Hypothesis], Callable[[int], int]]:
    """Return the hypothesis of each head, and a function that is the same for relations that are renamings of each other.

    The best hypotheses come first. One that goes back to a renaming of the head itself claims nothing; the next one counts
    instead.
    """
    parents: dict[int, int] = {}

    def same(relation: int) -> int:
        while relation in parents:
            relation = parents[relation]
        return relation

    best = {}
    for head in sorted((head for head in rivals if rivals[head]), key=lambda head: (rivals[head][0].cost, head)):
        for one in rivals[head]:
            renamed = [same(store.id(view)) for view in one.views if view.is_renaming]
            if same(head) not in renamed:
                best[head] = one
                if renamed and len(one.views) == 1:
                    parents[same(head)] = renamed[0]
                break
    return best, same


def deduplicate(rules: Iterable[Rule]) -> list[Rule]:
    """Return the rules without those that state from the outer relation what another states from the inner one."""
    found: dict[object, Rule] = {}
    for rule in sorted(rules, key=lambda rule: rule.kind != RuleKind.WITHIN):
        found.setdefault(_claim(rule), rule)
    return list(found.values())


def _claim(rule: Rule) -> object:
    """Return what a rule claims: the same for `t within permute[1, 2, 0](a)` and `a contains permute[2, 0, 1](t)`."""
    body = rule.body
    child, permutation = (body.child, body.permutation) if isinstance(body, Rename) else (body, tuple(range(body.arity)))
    if rule.kind == RuleKind.EQUAL or not isinstance(child, Relation):
        return rule
    if rule.kind == RuleKind.WITHIN:
        return rule.head.name, child.name, permutation
    return child.name, rule.head.name, tuple(sorted(range(len(permutation)), key=permutation.__getitem__))
