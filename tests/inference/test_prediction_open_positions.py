"""The best facts with several open positions: trying all is right, and a beam comes near it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from relatum import KnownAnswers
from relatum.inference.prediction import best_facts
from relatum.inference.scoring import CandidateScorer, score
from relatum.models import MODELS
from relatum.models.base import Model, Parameters
from support.made_models import made_case, made_graph

GRAPH = made_graph(entities=12, facts=40)


def asked(name: str) -> tuple[Model, Parameters, int, torch.Tensor]:
    """Return a model, its tables, a relation of three positions, and the entities of one of its facts."""
    case = made_case(name, GRAPH)
    relations, columns = next(batch for batch in case.batches() if len(batch[1]) == 3)
    return case.model, case.model.encode(case.parameters()), int(relations[0]), columns[:, :1]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_trying_all_finds_the_best(name: str, count: int) -> None:
    model, tables, relation, given = asked(name)
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
    model, tables, relation, given = asked("reale")
    facts, _ = best_facts(CandidateScorer(model, tables, relation, KnownAnswers(GRAPH)), given, [0, 1, 2], 10**4, beam)
    name = GRAPH.schema[relation].name
    stored = set(map(tuple, GRAPH.table(name).columns.T.tolist()))
    found = set(map(tuple, facts.T.tolist()))
    assert stored
    assert not stored & found
    assert beam is not None or len(found) == 12**3 - len(stored)


@pytest.mark.parametrize("name", MODELS)
def test_a_beam_finds_most_of_the_best(name: str) -> None:
    model, tables, relation, given = asked(name)
    arguments = (CandidateScorer(model, tables, relation), given, [0, 1, 2], 5)
    exact, _ = best_facts(*arguments)
    found, scores = best_facts(*arguments, beam=60)
    best = set(map(tuple, exact.T.tolist()))
    assert len(best & set(map(tuple, found.T.tolist()))) >= 3
    assert torch.equal(scores, scores.sort(descending=True).values)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("beam", [None, 200])
def test_only_the_allowed_entities_stand_at_a_position(name: str, beam: int | None) -> None:
    (model, tables, relation, given), known = asked(name), KnownAnswers(GRAPH)
    allowed = [np.array(ids, np.int32) for ids in ([1, 4, 5, 9], [0, 2, 11])]
    stored = set(map(tuple, GRAPH.table(GRAPH.schema[relation].name).columns.T.tolist()))
    facts, scores = best_facts(CandidateScorer(model, tables, relation, known, [*allowed, None]), given, [0, 1], 99, beam)
    every = {(a, b, int(given[2, 0])) for a, b in itertools.product(*(ids.tolist() for ids in allowed))} - stored
    assert set(map(tuple, facts.T.tolist())) == every
    expected = score(model, tables, torch.full((len(every),), relation), facts)
    assert torch.allclose(scores, expected, rtol=1e-4, atol=1e-5)
    nobody = [np.empty(0, np.int32), None, None]
    found, _ = best_facts(CandidateScorer(model, tables, relation, known, nobody), given, [0, 1], 3, beam)
    assert found.shape == (3, 0)
