"""The chance of a new fact: what it is like at all positions tells it from an accident at one of them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from relatum.arrays import Bool
from relatum.data.hypergraph import Split
from relatum.data.vocabulary import Ids
from relatum.inference import new_fact_calibration
from relatum.inference.answer_calibration import AnswerCalibration, fit_answer_calibration
from relatum.inference.answer_sample import RIVALS, Answered
from relatum.inference.calibration import Reliability
from relatum.inference.new_fact_calibration import (
    AsAnswers,
    Candidates,
    NewFactCalibration,
    best_candidates,
    fit_new_fact_calibration,
    share_unnamed,
)
from support.made_answers import rivals_with
from support.made_models import made_graph
from support.mistakes import mistake

GRAPH = made_graph(entities=12, facts=40)
RELATION = 2
ARITY = GRAPH.schema[RELATION].arity


def answers() -> AnswerCalibration:
    """Return a calibration by which a fifth of the truth outside the training facts is validation facts."""
    rng = np.random.default_rng(0)
    rivals = rivals_with(rng.normal(size=(300, RIVALS)))
    right = (np.arange(RIVALS) == 0) & (rng.random((300, 1)) < 0.2)
    sample = Answered(RELATION, 0, np.zeros((ARITY, 300), np.int32), rivals, right, np.ones(300))
    found = fit_answer_calibration([sample], Split(GRAPH, GRAPH, GRAPH), 0.6)
    assert found is not None
    return found


ANSWERS = answers()
UNNAMED = np.full(len(GRAPH.schema), 0.1)


def drawn(count: int, seed: int) -> tuple[AsAnswers, np.ndarray]:
    """Return facts that are true by the lowest of their log-odds alone, and which are."""
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(0, 2, (ARITY, count))
    named = rng.random(count) < 0.5
    true = rng.random(count) < 1 / (1 + np.exp(-2 * log_odds.min(axis=0) - 1 - np.where(named, 0, np.log(UNNAMED[0]))))
    return AsAnswers(log_odds, rng.integers(0, 3, (ARITY, count)), named), true


def fitted(count: int = 8000) -> NewFactCalibration:
    found, true = drawn(count, seed=0)
    seen = true & (np.random.default_rng(1).random(count) < ANSWERS.valid)
    candidates = Candidates(RELATION, np.zeros((ARITY, count), np.int32), seen, np.ones(count))
    return fit_new_fact_calibration([(candidates, found)], GRAPH, ANSWERS, UNNAMED)


def test_of_facts_said_at_p_so_many_are_true() -> None:
    calibration = fitted()
    found, true = drawn(4000, seed=2)
    said = calibration.truth(RELATION, found)
    assert Reliability.of(said, true, np.ones(len(said))).error < 0.04
    assert said[:2000].mean() == pytest.approx(true[:2000].mean(), abs=0.04)
    first = np.argsort(-said)[:200]
    assert true[first].mean() > 0.85 > true.mean()


def test_what_is_known_lowers_the_chance_of_the_rest() -> None:
    """Of four true facts of which three are known, one is left among those that are not known."""
    calibration, found = fitted(), drawn(50, seed=3)[0]
    truth, new = calibration.truth(RELATION, found), calibration.new(RELATION, found)
    known = calibration.valid + calibration.test
    assert (new < truth).all()
    assert new == pytest.approx(truth * (1 - known) / (1 - truth + truth * (1 - known)))


def test_without_a_right_candidate_it_is_what_is_taken_to_hold() -> None:
    found, _ = drawn(30, seed=0)
    nothing = Candidates(RELATION, np.zeros((ARITY, 30), np.int32), np.zeros(30, np.bool_), np.ones(30))
    for judged in ([], [(nothing, found)]):
        same = fit_new_fact_calibration(judged, GRAPH, ANSWERS, UNNAMED).to_json()
        assert same == {**NewFactCalibration.unfitted(GRAPH.schema, ANSWERS).to_json(), "unnamed": UNNAMED.tolist()}


def test_candidates_are_new_answers_and_what_rules_always_name_is_unlikely_otherwise() -> None:
    rng = np.random.default_rng(4)
    questions = rng.integers(0, 12, (ARITY, 6)).astype(np.int32)
    rivals = rivals_with(rng.normal(size=(6, RIVALS)), np.array([0, 1, 0, 2, 1, 1]))
    rivals.entities[:, -1] = -1
    right = np.zeros((6, RIVALS), np.bool_)
    right[3, 2] = True
    (found,) = best_candidates(ANSWERS, [Answered(RELATION, 1, questions, rivals, right, np.arange(6.0))])
    assert found.facts.shape == (ARITY, 4 * (RIVALS - 1))
    assert set(found.weight) == {1.0, 3.0, 4.0, 5.0}
    (one,) = found.facts[:, found.right].T
    assert one[1] == 2
    assert (np.delete(one, 1) == np.delete(questions[:, 3], 1)).all()
    found, _ = drawn(40, seed=6)
    calibration = fitted()
    named, not_named = (calibration.truth(RELATION, found._replace(named=np.full(40, each))) for each in (True, False))
    assert (not_named < named).all()


def test_the_share_that_rules_do_not_name_is_drawn_to_that_of_all() -> None:
    class Named:
        def supports(self, relation: int, facts: Ids) -> Bool:
            return np.full(facts.shape[1], relation % 2 == 0)

        def bonus(self, relation: int, position: int, questions: Ids) -> None:
            return None

    sizes = np.array([len(GRAPH.table(name)) for name in GRAPH.schema.names])
    missed = np.where(np.arange(len(sizes)) % 2 == 0, 0, sizes)
    usual = (missed.sum() + 1) / (sizes.sum() + 1)
    assert share_unnamed(Named(), GRAPH) == pytest.approx((missed + usual) / (sizes + 1))
    assert (share_unnamed(None, GRAPH) == 1).all()


def test_no_more_candidates_are_taken_than_wanted_however_many_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_fact_calibration, "_CANDIDATES", 10)
    rivals, questions = rivals_with(np.zeros((6, RIVALS))), np.zeros((ARITY, 6), np.int32)
    equal = Answered(RELATION, 0, questions, rivals, np.zeros((6, RIVALS), np.bool_), np.ones(6))
    assert sum(len(one.right) for one in best_candidates(ANSWERS, [equal, equal])) == 10
    assert best_candidates(ANSWERS, []) == []


def test_it_is_kept_as_plain_data_and_anything_else_is_refused() -> None:
    calibration = fitted(500)
    plain = json.loads(json.dumps(calibration.to_json()))
    again = NewFactCalibration.from_json(plain, schema=GRAPH.schema)
    found, _ = drawn(20, seed=5)
    assert (again.new(RELATION, found) == calibration.new(RELATION, found)).all()
    relations = len(plain["offsets"])
    changes = {"weights": plain["weights"][1:], "offsets": ["a"], "unnamed": [0.0] * relations, "valid": 0.0, "test": 0.9}
    more = ("offsets", [0.0] * (relations + 1)), ("weights", [float("nan")] * len(plain["weights"])), ("offsets", None)
    for name, wrong in (*changes.items(), *more):
        with mistake("damaged-file"):
            NewFactCalibration.from_json({**plain, name: wrong}, schema=GRAPH.schema)
