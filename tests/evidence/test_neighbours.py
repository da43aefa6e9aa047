"""Neighbours: what those have who share answers is named, judged without the fact itself, written, read and shown."""

from __future__ import annotations

import json

import numpy as np
import pytest

from relatum import Hypergraph
from relatum.evidence.evidence import FEATURES, Evidence
from relatum.evidence.facts import FactStore
from relatum.evidence.neighbours import Neighbourhood, Neighbours, find_neighbourhoods
from relatum.evidence.reasons import reasons
from support.mistakes import mistake


def shop(customers: int = 60, seed: int = 0) -> Hypergraph:
    """Return purchases of two circles of customers, each with things of its own; `saw` is by accident."""
    rng, rows = np.random.default_rng(seed), []
    for customer in range(customers):
        circle = customer % 2
        rows += [("bought", f"c{customer}", f"t{circle}-{thing}") for thing in rng.choice(20, 6, replace=False)]
        rows += [("saw", f"c{customer}", f"f{film}") for film in rng.choice(40, 3, replace=False)]
    return Hypergraph.of(rows)


GRAPH = shop()
BOUGHT = GRAPH.schema.id("bought")
STORE = FactStore(GRAPH)


def test_what_others_have_is_found_where_it_tells_and_not_where_it_does_not() -> None:
    found = {(one.relation, one.position): one for one in find_neighbourhoods(STORE)}
    assert found.keys() >= {(BOUGHT, 0), (BOUGHT, 1)}
    one = found[BOUGHT, 1]
    assert (one.given, one.named) == (0, 2000)
    assert one.right > 100  # ten of the fourteen things of the circle that are left
    assert list(find_neighbourhoods(STORE)) == list(found.values())


def test_a_neighbourhood_names_things_of_the_same_circle() -> None:
    neighbours = Neighbours(STORE, Neighbourhood(BOUGHT, 1, 0))
    facts = GRAPH.table("bought").columns
    rows, entities, shares = neighbours.named(facts)
    names = list(GRAPH.entities)
    for row, entity in zip(rows.tolist(), entities.tolist(), strict=True):
        circle = int(names[facts[0, row]][1:]) % 2
        assert names[entity].startswith(f"t{circle}-")
    new = ~GRAPH_HAS[facts[0, rows], entities]
    assert np.bincount(rows[new], shares[new]) == pytest.approx(1)
    unknown = np.full((2, 3), 10**6, np.int32)
    assert not len(neighbours.named(unknown)[0])


GRAPH_HAS = np.zeros((len(GRAPH.entities), len(GRAPH.entities)), np.bool_)
GRAPH_HAS[tuple(GRAPH.table("bought").columns)] = True


def test_a_fact_is_judged_as_if_it_were_not_known() -> None:
    facts = GRAPH.table("bought").columns
    whole = Neighbours(STORE, Neighbourhood(BOUGHT, 1, 0))
    for number in (0, 7, 100):
        others = [fact for fact in GRAPH if fact != ("bought", *(GRAPH.entities[one] for one in facts[:, number].tolist()))]
        store = FactStore(Hypergraph.of(others))
        without = Neighbours(store, Neighbourhood(BOUGHT, 1, 0))
        assert store.graph.entities == GRAPH.entities
        (left,), (right,) = whole.best(facts[:, [number]], STORE), without.best(facts[:, [number]], store)
        assert left == right


def test_evidence_adds_what_neighbours_say_and_survives_writing() -> None:
    plain = Evidence(GRAPH, [])
    evidence = Evidence(GRAPH, [], neighbourhoods=find_neighbourhoods(STORE))
    evidence.common = (np.arange(FEATURES) == FEATURES - 2).astype(np.float64)
    questions = GRAPH.table("bought").columns[:, :9]
    fired, bonus = evidence.fired(BOUGHT, 1, questions), evidence.bonus(BOUGHT, 1, questions)
    assert bonus is not None
    assert len(plain.fired(BOUGHT, 1, questions).rows) < len(fired.rows)
    named = fired.others > 0
    assert (bonus.values[named] > 0).all()
    again = Evidence.from_json(json.loads(json.dumps(evidence.to_json())), facts=GRAPH)
    assert again.to_json() == evidence.to_json()
    back = again.bonus(BOUGHT, 1, questions)
    assert back is not None
    assert np.array_equal(back.values, bonus.values)
    joined = Evidence.joined([evidence, evidence])
    assert joined.neighbours.keys() == evidence.neighbours.keys()


def test_a_neighbourhood_that_cannot_be_is_refused() -> None:
    plain = Neighbourhood(BOUGHT, 1, 0, 3, 20).to_json(schema=GRAPH.schema)
    assert Neighbourhood.from_json(plain, schema=GRAPH.schema) == Neighbourhood(BOUGHT, 1, 0, 3, 20)
    for change in ({"given": 1}, {"position": 2}, {"given": -1}, {"right": 21}):
        with mistake("damaged-file"):
            Neighbourhood.from_json({**plain, **change}, schema=GRAPH.schema)


def test_others_who_have_the_same_are_a_reason() -> None:
    evidence = Evidence(GRAPH, [], neighbourhoods=find_neighbourhoods(STORE))
    neighbours, facts = evidence.neighbours[BOUGHT, 1], GRAPH.table("bought").columns
    fact = next(each for each in facts.T if neighbours.among_the_best(each, STORE))
    reason = next(one for one in reasons(evidence, BOUGHT, fact) if one.answers == "argument 2")
    assert reason.rule == "bought(A, B) <- bought(A, Z), bought(Y, Z), bought(Y, B)"
    assert len(reason.facts) == 3
    both, others, shared = int(reason.facts[0].split()[0]), int(reason.facts[0].split()[2]), reason.facts[0].split()[5]
    having = GRAPH_HAS[:, GRAPH.entities.id(shared)]
    assert others == having.sum() - 1
    assert both == (having & GRAPH_HAS[:, fact[1]]).sum() - 1
    assert reason.facts[0].endswith(f"have {GRAPH.entities[int(fact[1])]}")
    stranger = np.array([fact[0], GRAPH.entities.id("f1")], np.int32)
    assert not reasons(evidence, BOUGHT, stranger)
