"""The best facts that are not known: those that all answers to all questions give, without keeping these."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from relatum import Hypergraph, KnownAnswers
from relatum.data.vocabulary import Ids
from relatum.inference.prediction import AllQuestions, ListedQuestions, NewFacts, Questions, best_new_facts, questions_around
from relatum.inference.scoring import CandidateScorer, score, top
from relatum.models import MODELS
from relatum.models.base import Parameters
from support.made_models import Case, made_case, made_graph
from support.mistakes import mistake

Fact = tuple[int, ...]

GRAPH = made_graph(entities=40, facts=12)


def tables_of(case: Case, twins: int = 0) -> Parameters:
    """Return tables in which so many entities have a twin: facts with either have the same score."""
    tables = case.model.encode(case.parameters())
    entities = tables["entities"].clone()
    entities[:twins] = entities[len(entities) - twins :]
    return {**tables, "entities": entities}


def slow_truth(
    case: Case, tables: Parameters, relation: int, asked: ListedQuestions, allowed: list[Ids | None] | None = None
) -> list[tuple[float, Fact, int]]:
    """Return every new answer to every question: minus its score, fact, position; best first."""
    known, best = KnownAnswers(case.graph), dict[Fact, tuple[float, int]]()
    for position, columns in enumerate(asked.by_position):
        mine = None if allowed is None else allowed[position]
        there = known.lookup(np.full(columns.shape[1], relation, np.int32), columns, position)
        wide = torch.from_numpy(columns.astype(np.int64))
        found, scores = top(case.model, tables, relation, wide, position, case.model.num_entities, there)
        for question, entities, values in zip(columns.T.tolist(), found.tolist(), scores.tolist(), strict=True):
            for entity, value in zip(entities, values, strict=True):
                fact = (*question[:position], entity, *question[position + 1 :])
                if entity >= 0 and (mine is None or entity in mine):
                    best[fact] = min(best.get(fact, (np.inf, 0)), (-value, position))
    return sorted((value, fact, position) for fact, (value, position) in best.items())


def told(found: NewFacts) -> list[tuple[float, Fact, int]]:
    rows = zip((-found.scores).tolist(), map(tuple, found.columns.T.tolist()), found.positions.tolist(), strict=True)
    return list(rows)


def relations(graph: Hypergraph, *names: str) -> list[tuple[int, Ids]]:
    return [(graph.schema.id(name), graph.table(name).columns) for name in names]


@pytest.mark.parametrize("twins", [0, 15])
@pytest.mark.parametrize("name", ["a1", "a2", "b3", "a4", "b5"])
def test_they_are_those_that_all_answers_to_all_questions_give_to_the_bit(name: str, twins: int) -> None:
    case = made_case("reale", GRAPH)
    tables = tables_of(case, twins)
    ((relation, facts),) = relations(GRAPH, name)
    asked = questions_around(facts)
    truth = slow_truth(case, tables, relation, asked)
    assert twins == 0 or name == "a1" or len({value for value, _, _ in truth}) < len(truth)
    for most in (1, 2, 17, 100, 10**6):
        found = best_new_facts(CandidateScorer(case.model, tables, relation, KnownAnswers(GRAPH)), asked, most)
        assert told(found) == truth[:most]


@pytest.mark.parametrize("model", MODELS)
def test_every_fact_one_entity_away_is_looked_at(model: str) -> None:
    case = made_case(model, GRAPH)
    tables = tables_of(case)
    for relation, facts in relations(GRAPH, "a2", "b4", "b7"):
        stored = set(map(tuple, facts.T.tolist()))
        near = {
            (*fact[:position], entity, *fact[position + 1 :])
            for fact in stored
            for position in range(len(facts))
            for entity in range(40)
        }
        every = torch.tensor(sorted(near - stored)).T
        scores = score(case.model, tables, torch.full((every.shape[1],), relation), every)
        found = best_new_facts(
            CandidateScorer(case.model, tables, relation, KnownAnswers(GRAPH)), questions_around(facts), 10**6
        )
        assert sorted(map(tuple, found.columns.T.tolist())) == sorted(near - stored)
        wanted = scores.sort(descending=True).values.numpy()
        assert np.allclose(found.scores, wanted, rtol=1e-4, atol=1e-5)
        assert (np.diff(found.scores) <= 0).all()


def test_questions_are_distinct_and_all_there() -> None:
    facts = np.array([[0, 0, 1, 0], [2, 2, 2, 3]], np.int32)  # one of them twice
    asked = questions_around(facts).by_position
    assert [columns.tolist() for columns in asked] == [[[0, 0], [2, 3]], [[0, 1], [0, 0]]]
    assert len(questions_around(facts)) == 4
    every = AllQuestions([np.array([3, 5], np.int32), np.array([7], np.int32), np.array([1, 2], np.int32)])
    assert [(place, columns.tolist()) for place, columns in every.parts(1)] == [(2, [[3], [7], [0]]), (2, [[5], [7], [0]])]
    alone = AllQuestions([np.array([3, 5], np.int32)])
    assert [(place, columns.tolist()) for place, columns in alone.parts(9)] == [(0, [[0]])]


@pytest.mark.parametrize("name", ["a1", "a2", "b3"])
def test_all_facts_can_be_tried(name: str) -> None:
    case = made_case("reale", GRAPH)
    tables, everyone = tables_of(case, 6), np.arange(40, dtype=np.int32)
    ((relation, facts),) = relations(GRAPH, name)
    stored = set(map(tuple, facts.T.tolist()))
    every = torch.tensor([fact for fact in itertools.product(range(40), repeat=len(facts)) if fact not in stored]).T
    scores = score(case.model, tables, torch.full((every.shape[1],), relation), every)
    asked: Questions = AllQuestions([everyone] * len(facts))
    found = best_new_facts(CandidateScorer(case.model, tables, relation, KnownAnswers(GRAPH)), asked, 200)
    assert np.allclose(found.scores, scores.sort(descending=True).values[:200].numpy(), rtol=1e-5)
    assert not stored & set(map(tuple, found.columns.T.tolist()))
    assert len(np.unique(found.columns, axis=1).T) == len(found.scores) == min(200, every.shape[1])


def test_entities_can_be_kept_to_their_positions() -> None:
    case = made_case("reale", GRAPH)
    tables = tables_of(case, 10)
    ((relation, facts),) = relations(GRAPH, "b3")
    allowed: list[Ids | None] = [np.unique(facts[0]), None, np.arange(0, 40, 3, dtype=np.int32)]
    asked = questions_around(facts)
    truth = slow_truth(case, tables, relation, asked, allowed)
    for most in (5, 10**6):
        # Not to the bit: how sums are rounded depends on who the candidates are.
        found = best_new_facts(CandidateScorer(case.model, tables, relation, KnownAnswers(GRAPH), allowed), asked, most)
        assert np.allclose(-found.scores, [value for value, _, _ in truth[:most]], rtol=1e-5)
    assert sorted(map(tuple, found.columns.T.tolist())) == sorted(fact for _, fact, _ in truth)
    nobody: list[Ids | None] = [np.empty(0, np.int32)] * 3
    assert not len(
        best_new_facts(CandidateScorer(case.model, tables, relation, KnownAnswers(GRAPH), nobody), asked, 9).scores
    )


def test_a_least_score_and_one_answer_a_question() -> None:
    case = made_case("reale", GRAPH)
    tables = tables_of(case, 10)
    ((relation, facts),) = relations(GRAPH, "b4")
    asked, known = questions_around(facts), KnownAnswers(GRAPH)
    every = best_new_facts(CandidateScorer(case.model, tables, relation, known), asked, 10**6)
    least = float(every.scores[33])
    found = told(best_new_facts(CandidateScorer(case.model, tables, relation, known), asked, 10**6, least=least))
    assert found == [one for one in told(every) if -one[0] >= least]
    assert 34 <= len(found) < len(every.scores)
    above = np.nextafter(least, np.inf)  # in float64, which no score reaches that is equal to `least` in float32
    more = told(best_new_facts(CandidateScorer(case.model, tables, relation, known), asked, 10**6, least=above))
    assert more == [one for one in told(every) if -one[0] > least]
    firsts = best_new_facts(CandidateScorer(case.model, tables, relation, known), asked, 10**6, answers=1)
    assert 0 < len(firsts.scores) <= len(asked)
    assert set(told(firsts)) <= set(told(every))


def test_many_answers_to_few_questions_are_found_and_counted_once() -> None:
    graph = Hypergraph.of([("sold", f"e{n:03}", f"e{n + 1:03}") for n in range(700)])
    case = made_case("reale", graph)
    tables = tables_of(case, 300)
    relation, facts = 0, graph.table("sold").columns[:, :9]
    done: list[int] = []
    for most in (4, 40, 400, 4000):
        done.clear()
        asked = questions_around(facts)
        found = best_new_facts(
            CandidateScorer(case.model, tables, relation, KnownAnswers(graph)), asked, most, advance=done.append
        )
        assert told(found) == slow_truth(case, tables, relation, asked)[:most]
        assert sum(done) == len(asked)


def test_without_questions_there_are_no_facts() -> None:
    case = made_case("reale", GRAPH)
    nothing = ListedQuestions([np.empty((2, 0), np.int32)] * 2)
    found = best_new_facts(
        CandidateScorer(case.model, tables_of(case), GRAPH.schema.id("a2"), KnownAnswers(GRAPH)), nothing, 5
    )
    assert found.columns.shape == (2, 0)


def test_a_score_that_is_no_number_is_an_error() -> None:
    case = made_case("reale", GRAPH)
    tables = tables_of(case)
    tables["entities"][3] = torch.nan
    ((relation, facts),) = relations(GRAPH, "a2")
    with mistake("not-finite"):
        best_new_facts(CandidateScorer(case.model, tables, relation, KnownAnswers(GRAPH)), questions_around(facts), 5)
