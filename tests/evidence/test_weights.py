"""Weights are learned from validation questions: rules that are right weigh much, rules that are wrong do not."""

from __future__ import annotations

import numpy as np

from relatum.evidence.evidence import FEATURES
from relatum.evidence.weights import _fitted, _Group, _that_help


def group_of(group: tuple[int, int], helpful: bool, seed: int) -> _Group:
    """Return questions with 20 candidates of random scores, whose answer, or another one, has evidence."""
    rng = np.random.default_rng(seed)
    features = np.zeros((60, 20, FEATURES))
    features[:, 0 if helpful else 7, :-1] = 2.0
    scores = rng.normal(size=(60, 20))
    scores[:, 0] += 1
    rows = np.repeat(np.arange(60), 20)
    flat = features.reshape(-1, FEATURES)
    return _Group(group, rows, scores.ravel(), flat, np.zeros(1200), np.arange(60) * 20, 60)


def test_what_is_right_weighs_more_and_where_evidence_does_harm_it_weighs_nothing() -> None:
    weights, common = _fitted([group_of((0, 0), True, 0), group_of((0, 1), False, 1)])
    assert weights[0, 0].sum() > 1
    assert common.sum() < weights[0, 0].sum()
    groups = [group_of((0, 0), True, 0), group_of((0, 1), True, 1), group_of((0, 2), False, 2)]
    weights, common = _that_help(groups, np.ones((4, FEATURES)))
    assert weights[0, 0].all()
    assert common.all()
    assert not weights[0, 2][:-1].any()
    assert weights[0, 2][-1]  # what no fact has is unlikely all the same
    silent = group_of((0, 3), True, 3)
    silent.features[:] = 0.0  # no rule says anything here: what the others gain is all that is known
    assert _that_help([*groups, silent], np.ones((5, FEATURES)))[0][0, 3].all()
    weights, common = _that_help([groups[2]], np.ones((2, FEATURES)))
    assert not common[:-1].any()


def test_weights_are_in_units_of_the_score() -> None:
    one = group_of((0, 0), True, 0)
    larger = _Group(one.group, one.rows, 100 * one.scores, one.features, one.offsets, one.right, one.questions)
    small, large = (_fitted([each])[0][0, 0] for each in (one, larger))
    assert np.allclose(100 * small, large, rtol=0.05)
