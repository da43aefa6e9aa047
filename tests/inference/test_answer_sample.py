"""Questions that held-out and known facts answer: each stands for as many as it should, and the right ones are right."""

from __future__ import annotations

import numpy as np
import pytest

from relatum import Hypergraph, KnownAnswers
from relatum.inference import answer_sample as sampling
from relatum.inference.answer_sample import RIVALS, answer_sample, sampled_facts
from relatum.inference.scoring import CandidateScorer
from support.made_models import made_case, made_graph
from support.strategies import restrict

GRAPH = made_graph(entities=25, facts=60)
ROWS = sorted(set(GRAPH))
KNOWN, HELD = restrict(GRAPH, [one for n, one in enumerate(ROWS) if n % 4]), restrict(GRAPH, ROWS[::4])
CASE = made_case("reale", GRAPH)
TABLES = CASE.model.encode(CASE.parameters())


def scorer(relation: int, known: KnownAnswers) -> CandidateScorer:
    return CandidateScorer(CASE.model, TABLES, relation, known)


def questions(facts: Hypergraph, position: int, name: str) -> set[tuple[str, ...]]:
    return {(*fact[1 : position + 1], *fact[position + 2 :]) for fact in facts if fact[0] == name}


def test_each_question_counts_once_however_many_facts_answer_it() -> None:
    found = list(answer_sample(scorer, KNOWN, HELD))
    assert len(found) == sum(relation.arity for relation in GRAPH.schema)
    for one in found:
        name = GRAPH.schema[one.relation].name
        known, held = questions(KNOWN, one.position, name), questions(HELD, one.position, name)
        assert one.weight.sum() == pytest.approx(len(known | held))
        open_ones = one.rivals.known == 0
        assert one.weight[open_ones].sum() == pytest.approx(len(held - known))


def test_the_right_candidates_are_the_held_out_ones_and_known_ones_are_no_candidates() -> None:
    held = {fact for fact in HELD if fact[0] == "a2"}
    found = next(one for one in answer_sample(scorer, KNOWN, HELD) if GRAPH.schema[one.relation].name == "a2")
    assert found.position == 0
    assert found.right.any(1).any()
    assert (found.rivals.entities >= 0).sum(1).max() <= RIVALS
    names = list(GRAPH.entities)
    right = {names[entity] for entity in found.rivals.entities[found.right].tolist()}
    assert right <= {fact[1] for fact in held}
    assert (np.diff(np.where(np.isfinite(found.rivals.scores), found.rivals.scores, -1e9), axis=1) <= 0).all()


def test_of_many_facts_some_are_taken_and_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sum(one.weight.sum() for one in answer_sample(scorer, KNOWN, HELD))
    for name in ("_HELD_OUT", "_KNOWN"):
        monkeypatch.setattr(sampling, name, 150)
    done: list[int] = []
    some = list(answer_sample(scorer, KNOWN, HELD, done.append))
    assert sum(len(one.weight) for one in some) < 5 * 300
    assert sum(one.weight.sum() for one in some) == pytest.approx(whole, rel=0.3)
    assert sampled_facts(KNOWN, HELD) == 300
    assert sum(done) == pytest.approx(300, rel=0.3)
