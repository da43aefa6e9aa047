"""Heights rise with scores, also where a calibration means the same by all of them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from relatum.inference.calibration import Calibration
from relatum.reasoning.bounds import ComparableScores
from support.dense_degrees import random_model


@pytest.mark.parametrize("slope", [0.0, 0.5, 40.0])
def test_scores_that_mean_the_same_are_told_apart(slope: float) -> None:
    model, _ = random_model(random.Random(0))
    relations = len(model.schema)
    flat = Calibration(np.full(relations, slope), np.zeros(relations), np.array([-9.0, 9.0]), np.array([1.0, 1.0]))
    scores = np.linspace(0, model.scale, 1000, dtype=np.float32).astype(np.float64)
    heights = ComparableScores(model, flat).of(0, scores)
    assert (np.diff(heights) > 0).all()
    np.testing.assert_allclose(ComparableScores(model, flat).truth(heights), flat.probability(0, scores), rtol=1e-6)
