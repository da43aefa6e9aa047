"""What a head contains or lies within, where it equals nothing: only what does not follow from the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from relatum.rules.hypotheses import LEAST_EVIDENCE
from relatum.rules.keys import found_in
from relatum.rules.measure import Head, Measured
from relatum.rules.rule import Kind, Rule
from relatum.rules.search import Store
from relatum.rules.statistics import deficit, evidence, reach

__all__ = ["containments"]

_MOST_COMPARED = 50  # views of a head that are compared with each other
_MOST_DEFICIT = 1.0  # nats: what falls short by more says something new


def containments(found: Sequence[Measured], head: Head, store: Store, observed: float) -> Iterator[Rule]:
    """Yield the smallest views that the head lies within, and the largest that it contains, as rules."""
    schema, entities = store.graph.schema[head.relation], store.graph.entities
    for kind in (Kind.WITHIN, Kind.CONTAINS):
        # A wider bound follows from a narrower one, and a smaller part from a larger one: the telling ones come first.
        order = sorted(found, key=lambda one: (one.size if kind == Kind.WITHIN else -one.size, one.view.operations))
        likely = [one for one in order if _weight(one, kind, observed) >= LEAST_EVIDENCE]
        kept = list[Measured]()
        for one in likely[:_MOST_COMPARED]:
            if not any(_follows(one, other, kind, observed) for other in kept):
                kept.append(one)
                body, weight = one.view.expression(entities), _weight(one, kind, observed)
                yield Rule(schema, body, kind, one.support, one.support / one.size, one.support / len(head), weight)


def _weight(one: Measured, kind: Kind, observed: float) -> float:
    if kind == Kind.CONTAINS:
        return evidence(one.support, one.size, observed)
    return evidence(one.support, len(one.reasons), reach(one.reasons, observed))


def _follows(one: Measured, kept: Measured, kind: Kind, observed: float) -> bool:
    """Return whether a rule about one view follows from the rule about another."""
    inner, outer = (kept, one) if kind == Kind.WITHIN else (one, kept)
    inside = np.count_nonzero((inner.reasons > 0) & (outer.reasons > 0))
    outside = np.count_nonzero(found_in(inner.outside, outer.outside)[0])
    return deficit(int(inside + outside), inner.size, observed) <= _MOST_DEFICIT
