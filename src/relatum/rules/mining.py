"""Finding the rules of a hypergraph: views are proposed for every relation, then weighed against each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from relatum.algebra import Relation, Rename
from relatum.data.hypergraph import Hypergraph
from relatum.errors import SettingError
from relatum.progress import progress
from relatum.rules.hypotheses import Hypothesis, containments, equalities
from relatum.rules.rule import Rule, RuleKind
from relatum.rules.statistics import MOST_OBSERVED, HeadCounts, ObservedShare, observed_share
from relatum.rules.views import Head, Measured, Store, View, candidates, measure

_RIVALS = 20  # hypotheses that are kept for each head


def mine_rules(
    graph: Hypergraph, *, observed: float | None = None, heads: Iterable[str] | None = None, least: int = 10
) -> list[Rule]:
    """Return rules about the relations of a hypergraph, those that equal something first, then by weight of evidence.

    A head has one equality at most: the simplest that fits. Only where there is none are there rules on what it contains
    and what it lies within, without those that follow from the rest. A renaming is a rule about one of its two relations.

    The stored facts are taken to be true, and to be a share `observed` of the true ones; by default it is that of
    `estimate_observed_share`, or 0.98 where the facts do not tell it. A head has at least so many stored tuples.
    """
    if observed is not None and not 0 < observed <= 1:
        raise SettingError("setting-out-of-range", f"must be above 0, up to 1, not {observed!r}", place="observed")
    if observed is None and heads is not None:
        observed = estimate_observed_share(graph, least=least).assumed  # a few heads tell too little of it
    store = Store(graph)
    targets = _targets(store, heads, least)
    with progress("finding rules", 4 * len(targets)) as advance:
        views, estimated = _proposed(targets, store, least, advance)
        share = min(estimated.assumed if observed is None else observed, MOST_OBSERVED)
        rivals = dict[int, list[Hypothesis]]()
        for head in targets:
            measured = _measured(views[head.relation], head, store)
            rivals[head.relation] = equalities(measured, head, store, share)[:_RIVALS]
            advance(2)
        best, same = _choose(rivals, store)
        related = {frozenset((same(head), same(store.id(view)))) for head, one in best.items() for view in one.views}
        rules = list[Rule]()
        for head in targets:
            if head.relation in best:
                rules.append(_rule(head, best[head.relation], store))
            else:
                pairs = ((view, frozenset((same(head.relation), same(store.id(view))))) for view in views[head.relation])
                news = [view for view, pair in pairs if len(pair) > 1 and pair not in related]
                rules += containments(_measured(news, head, store), head, store, share)
            advance(1)
    return sorted(_deduplicate(rules), key=lambda rule: (rule.kind != RuleKind.EQUAL, -rule.evidence, str(rule)))


def estimate_observed_share(graph: Hypergraph, *, least: int = 10) -> ObservedShare:
    """Return the share of the true facts that are stored, as far as relations that lie within others tell it."""
    store = Store(graph)
    targets = _targets(store, None, least)
    with progress("estimating the observed share", len(targets)) as advance:
        return _proposed(targets, store, least, advance)[1]


def _targets(store: Store, heads: Iterable[str] | None, least: int) -> list[Head]:
    schema = store.graph.schema
    chosen = range(len(schema)) if heads is None else [schema.id(name) for name in dict.fromkeys(heads)]
    targets = [Head(store, number, store.columns[number]) for number in chosen]
    return [head for head in targets if len(head) >= least]


def _proposed(
    targets: list[Head], store: Store, least: int, advance: Callable[[int], None]
) -> tuple[dict[int, list[View]], ObservedShare]:
    """Return the views that are worth weighing for each head, and the observed share that they tell together."""
    views = dict[int, list[View]]()
    counts = list[HeadCounts]()
    for head in targets:
        measured = _measured(candidates(head, store), head, store)
        views[head.relation] = [one.view for one in measured]
        counts.append((len(head), [(one.support, one.size) for one in measured if one.size >= least]))
        advance(1)
    return views, observed_share(counts)


def _measured(views: Iterable[View], head: Head, store: Store) -> list[Measured]:
    return [measure(view, head, store) for view in views]


def _rule(head: Head, found: Hypothesis, store: Store) -> Rule:
    schema, body = store.graph.schema[head.relation], found.body(store.graph.entities)
    confidence, coverage = found.support / found.size, found.support / len(head)
    return Rule(schema, body, RuleKind.EQUAL, found.support, confidence, coverage, found.evidence)


def _choose(rivals: Mapping[int, list[Hypothesis]], store: Store) -> tuple[dict[int, Hypothesis], Callable[[int], int]]:
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


def _deduplicate(rules: Iterable[Rule]) -> list[Rule]:
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
