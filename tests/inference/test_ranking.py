"""Ranking equals a plain count over all entities, question by question; ranks by three rules for ties, and their metrics."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from relatum import Hypergraph, KnownAnswers
from relatum.inference.ranking import Metrics, Ranks, rank
from relatum.models.base import Parameters
from support.made_models import Case, made_case
from support.mistakes import mistake
from support.strategies import Fact, restrict

Filter = dict[tuple[object, ...], set[str]]


def drawn_facts(chance: np.random.Generator) -> list[Fact]:
    """Return facts of arity 1 to 4 over few entities, some of them more than once."""
    entities = int(chance.integers(2, 40))
    rows: list[Fact] = [("every", f"e{entity:02}") for entity in range(entities)]
    for arity in range(1, 5):
        for _ in range(int(chance.integers(1, 15))):
            rows.append((f"r{arity}", *(f"e{entity:02}" for entity in chance.integers(0, entities, arity))))
    return rows + [rows[number] for number in chance.integers(0, len(rows), 5)]


def drawn_case(name: str, chance: np.random.Generator) -> tuple[Case, Parameters, Hypergraph, Hypergraph]:
    """Return a model, parameters with many ties, training facts and held-out facts."""
    rows = drawn_facts(chance)
    graph = Hypergraph.of(rows)
    held_out = chance.random(len(rows)) < 0.3
    train, held = (restrict(graph, [rows[n] for n in np.flatnonzero(part)]) for part in (~held_out, held_out))
    case = made_case(name, train)
    parameters = case.parameters(int(chance.integers(1 << 30)))
    if name != "reale":  # sums of small whole numbers are exact in any order, so ties are ties
        parameters = {key: (2 * tensor).round() for key, tensor in parameters.items()}
    entities = parameters["entities"]
    twins = chance.integers(0, len(entities), (2, len(entities) // 2))
    entities[twins[0]] = entities[twins[1]]
    return case, parameters, train, held


def filter_of(*graphs: Hypergraph) -> Filter:
    """Return (relation, position, the other entities) → answers."""
    found: Filter = defaultdict(set)
    for relation, *entities in (fact for graph in graphs for fact in graph):
        for position, entity in enumerate(entities):
            found[relation, position, *entities[:position], *entities[position + 1 :]].add(entity)
    return found


@torch.no_grad()
def scores_of(case: Case, parameters: Parameters, fact: Fact, position: int) -> list[float]:
    """Return the scores of all entities at a position of a fact."""
    tables = case.model.encode(parameters)
    relation = torch.tensor(case.graph.schema.id(fact[0]))
    columns = torch.from_numpy(case.graph.entities.ids(fact[1:]).astype(np.int64))[:, None]
    queries = case.model.queries(tables, relation[None], columns, position)
    candidates = case.model.candidates(tables, relation, position, None)
    found: list[float] = case.model.combine(tables).matrix(queries, candidates)[0].tolist()
    return found


@pytest.mark.parametrize("filtered", [True, False])
@pytest.mark.parametrize("name", ["reale", "m-distmult", "nalp", "hinge"])
def test_ranks_equal_a_plain_count(name: str, filtered: bool, count: Callable[[int, int], int]) -> None:
    asked = compared = ties = seed = 0
    while asked < count(100, 10_000):
        case, parameters, train, held = drawn_case(name, np.random.default_rng(seed))
        seed += 1
        ranks = rank(case.model, parameters, held, KnownAnswers(train, held) if filtered else None)
        known = filter_of(train, held) if filtered else {}
        names = list(case.graph.entities)
        facts = list(held)
        for number in range(len(ranks)):
            fact, position = facts[ranks.fact[number]], int(ranks.position[number])
            assert case.graph.schema[int(ranks.relation[number])].name == fact[0]
            assert ranks.arity[number] == len(fact) - 1
            scores = dict(zip(names, scores_of(case, parameters, fact, position), strict=True))
            truth, others = fact[1 + position], (*fact[1 : 1 + position], *fact[2 + position :])
            target = scores.pop(truth)
            asked += 1
            if any(0 < abs(score - target) < 1e-5 for score in scores.values()):
                continue  # another order of summing may turn these two round
            left_out = known.get((fact[0], position, *others), set())
            rivals = [score for entity, score in scores.items() if entity not in left_out]
            assert ranks.better[number] == sum(score > target for score in rivals)
            assert ranks.equal[number] == sum(score == target for score in rivals)
            compared += 1
            ties += bool(ranks.equal[number])
    assert compared > 0.97 * asked
    assert ties > 0.1 * asked


def made(name: str = "m-distmult") -> tuple[Case, Parameters, Hypergraph, Hypergraph]:
    return drawn_case(name, np.random.default_rng(3))


@pytest.mark.parametrize("name", ["reale", "m-distmult", "nalp", "neuinfer", "hinge"])
def test_a_nan_is_an_error_that_names_the_relation(name: str) -> None:
    case, parameters, train, held = made(name)
    only = restrict(held, [fact for fact in held if fact[0] == "r3"])
    assert len(only)
    parameters["entities"][0] = torch.nan
    with mistake("not-finite"):
        rank(case.model, parameters, only, KnownAnswers(train))


def test_unseen_marks_all_questions_of_a_fact_with_an_entity_that_training_never_saw() -> None:
    graph = Hypergraph.of([("r", "a", "b"), ("r", "b", "a"), ("r", "a", "new"), ("is", "new"), ("is", "a")])
    train = restrict(graph, [("r", "a", "b")])
    case = made_case("m-distmult", graph)
    ranks = rank(case.model, case.parameters(), graph, None, train)
    assert ranks.unseen[ranks.arity == 1].tolist() == [False, True]  # a, new
    facts = [fact for fact in graph for _ in fact[1:]]
    asked = [list(graph)[number] for number in ranks.fact]
    assert sorted(asked) == sorted(facts)
    assert ranks.unseen.tolist() == ["new" in fact for fact in asked]
    assert not rank(case.model, case.parameters(), graph, None).unseen.any()


def ranks_of(better: list[int], equal: list[int]) -> Ranks:
    """Return ranks of as many facts of arity 1."""
    number = np.arange(len(better))
    ones, zeros = np.ones_like(number), np.zeros_like(number)
    return Ranks(np.array(better, np.int64), np.array(equal, np.int64), number, zeros, ones, zeros, number % 2 == 1)


COUNTS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=20)


@pytest.mark.parametrize(("better", "equal"), [(0, 0), (0, 3), (2, 1), (3, 2)])
def test_the_rules_are_the_best_the_worst_and_the_mean_place_over_all_orders_of_ties(better: int, equal: int) -> None:
    orders = itertools.permutations(["true", *["tied"] * equal])
    places = [1 + better + order.index("true") for order in orders]
    ranks = ranks_of([better], [equal])
    assert ranks.optimistic[0] == min(places)
    assert ranks.pessimistic[0] == max(places)
    assert ranks.realistic[0] == pytest.approx(np.mean(places))


def test_metrics_of_hand_made_ranks() -> None:
    metrics = ranks_of([0, 1, 4, 20], [0, 3, 0, 0]).metrics  # realistic ranks 1, 3.5, 5, 21
    assert metrics.questions == 4
    assert metrics.mrr == pytest.approx((1 + 1 / 3.5 + 1 / 5 + 1 / 21) / 4)
    assert metrics.hits == {1: 0.25, 3: 0.25, 10: 0.75}
    assert metrics.mean_rank == pytest.approx(30.5 / 4)
    assert metrics.mrr_optimistic == pytest.approx((1 + 1 / 2 + 1 / 5 + 1 / 21) / 4)
    assert metrics.mrr_pessimistic == pytest.approx((1 + 1 / 5 + 1 / 5 + 1 / 21) / 4)
    assert metrics.ties == 1


def test_a_rank_equal_to_k_is_a_hit() -> None:
    assert Metrics.of(ranks_of([0, 2, 9], [0, 0, 0])).hits == {1: pytest.approx(1 / 3), 3: pytest.approx(2 / 3), 10: 1.0}


def test_json_has_the_names_that_programs_read() -> None:
    found = json.loads(json.dumps(Metrics.of(ranks_of([0, 1], [0, 1])).to_json()))
    assert found == {
        "mrr": pytest.approx((1 + 1 / 2.5) / 2),
        "hits@1": 0.5,
        "hits@3": 1.0,
        "hits@10": 1.0,
        "mean_rank": 1.75,
        "questions": 2,
        "ties": 1,
        "mrr_optimistic": 0.75,
        "mrr_pessimistic": pytest.approx((1 + 1 / 3) / 2),
    }


def test_metrics_of_no_questions_are_zero() -> None:
    none, some = (Metrics.of(ranks_of(each, each)).to_json() for each in ([], [0]))
    assert not any(none.values())
    assert {name: type(value) for name, value in none.items()} == {name: type(value) for name, value in some.items()}


@given(COUNTS, st.data())
def test_chosen_questions_and_the_rest_join_to_the_whole(drawn: list[tuple[int, int]], data: st.DataObject) -> None:
    ranks = ranks_of(*map(list, zip(*drawn, strict=True)))
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=len(ranks), max_size=len(ranks))))
    kept, rest = ranks.where(chosen), ranks.where(~chosen)
    assert (len(kept), len(rest)) == (chosen.sum(), (~chosen).sum())
    joined = Ranks.join([kept, rest])
    order = np.concatenate([np.flatnonzero(chosen), np.flatnonzero(~chosen)])
    for name in ("better", "equal", "fact", "relation", "arity", "position", "unseen"):
        assert np.array_equal(getattr(joined, name), getattr(ranks, name)[order]), name
