"""The best facts that are not known: those that all answers to all questions give, or with several positions open."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from relatum import Hypergraph, KnownAnswers
from relatum.data.vocabulary import Ids
from relatum.inference.prediction import (
    AllQuestions,
    ListedQuestions,
    NewFacts,
    Questions,
    best_facts,
    best_new_facts,
    questions_around,
)
from relatum.inference.scoring import CandidateScorer, score, top
from relatum.models import MODELS
from relatum.models.base import Model, Parameters
from support.made_models import made_case, made_graph
from support.mistakes import mistake

Fact = tuple[int, ...]

GRAPH = made_graph(entities=40, facts=12)


class Asked:
    """A model without training, the facts of a relation, and what is found around them."""

    def __init__(self, name: str, model: str = "reale", twins: int = 0, graph: Hypergraph = GRAPH) -> None:
        """Take tables in which so many entities have a twin: facts with either have the same score."""
        self.case, self.relation, self.known = made_case(model, graph), graph.schema.id(name), KnownAnswers(graph)
        self.facts = graph.table(name).columns
        tables = self.case.model.encode(self.case.parameters())
        entities = tables["entities"].clone()
        entities[:twins] = entities[len(entities) - twins :]
        self.tables = {**tables, "entities": entities}

    def best(
        self, most: int, asked: Questions | None = None, allowed: Sequence[Ids | None] | None = None, **more: Any
    ) -> NewFacts:
        scorer = CandidateScorer(self.case.model, self.tables, self.relation, self.known, allowed)
        return best_new_facts(scorer, questions_around(self.facts) if asked is None else asked, most, **more)

    def scores(self, facts: Iterable[Fact]) -> np.ndarray:
        """Return the scores of facts, the best first."""
        columns = torch.tensor(list(facts)).T
        found = score(self.case.model, self.tables, torch.full((columns.shape[1],), self.relation), columns)
        return found.sort(descending=True).values.numpy()

    def slow_truth(self, allowed: Sequence[Ids | None] | None = None) -> list[tuple[float, Fact, int]]:
        """Return every new answer to every question: minus its score, fact, position; best first."""
        best, model = dict[Fact, tuple[float, int]](), self.case.model
        for position, columns in enumerate(questions_around(self.facts).by_position):
            mine = None if allowed is None else allowed[position]
            there = self.known.lookup(np.full(columns.shape[1], self.relation, np.int32), columns, position)
            wide = torch.from_numpy(columns.astype(np.int64))
            found, scores = top(model, self.tables, self.relation, wide, position, model.num_entities, there)
            for question, entities, values in zip(columns.T.tolist(), found.tolist(), scores.tolist(), strict=True):
                for entity, value in zip(entities, values, strict=True):
                    fact = (*question[:position], entity, *question[position + 1 :])
                    if entity >= 0 and (mine is None or entity in mine):
                        best[fact] = min(best.get(fact, (np.inf, 0)), (-value, position))
        return sorted((value, fact, position) for fact, (value, position) in best.items())


def told(found: NewFacts) -> list[tuple[float, Fact, int]]:
    rows = zip((-found.scores).tolist(), map(tuple, found.columns.T.tolist()), found.positions.tolist(), strict=True)
    return list(rows)


def facts_of(columns: Ids) -> set[Fact]:
    return set(map(tuple, columns.T.tolist()))


@pytest.mark.parametrize("twins", [0, 15])
@pytest.mark.parametrize("name", ["a1", "a2", "b3", "a4", "b5"])
def test_they_are_those_that_all_answers_to_all_questions_give_to_the_bit(name: str, twins: int) -> None:
    asked = Asked(name, twins=twins)
    truth = asked.slow_truth()
    assert twins == 0 or name == "a1" or len({value for value, _, _ in truth}) < len(truth)
    for most in (1, 2, 17, 100, 10**6):
        assert told(asked.best(most)) == truth[:most]


@pytest.mark.parametrize("model", MODELS)
def test_every_fact_one_entity_away_is_looked_at(model: str) -> None:
    for asked in (Asked(name, model) for name in ("a2", "b4", "b7")):
        stored = facts_of(asked.facts)
        near = {
            (*fact[:position], entity, *fact[position + 1 :])
            for fact in stored
            for position in range(len(asked.facts))
            for entity in range(40)
        }
        found = asked.best(10**6)
        assert sorted(map(tuple, found.columns.T.tolist())) == sorted(near - stored)
        assert np.allclose(found.scores, asked.scores(near - stored), rtol=1e-4, atol=1e-5)
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
    asked, everyone = Asked(name, twins=6), np.arange(40, dtype=np.int32)
    stored, arity = facts_of(asked.facts), len(asked.facts)
    every = [fact for fact in itertools.product(range(40), repeat=arity) if fact not in stored]
    found = asked.best(200, AllQuestions([everyone] * arity))
    assert np.allclose(found.scores, asked.scores(every)[:200], rtol=1e-5)
    assert not stored & facts_of(found.columns)
    assert len(np.unique(found.columns, axis=1).T) == len(found.scores) == min(200, len(every))


def test_entities_can_be_kept_to_their_positions() -> None:
    asked = Asked("b3", twins=10)
    allowed: list[Ids | None] = [np.unique(asked.facts[0]), None, np.arange(0, 40, 3, dtype=np.int32)]
    truth = asked.slow_truth(allowed)
    for most in (5, 10**6):
        # Not to the bit: how sums are rounded depends on who the candidates are.
        found = asked.best(most, allowed=allowed)
        assert np.allclose(-found.scores, [value for value, _, _ in truth[:most]], rtol=1e-5)
    assert sorted(map(tuple, found.columns.T.tolist())) == sorted(fact for _, fact, _ in truth)
    assert not len(asked.best(9, allowed=[np.empty(0, np.int32)] * 3).scores)


def test_a_least_score_and_one_answer_a_question() -> None:
    asked = Asked("b4", twins=10)
    every = asked.best(10**6)
    least = float(every.scores[33])
    found = told(asked.best(10**6, least=least))
    assert found == [one for one in told(every) if -one[0] >= least]
    assert 34 <= len(found) < len(every.scores)
    above = np.nextafter(least, np.inf)  # in float64, which no score reaches that is equal to `least` in float32
    assert told(asked.best(10**6, least=above)) == [one for one in told(every) if -one[0] > least]
    firsts = asked.best(10**6, answers=1)
    assert 0 < len(firsts.scores) <= len(questions_around(asked.facts))
    assert set(told(firsts)) <= set(told(every))


def test_many_answers_to_few_questions_are_found_and_counted_once() -> None:
    asked = Asked("sold", twins=300, graph=Hypergraph.of([("sold", f"e{n:03}", f"e{n + 1:03}") for n in range(700)]))
    asked.facts = asked.facts[:, :9]
    for most in (4, 40, 400, 4000):
        done: list[int] = []
        assert told(asked.best(most, advance=done.append)) == asked.slow_truth()[:most]
        assert sum(done) == len(questions_around(asked.facts))


def test_without_questions_there_are_no_facts_and_a_score_that_is_no_number_is_an_error() -> None:
    asked = Asked("a2")
    assert asked.best(5, ListedQuestions([np.empty((2, 0), np.int32)] * 2)).columns.shape == (2, 0)
    asked.tables["entities"][3] = torch.nan
    with mistake("not-finite"):
        asked.best(5)


DENSE = made_graph(entities=12, facts=40)


def given_by(name: str) -> tuple[Model, Parameters, int, torch.Tensor]:
    """Return a model, its tables, a relation of three positions, and the entities of one of its facts."""
    case = made_case(name, DENSE)
    relations, columns = next(batch for batch in case.batches() if len(batch[1]) == 3)
    return case.model, case.model.encode(case.parameters()), int(relations[0]), columns[:, :1]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_trying_all_finds_the_best(name: str, count: int) -> None:
    model, tables, relation, given = given_by(name)
    for positions in map(list, itertools.combinations(range(3), count)):
        facts, scores = best_facts(CandidateScorer(model, tables, relation), given, positions, 7)
        all_facts = given.repeat(1, 12**count)
        all_facts[positions] = torch.tensor(list(itertools.product(range(12), repeat=count))).T
        every = score(model, tables, torch.full((12**count,), relation), all_facts)
        assert torch.allclose(scores, every.sort(descending=True).values[:7], rtol=1e-4, atol=1e-5)
        assert torch.allclose(scores, score(model, tables, torch.full((7,), relation), facts), rtol=1e-4, atol=1e-5)
        assert len(np.unique(facts.numpy(), axis=1).T) == 7
        others = [place for place in range(3) if place not in positions]
        assert torch.equal(facts[others], given[others].expand(-1, 7))


@pytest.mark.parametrize("beam", [None, 20])
def test_known_facts_can_be_left_out(beam: int | None) -> None:
    model, tables, relation, given = given_by("reale")
    facts, _ = best_facts(CandidateScorer(model, tables, relation, KnownAnswers(DENSE)), given, [0, 1, 2], 10**4, beam)
    name = DENSE.schema[relation].name
    stored = set(map(tuple, DENSE.table(name).columns.T.tolist()))
    found = set(map(tuple, facts.T.tolist()))
    assert stored
    assert not stored & found
    assert beam is not None or len(found) == 12**3 - len(stored)


@pytest.mark.parametrize("name", MODELS)
def test_a_beam_finds_most_of_the_best(name: str) -> None:
    model, tables, relation, given = given_by(name)
    arguments = (CandidateScorer(model, tables, relation), given, [0, 1, 2], 5)
    exact, _ = best_facts(*arguments)
    found, scores = best_facts(*arguments, beam=60)
    best = set(map(tuple, exact.T.tolist()))
    assert len(best & set(map(tuple, found.T.tolist()))) >= 3
    assert torch.equal(scores, scores.sort(descending=True).values)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("beam", [None, 200])
def test_only_the_allowed_entities_stand_at_a_position(name: str, beam: int | None) -> None:
    (model, tables, relation, given), known = given_by(name), KnownAnswers(DENSE)
    allowed = [np.array(ids, np.int32) for ids in ([1, 4, 5, 9], [0, 2, 11])]
    stored = set(map(tuple, DENSE.table(DENSE.schema[relation].name).columns.T.tolist()))
    facts, scores = best_facts(CandidateScorer(model, tables, relation, known, [*allowed, None]), given, [0, 1], 99, beam)
    every = {(a, b, int(given[2, 0])) for a, b in itertools.product(*(ids.tolist() for ids in allowed))} - stored
    assert set(map(tuple, facts.T.tolist())) == every
    expected = score(model, tables, torch.full((len(every),), relation), facts)
    assert torch.allclose(scores, expected, rtol=1e-4, atol=1e-5)
    nobody = [np.empty(0, np.int32), None, None]
    found, _ = best_facts(CandidateScorer(model, tables, relation, known, nobody), given, [0, 1], 3, beam)
    assert found.shape == (3, 0)
