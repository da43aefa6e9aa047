"""Comparable logits rise with scores, also where a calibration gives all of them one probability."""

from __future__ import annotations

import random

import numpy as np
import pytest

from relatum.inference.calibration import Calibration
from relatum.reasoning.bounds import ComparableScores
from support.dense_degrees import random_model


@pytest.mark.parametrize("slope", [0.0, 0.5, 40.0])
def test_scores_of_equal_probability_keep_their_order(slope: float) -> None:
    model, _ = random_model(random.Random(0))
    relations = len(model.schema)
    flat = Calibration(np.full(relations, slope), np.zeros(relations), np.array([-9.0, 9.0]), np.array([1.0, 1.0]))
    scores = np.linspace(0, model.scale, 1000, dtype=np.float32).astype(np.float64)
    logits = ComparableScores(model, flat).logits(0, scores)
    assert (np.diff(logits) > 0).all()
    np.testing.assert_allclose(ComparableScores(model, flat).probability(logits), flat.probability(0, scores), rtol=1e-6)
