"""Facts are found by any of their positions; an entity that no fact has finds nothing; no fact speaks for itself."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from relatum import Hypergraph
from relatum.evidence.facts import FactStore, good, judged
from relatum.evidence.soft_rule import ANY, JOINED, Atom, SoftRule, constant, constant_entity

GRAPH = Hypergraph.of([("r", "a", "b", "c"), ("r", "a", "d", "c"), ("r", "e", "b", "c"), ("s", "a", "c")])


def ids(*names: str) -> np.ndarray:
    return np.array([GRAPH.entities.id(name) for name in names], np.int32)


def test_what_stands_at_a_position_is_found_and_a_rule_looks_at_what_is_given_alone() -> None:
    store, r = FactStore(GRAPH), GRAPH.schema.id("r")
    found = store.lookup((r, 2, (0,), ()), [ids("a", "e", "b")])
    assert [found[number].tolist() for number in range(3)] == [[*ids("c", "c")], [*ids("c")], []]
    assert store.lookup((r, 1, (2, 0), ()), [ids("c"), ids("a")])[0].tolist() == sorted(ids("b", "d").tolist())
    store, r, s = FactStore(GRAPH), GRAPH.schema.id("r"), GRAPH.schema.id("s")
    rule = SoftRule(s, 1, (Atom(r, (0, ANY, 1)),), 1)
    unseen = np.array([[*ids("a"), 99, -1], [0, 0, 0]], np.int32)
    for one in (rule, SoftRule(s, 1, (Atom(r, (0, ANY, ANY)),), 0), SoftRule(s, 1, (Atom(r, (0, ANY, ANY)),), constant(2))):
        found = store.found(one, unseen)
        assert [len(found[number]) for number in range(3)] == [2, 0, 0]
    assert store.found(rule, unseen)[0].tolist() == [*ids("c", "c")]


def random_graph(seed: int) -> Hypergraph:
    rng = np.random.default_rng(seed)
    facts = [("p", *each) for each in np.unique(rng.integers(0, 6, (14, 2)), axis=0).tolist()]
    facts += [("q", *each) for each in np.unique(rng.integers(0, 6, (20, 3)), axis=0).tolist()]
    return Hypergraph.of([(name, *(f"e{one}" for one in rest)) for name, *rest in facts])


P, Q = 0, 1
RULES = [
    SoftRule(P, 1, (Atom(P, (1, 0)),), 1),
    SoftRule(P, 0, (Atom(Q, (0, 1, 0)),), 0),
    SoftRule(Q, 2, (Atom(Q, (0, ANY, 2)),), 2),
    SoftRule(Q, 2, (Atom(Q, (2, constant(1), 1)),), 2),
    SoftRule(Q, 1, (Atom(P, (0, 2)),), constant(2)),
    SoftRule(Q, 1, (Atom(Q, (0, ANY, 2)),), 0),
    SoftRule(Q, 1, (Atom(Q, (ANY, constant(3), ANY)),), constant(3)),
    SoftRule(P, 1, (Atom(P, (0, JOINED)), Atom(P, (JOINED, 1))), 1),
    SoftRule(Q, 0, (Atom(Q, (JOINED, ANY, 2)), Atom(Q, (0, JOINED, ANY))), 0),
]


def groundings(rule: SoftRule, columns: list[np.ndarray], fact: list[int], candidate: int) -> list[tuple[int, ...]]:
    """Return by trying all facts which speak for a candidate; the fact itself is not tried."""
    entities = {position: entity for position, entity in enumerate(fact) if position != rule.position}
    value = constant_entity(rule.answer)
    if not rule.names_what_is_read and candidate != (entities[rule.answer] if value is None else value):
        return []
    entities[rule.position] = candidate
    found = []
    for numbers in itertools.product(*(range(columns[atom.relation].shape[1]) for atom in rule.body)):
        bound: dict[int, int] = dict(entities)
        fits = True
        for atom, number in zip(rule.body, numbers, strict=True):
            there = columns[atom.relation][:, number].tolist()
            fits &= (atom.relation, there) != (rule.relation, fact)
            for term, entity in zip(atom.terms, there, strict=True):
                wanted = constant_entity(term)
                fits &= term == ANY or (bound.setdefault(term, entity) if wanted is None else wanted) == entity
        if fits:
            found.append(numbers)
    return found


@pytest.mark.parametrize("rule", RULES, ids=range(len(RULES)))
@pytest.mark.parametrize("seed", [0, 1])
def test_a_rule_finds_what_trying_all_facts_finds_without_the_fact_itself(rule: SoftRule, seed: int) -> None:
    store = FactStore(random_graph(seed))
    facts = store.columns[rule.relation]
    found, own = store.found(rule, facts, itself=False), store.own(rule, facts)
    for number, fact in enumerate(facts.T.tolist()):
        named = [0] * len(store.graph.entities)
        for candidate in found[number].tolist():
            named[candidate] += 1
        if own[number] >= 0:
            named[own[number]] -= 1
        for candidate, times in enumerate(named):
            tried = groundings(rule, store.columns, fact, candidate)
            assert (times > 0) == bool(tried)
            if rule.names_what_is_read and len(rule.body) == 1:
                assert times == len(tried)
        assert set(store.groundings(rule, facts[:, number])) <= set(
            groundings(rule, store.columns, fact, fact[rule.position])
        )


def test_a_path_that_leads_to_too_many_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    store = FactStore(random_graph(0))
    questions = store.columns[P]
    whole = store.found(RULES[-2], questions)
    monkeypatch.setattr("relatum.evidence.facts.WIDEST", 2)
    part = store.found(RULES[-2], questions)
    assert 0 < part.counts.sum() < whole.counts.sum()
    assert part.counts.max() <= 2


def test_facts_are_written_as_people_read_them() -> None:
    store, r, s = FactStore(GRAPH), GRAPH.schema.id("r"), GRAPH.schema.id("s")
    rule = SoftRule(s, 1, (Atom(r, (0, JOINED, ANY)), Atom(r, (ANY, JOINED, 1))), 1)
    (first, *_) = store.groundings(rule, ids("a", "c"))
    assert store.written(rule, first) == "r(a, b, c), r(e, b, c)"  # a fact and itself are no path


def test_what_a_rule_names_is_counted_but_not_what_a_fact_bears_out_itself() -> None:
    facts = [("r", "a", "b"), ("r", "a", "c"), ("r", "e", "e"), ("s", "a", "b"), ("s", "a", "d"), ("s", "e", "a")]
    store = FactStore(Hypergraph.of(facts))
    r, s = (store.graph.schema.id(name) for name in "rs")
    rule = judged(store, SoftRule(r, 1, (Atom(s, (0, 1)),), 1), store.columns[r])
    assert rule.right == 1  # b; not c, for which b is a known answer
    assert rule.named == 1 + 2 + 1  # b, d twice, and a
    assert judged(store, SoftRule(r, 1, (Atom(r, (1, 0)),), 1), store.columns[r]).named == 0  # r(e, e) is no other fact
    assert good(store, [rule], store.columns[r]) == []  # right once
