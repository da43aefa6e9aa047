"""The chance of an answer: a softmax where one of the candidates is right, and low where nothing is missing."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from relatum import Hypergraph, Split
from relatum.arrays import Bool
from relatum.inference import answer_calibration
from relatum.inference.answer_calibration import AnswerCalibration, fit_answer_calibration
from relatum.inference.answer_sample import RIVALS, Answered, Rivals
from relatum.inference.calibration import Reliability
from support.made_answers import rivals_with
from support.made_models import made_graph
from support.mistakes import mistake

GRAPH = made_graph(entities=12, facts=40)
EMPTY = GRAPH.__class__(GRAPH.entities, GRAPH.schema, [])
SPLIT = Split(GRAPH, GRAPH, GRAPH)


def answered(count: int, share: float, known: int, seed: int) -> tuple[Answered, Bool]:
    """Return questions whose answer, which is drawn by a softmax, is a validation fact so often; and which it is."""
    rng = np.random.default_rng(seed)
    found = rivals_with(3 * rng.normal(size=(count, RIVALS)), known)
    chances = np.exp(found.scores) / np.exp(found.scores).sum(1, keepdims=True)
    drawn = (chances.cumsum(1) > rng.random((count, 1))).argmax(1)
    truth = np.arange(RIVALS) == drawn[:, None]
    questions, seen = np.zeros((2, count), np.int32), truth & (rng.random((count, 1)) < share)
    return Answered(0, 0, questions, found, seen, np.ones(count)), truth


def fitted(*parts: Answered, split: Split = SPLIT, observed: float | None = None) -> AnswerCalibration:
    found = fit_answer_calibration(parts, split, observed)
    assert found is not None
    return found


def test_where_one_candidate_is_right_it_is_a_softmax() -> None:
    calibration = fitted(answered(1500, 1.0, 0, seed=0)[0])
    other, truth = answered(1500, 1.0, 0, seed=1)
    best = other.rivals.scores
    said = calibration.new(0, 0, best, other.rivals, np.ones_like(truth))
    assert Reliability.of(said.ravel(), truth.ravel(), np.ones(said.size)).error < 0.02
    assert said.sum(1).mean() == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("parts", [1, 2])
def test_what_validation_facts_do_not_show_is_corrected_for_and_so_is_what_is_left_out(parts: int) -> None:
    """Of the true answers three of ten are validation facts, and as many test facts, which are left out, or are not."""
    calibration = fitted(answered(3000, 0.3, 1, seed=0)[0], observed=9 / 13)
    assert calibration.valid == calibration.test == pytest.approx(0.3)
    assert calibration.known_with(SPLIT, GRAPH) == 0
    known = calibration.known_with(SPLIT, None if parts == 2 else Hypergraph.union([GRAPH, GRAPH]))
    assert known == pytest.approx(0.3 * parts)
    other, truth = answered(2000, 1.0, 1, seed=1)
    hidden = np.random.default_rng(2).random(2000) < 1 - 0.3 * parts
    said = calibration.new(0, 0, other.rivals.scores, other.rivals, np.ones_like(truth), known)[:, 0]
    if parts == 2:
        assert np.array_equal(said, calibration.new(0, 0, other.rivals.scores, other.rivals, np.ones_like(truth))[:, 0])
    new, asked = truth[:, 0] & hidden, hidden | ~truth[:, 0]  # the best candidate is not known
    assert Reliability.of(said[asked], new[asked], np.ones(int(asked.sum()))).error < 0.1
    assert said[asked].mean() == pytest.approx(new[asked].mean(), abs=0.1)


def test_where_nothing_is_missing_a_new_answer_is_unlikely_and_higher_scores_likelier() -> None:
    both, truth = answered(1500, 1.0, 1, seed=0)
    found = fitted(both, split=Split(GRAPH, GRAPH, EMPTY))
    said = found.new(0, 0, both.rivals.scores, both.rivals, np.ones_like(truth))
    assert np.quantile(said[:, 0], 0.9) < 0.7
    calibration = fitted(answered(500, 0.5, 1, seed=0)[0])
    found = rivals_with(np.linspace(-3, 3, RIVALS)[None])
    scores = np.linspace(-30, 30, 400)[None]
    for known in (0, 1, 50):
        said = calibration.new(0, 0, scores, found._replace(known=np.array([known])), np.zeros((1, 400), np.bool_))
        assert (np.diff(said) > 0).all()
    among = calibration.new(0, 0, found.scores, found, np.ones((1, RIVALS), np.bool_))
    assert (np.diff(among) < 0).all()
    alone = Rivals(np.full((1, RIVALS), -np.inf), np.full((1, RIVALS), -1, np.int32), np.zeros(1, np.int64))
    assert np.isfinite(calibration.new(0, 0, np.zeros(1), alone, np.zeros(1, np.bool_))).all()
    none = Rivals(*(each[:0] for each in alone))
    assert calibration.new(0, 0, np.zeros(0), none, np.zeros(0, np.bool_)).shape == (0,)


KNOWN = {"starts": GRAPH.schema.starts, "positions": int(GRAPH.schema.starts[-1])}


def test_plain_data_says_it_and_anything_else_is_refused() -> None:
    calibration = fitted(answered(200, 0.5, 1, seed=0)[0])
    plain = json.loads(json.dumps(calibration.to_json()))
    again = AnswerCalibration.from_json(plain, **KNOWN)
    assert again.to_json() == calibration.to_json()
    falling = [[[0.0, 1.0], [1.0, 0.0]]] * 2
    changes = {"weights": [[1]], "centres": "x", "scale": 0, "valid": 0.9, "observed": float("nan"), "curves": falling}
    for name, wrong in (*changes.items(), ("valid", 0), ("curves", [[], []]), ("curves", 3), ("scale", [1.0])):
        with mistake("damaged-file"):
            AnswerCalibration.from_json({**plain, name: wrong}, **KNOWN)
    assert fit_answer_calibration([], SPLIT) is None


def test_log_odds_are_those_that_weights_were_fitted_with() -> None:
    rng = np.random.default_rng(4)
    weights, scores = rng.normal(size=6), 3 * rng.normal(size=(20, RIVALS))
    scores[3, 5:] = -1e6  # as where there are fewer rivals
    known = np.arange(20) % 4
    fitted_with = answer_calibration._logits(*map(torch.from_numpy, (np.tile(weights, (20, 1)), scores, known))).numpy()
    found = answer_calibration._logits_at(weights, scores, scores, np.ones(scores.shape, np.bool_), known)
    np.testing.assert_allclose(found, fitted_with, rtol=1e-9, atol=1e-9)
