"""Wrong facts are doubtful, where they are wrong, and no fact speaks for itself; mixtures believe rules that are right."""

from __future__ import annotations

import numpy as np
import pytest

from relatum import Hypergraph, Run, fit
from relatum.evidence.doubt import Doubts, Mixture, expected, judge
from relatum.evidence.evidence import Evidence
from relatum.evidence.mining import mine

ALBUMS, TRACKS, GENRES = 30, 12, 6


def store_of(seed: int, wrong: int) -> tuple[list[tuple[str, ...]], dict[tuple[str, ...], str]]:
    """Return tracks whose genre is that of the album, but for some, and the right genres of those."""
    rng = np.random.default_rng(seed)
    genre = rng.integers(0, GENRES, ALBUMS)
    facts = [("track", f"t{a}-{t}", f"a{a}", f"g{genre[a]}") for a in range(ALBUMS) for t in range(TRACKS)]
    right = {}
    for number in rng.choice(len(facts), wrong, replace=False).tolist():
        relation, track, album, was = facts[number]
        facts[number] = (relation, track, album, f"g{(int(was[1:]) + rng.integers(1, GENRES)) % GENRES}")
        right[facts[number]] = was
    return facts, right


FACTS, RIGHT = store_of(0, 15)
GRAPH = Hypergraph.of(FACTS)


@pytest.fixture(scope="module")
def store() -> Run:
    """Return a run on a store with wrong genres."""
    return fit(GRAPH, dim=20, epochs=5, progress=False)


@pytest.fixture(scope="module")
def judged(store: Run) -> Doubts:
    """Return what it thinks of its facts."""
    return judge(store.model, store.tables, store.rules_of_facts, [], store.known, [0])


def names_of(fact: np.ndarray) -> tuple[str, ...]:
    return ("track", *(GRAPH.entities[one] for one in fact.tolist()))


def test_the_wrong_facts_are_the_most_doubtful_and_the_right_entity_is_expected(store: Run, judged: Doubts) -> None:
    found = judged.most_doubtful(len(RIGHT))
    hits = [(one, fact) for one, fact in found if names_of(one.facts[:, fact]) in RIGHT]
    assert len(hits) >= 0.9 * len(RIGHT)
    for one, fact in hits:
        position, instead = expected(store.rules_of_facts, one, fact, store.known)
        assert (position, GRAPH.entities[instead]) == (2, RIGHT[names_of(one.facts[:, fact])])


def test_doubt_is_the_sum_of_its_witnesses_and_evidence_is_for_what_other_facts_have(judged: Doubts) -> None:
    (one,) = judged.relations
    assert np.allclose(one.doubt, one.evidence + one.column[:, None] + one.embedding)
    assert (one.embedding >= 0).all()
    wrong = np.array([names_of(fact) in RIGHT for fact in one.facts.T])
    assert one.evidence[2, wrong].min() > one.evidence[2, ~wrong].max()
    assert np.abs(one.evidence[0]).max() < 0.2  # every track has one fact: nothing can be said of it


def test_a_fact_does_not_speak_for_itself(store: Run) -> None:
    """What stands in a fact that no other one bears out is as likely by evidence as if the fact were held out."""
    fact = next(iter(RIGHT))

    def graph_of(facts: list[tuple[str, ...]]) -> Hypergraph:
        columns = np.stack([GRAPH.entities.ids(each[1:]) for each in facts], 1)
        return Hypergraph.sort(GRAPH.entities, GRAPH.schema, [(np.zeros(len(facts), np.int32), columns)])

    rest, one = graph_of([each for each in FACTS if each != fact]), graph_of([fact])
    rules = mine(GRAPH)
    inside = judge(store.model, store.tables, Evidence(GRAPH, rules), [], store.known, [0]).relations[0]
    outside = judge(store.model, store.tables, Evidence(rest, rules), [one], store.known, [0]).relations[0]
    number = int(np.flatnonzero((inside.facts == GRAPH.entities.ids(fact[1:])[:, None]).all(axis=0))[0])
    assert np.array_equal(inside.facts, outside.facts)
    assert outside.part[number] == 1
    assert inside.evidence[:, number] == pytest.approx(outside.evidence[:, number], abs=0.02)


def test_known_other_answers_are_no_rivals() -> None:
    """A buyer who buys one thing has it for sure; that others buy several makes none of them doubtful."""
    facts = [("buys", f"b{b}", f"i{i}") for b in range(20) for i in range(8)]
    facts += [("likes", f"b{b}", f"i{i}") for b in range(20) for i in range(8)]
    graph = Hypergraph.of(facts)
    run = fit(graph, dim=10, epochs=2, progress=False)
    doubts = judge(run.model, run.tables, run.rules_of_facts, [], run.known, range(len(graph.schema)))
    for one in doubts.relations:
        assert (one.evidence[1] < 0).all()  # likes names what buys has, and nothing else that is not known
        assert (one.rivals[1] == -1).all()  # whoever buys, buys everything
        assert (one.margins[1] == 0).all()
    assert doubts.most_doubtful(5) == []


def test_the_same_facts_are_doubted_the_same(store: Run, judged: Doubts) -> None:
    again = judge(store.model, store.tables, Evidence(GRAPH, mine(GRAPH)), [], store.known, [0])
    assert np.array_equal(again.relations[0].doubt, judged.relations[0].doubt)
    assert judge(store.model, store.tables, store.rules_of_facts, [], store.known, []).most_doubtful(3) == []


def counts_of(rng: np.random.Generator, facts: int, right: float) -> tuple[np.ndarray, np.ndarray]:
    """Draw a rule that names what facts have as often as `right` says, one that never does, and a frequency."""
    good = np.where(rng.random(facts) < right, 3, 0)
    own = np.stack([good, np.zeros(facts, int), rng.integers(1, 20, facts)])
    return own, np.stack([np.full(facts, 3), np.full(facts, 3), np.full(facts, 400)])


def test_a_rule_that_is_right_is_believed_and_one_that_is_not_is_not() -> None:
    own, total = counts_of(np.random.default_rng(0), 500, 0.9)
    mixture = Mixture.fitted(own, total, 40, 0)
    by_rule = mixture.rule_weights(total[:, 0])
    assert by_rule[0] == pytest.approx(0.88, abs=0.06)
    assert by_rule[1] < 0.01
    supported, unsupported = mixture.likelihood(np.array([[3, 0], [0, 0], [5, 5]]), total[:, :2])
    assert supported > 0.8
    assert unsupported < 1 / 40  # rather an accident
    assert mixture.rule_weights(np.array([0, 3, 400]))[0] == 0  # a rule that finds nothing says nothing


def test_fitting_makes_facts_likelier_and_unique_values_are_as_likely_as_any() -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        own, total = counts_of(rng, 200, rng.random())
        plain = Mixture(40, 0, np.ones((5, 5)))
        fitted = Mixture.fitted(own, total, 40, 0)
        assert np.log(fitted.likelihood(own, total)).sum() >= np.log(plain.likelihood(own, total)).sum()
        assert (fitted.likelihood(own, total) <= 1).all()
    own, total = np.zeros((1, 100), np.int64), np.full((1, 100), 99)
    found = Mixture.fitted(own, total, 100, 100).likelihood(own, total)
    assert np.allclose(found, 1 / 100, rtol=0.05)
