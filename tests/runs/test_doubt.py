"""A run lists doubtful facts of all its parts, with the rules and facts behind each doubt."""

from __future__ import annotations

import pytest

from relatum import Hypergraph, Run, fit
from support.mistakes import mistake

WRONG = ("track", "t3-1", "a3", "g2")


@pytest.fixture(scope="module")
def store() -> Run:
    """Return a run on a store with one wrong genre."""
    facts = [("track", f"t{a}-{t}", f"a{a}", f"g{a % 5}") for a in range(20) for t in range(6)]
    facts[facts.index(("track", "t3-1", "a3", "g3"))] = WRONG
    return fit(Hypergraph.of(facts), dim=10, epochs=2, progress=False)


def test_the_wrong_fact_comes_first_with_what_is_expected_and_why(store: Run) -> None:
    first = store.doubt(k=1)[0]
    assert (first.relation, *first.entities) == WRONG
    assert (str(first), first.role, first.stored, first.expected) == ("track(t3-1, a3, g2)", "position 2", "g2", "g3")
    assert first.source == "train"
    assert all(one.confidence < first.reasons[0].confidence for one in first.support)
    assert first.evidence > 1
    reason = first.reasons[0]
    assert reason.rule == "track(A, B, C) <- track(_, B, C)"
    assert (reason.facts[0], len(reason.facts) + reason.more) == ("track(t3-0, a3, g3)", 5)
    assert len({one.facts for one in first.reasons}) == len(first.reasons)


def test_what_cannot_be_doubted_is_refused(store: Run) -> None:
    with mistake("unknown-name"):
        store.doubt("trakc")
    with mistake("setting-out-of-range"):
        store.doubt(k=0)
    store.define("genre", "project[1, 2](track)")
    with mistake("defined-relation"):
        store.doubt("genre")
    assert store.doubt(k=1)[0].stored == "g2"
