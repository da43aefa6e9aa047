"""Ranking equals a plain count over all entities, question by question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pytest
import torch

from relatum import Hypergraph, KnownAnswers
from relatum.inference.ranking import rank
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


def test_repeated_facts_are_asked_about_as_often_as_they_are_there() -> None:
    graph = Hypergraph.of([("sold", "a", "b", "c")] * 3 + [("is", "a"), ("is", "d"), ("is", "d")])
    case = made_case("m-distmult", graph)
    ranks = rank(case.model, case.parameters(), graph, KnownAnswers(graph))
    assert len(ranks) == 3 * 3 + 3
    assert np.bincount(ranks.fact).tolist() == [1, 1, 1, 3, 3, 3]  # a question for each position of each fact
    assert sorted(ranks.position[ranks.fact == 3].tolist()) == [0, 1, 2]


def test_a_fact_that_is_among_the_known_ones_still_counts_against_the_rest_only() -> None:
    graph = Hypergraph.of([("is", "a"), ("is", "b"), ("r", "c", "d")])
    case = made_case("m-distmult", graph)
    parameters = case.parameters()
    parameters["entities"][:] = 1.0  # all tie
    ranks = rank(case.model, parameters, graph, KnownAnswers(graph))
    assert ranks.better.tolist() == [0] * 4
    assert ranks.equal.tolist() == [2, 2, 3, 3]
    assert rank(case.model, parameters, graph, None).equal.tolist() == [3, 3, 3, 3]


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
