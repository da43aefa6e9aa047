"""Hypotheses on a head relation: equalities, unions, differences and containments."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from relatum.algebra import Expression
from relatum.data.vocabulary import Vocabulary
from relatum.rules.rule import Rule, RuleKind
from relatum.rules.statistics import deficit, evidence, reach
from relatum.rules.views import Head, Measured, Store, View, candidates, found_in, measure

LEAST_EVIDENCE = 0.8  # nats for each direction: twice as likely as if any smaller share were as likely

_MOST_DEFICIT = 4.0  # nats: a count so far off is met once in three hundred times
_EACH_OPERATION = 1.0  # nats that another operation must be worth
_MOST_SIDES = 24  # views that are paired up for a union
_MOST_LEFT = 6  # views that something is taken away from
_LEAST_SURPRISE = 6.0  # of the head's tuples, those that a right side taken at random would have taken away


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A body that a head may equal."""

    operation: str  # `union`, `difference`, or nothing for a single view
    views: tuple[View, ...]  # the operands
    support: int  # how many observed tuples head and body share
    size: int  # how many the body has
    deficit: float  # how many nats the counts fall short of what is expected where head and body are equal
    evidence: float  # the weight of evidence for that

    @property
    def cost(self) -> float:
        """What ranks rivals for one head: how badly they fit, and how much there is to say."""
        operations = sum(view.operations for view in self.views) + bool(self.operation)
        return self.deficit + _EACH_OPERATION * max(operations, 1)  # that two are the same is no less of a claim

    def body(self, entities: Vocabulary) -> Expression:
        """Return the body as an expression."""
        left, *rest = (view.expression(entities) for view in self.views)
        return left if not rest else left | rest[0] if self.operation == "union" else left - rest[0]


def _contains(one: Measured, observed: float) -> bool:
    """Return whether the view's tuples may all be in the head."""
    return deficit(one.support, one.size, observed) <= _MOST_DEFICIT


def _within(one: Measured, observed: float) -> bool:
    """Return whether the head's tuples may all be in the view."""
    return deficit(one.support, len(one.reasons), reach(one.reasons, observed)) <= _MOST_DEFICIT


def equalities(found: Sequence[Measured], head: Head, store: Store, observed: float) -> list[Hypothesis]:
    """Return what the head may equal, the best first: simple and well fitting, then with the highest confidence."""
    rivals = [*_singles(found, observed), *_unions(found, observed), *_differences(found, head, store, observed)]
    return sorted(
        (one for one in rivals if one.evidence >= 2 * LEAST_EVIDENCE), key=lambda one: (one.cost, -one.support / one.size)
    )


def _singles(found: Sequence[Measured], observed: float) -> Iterator[Hypothesis]:
    for one in found:
        if _contains(one, observed) and _within(one, observed):
            cover = reach(one.reasons, observed)
            yield _weighed("", (one.view,), one.support, one.size, observed, len(one.reasons), cover)


def _unions(found: Sequence[Measured], observed: float) -> Iterator[Hypothesis]:
    sides = sorted((one for one in found if _contains(one, observed)), key=lambda one: -one.support)[:_MOST_SIDES]
    for one, other in itertools.combinations(sides, 2):
        reasons = one.reasons + other.reasons
        support, cover = int(np.count_nonzero(reasons)), reach(reasons, observed)
        if deficit(support, len(reasons), cover) <= _MOST_DEFICIT:
            size = support + len(np.union1d(one.outside, other.outside))
            yield _weighed("union", (one.view, other.view), support, size, observed, len(reasons), cover)


def _differences(found: Sequence[Measured], head: Head, store: Store, observed: float) -> Iterator[Hypothesis]:
    """Yield a view that the head lies within, less another that has none of the head's tuples and most of the rest."""
    lefts = [one for one in found if _within(one, observed) and not _contains(one, observed)]
    for left in sorted(lefts, key=lambda one: (one.size, one.view.operations))[:_MOST_LEFT]:
        rows = left.view.columns(store.columns[store.id(left.view)])
        rest = Head(store, head.relation, rows[:, left.rows])
        for view in candidates(rest, store, avoiding=head):
            taken = measure(view, rest, store)
            surprise = left.support * taken.support / left.size
            if surprise < _LEAST_SURPRISE or found_in(taken.outside, head.keys)[0].any():
                continue  # a single tuple in the head and in what is taken away refutes a difference
            size = left.size - taken.support
            # Of what is left some are in the right side too, but unobserved there: the head need not have those.
            truly_taken = taken.support / reach(taken.reasons, observed)
            share = observed * min(max((left.size - truly_taken) / size, 0.05), 1.0)
            if deficit(left.support, size, share) <= _MOST_DEFICIT:
                cover = reach(left.reasons, observed)
                yield _weighed("difference", (left.view, view), left.support, size, share, len(head), cover)


def _weighed(
    operation: str, views: tuple[View, ...], support: int, size: int, share: float, head: int, cover: float
) -> Hypothesis:
    off = deficit(support, size, share) + deficit(support, head, cover)
    weight = evidence(support, size, share) + evidence(support, head, cover)
    return Hypothesis(operation, views, support, size, off, weight)


_MOST_COMPARED = 50  # views of a head that are compared with each other
_MOST_CONTAINED_DEFICIT = 1.0  # nats: what falls short by more says something new


def containments(found: Sequence[Measured], head: Head, store: Store, observed: float) -> Iterator[Rule]:
    """Yield the smallest views that the head lies within, and the largest that it contains, as rules."""
    schema, entities = store.graph.schema[head.relation], store.graph.entities
    for kind in (RuleKind.WITHIN, RuleKind.CONTAINS):
        # A wider bound follows from a narrower one, and a smaller part from a larger one: the telling ones come first.
        order = sorted(found, key=lambda one: (one.size if kind == RuleKind.WITHIN else -one.size, one.view.operations))
        likely = [one for one in order if _weight(one, kind, observed) >= LEAST_EVIDENCE]
        kept = list[Measured]()
        for one in likely[:_MOST_COMPARED]:
            if not any(_follows(one, other, kind, observed) for other in kept):
                kept.append(one)
                body, weight = one.view.expression(entities), _weight(one, kind, observed)
                yield Rule(schema, body, kind, one.support, one.support / one.size, one.support / len(head), weight)


def _weight(one: Measured, kind: RuleKind, observed: float) -> float:
    if kind == RuleKind.CONTAINS:
        return evidence(one.support, one.size, observed)
    return evidence(one.support, len(one.reasons), reach(one.reasons, observed))


def _follows(one: Measured, kept: Measured, kind: RuleKind, observed: float) -> bool:
    """Return whether a rule about one view follows from the rule about another."""
    inner, outer = (kept, one) if kind == RuleKind.WITHIN else (one, kept)
    inside = np.count_nonzero((inner.reasons > 0) & (outer.reasons > 0))
    outside = np.count_nonzero(found_in(inner.outside, outer.outside)[0])
    return deficit(int(inside + outside), inner.size, observed) <= _MOST_CONTAINED_DEFICIT
