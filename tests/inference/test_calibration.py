"""Scores become probabilities that hold what they say."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from relatum import KnownAnswers
from relatum.inference.calibration import Calibration, CalibrationSample, draw_sample, fit_calibration, reliability
from support.made_models import made_case, made_graph


def drawn(counts: list[int], slopes: list[float], offsets: list[float], seed: int = 0) -> CalibrationSample:
    """Return facts whose truth is drawn by known slopes and offsets."""
    chance = np.random.default_rng(seed)
    relation = np.repeat(np.arange(len(counts)), counts)
    score = chance.normal(3, 2, len(relation))
    truth = Calibration(np.array(slopes), np.array(offsets)).probability(relation, score)
    return CalibrationSample(relation, score, chance.random(len(relation)) < truth, np.ones(len(relation)))


def test_a_fit_finds_the_slopes_and_offsets_that_made_the_facts() -> None:
    slopes, offsets = [1.0, 2.5, 0.3], [-3.0, -9.0, 1.0]
    found = fit_calibration(drawn([20_000] * 3, slopes, offsets), 3)
    assert found.slope == pytest.approx(slopes, rel=0.1)
    assert found.offset == pytest.approx(offsets, rel=0.15)
    trust = reliability(found, drawn([20_000] * 3, slopes, offsets, seed=1))
    assert trust.error < 0.01
    assert sum(share for *_, share in trust.curve) == pytest.approx(1)


def test_relations_may_have_scales_of_their_own() -> None:
    facts = drawn([5000] * 3, [1.0] * 3, [-3.0] * 3)
    middles, widths = np.array([0.0, 1000.0, -6.0]), np.array([1.0, 3.0, 0.5])
    moved = replace(facts, score=middles[facts.relation] + widths[facts.relation] * facts.score)
    assert reliability(fit_calibration(moved, 3), moved).error < 0.02


def test_plain_facts_beside_guesses_are_calibrated_too() -> None:
    """Facts of two kinds: no straight line in the logit fits both."""
    chance = np.random.default_rng(0)
    true = chance.random(20_000) < 0.5
    plain = chance.random(20_000) < 0.5
    score = chance.normal(np.where(true & plain, 12, 0) + np.where(true & ~plain, 1, 0), 1)
    half = np.arange(20_000) < 10_000
    made = CalibrationSample(np.zeros(20_000, np.int64), score, true, np.ones(20_000))
    first, second = (
        CalibrationSample(*(getattr(made, f.name)[part] for f in fields(CalibrationSample))) for part in (half, ~half)
    )
    found = fit_calibration(first, 1)
    assert reliability(found, second).error < 0.02
    grid = found.probability(0, np.linspace(-10, 30, 200))
    assert (np.diff(grid) >= 0).all()


def test_a_relation_with_negatives_alone_has_the_scale_that_they_tell() -> None:
    facts = drawn([20_000], [1.0], [-3.0])
    strange = CalibrationSample(np.ones(50, np.int64), np.full(50, 500.0), np.zeros(50, np.bool_), np.ones(50))
    both = CalibrationSample(
        *(np.concatenate([getattr(part, f.name) for part in (facts, strange)]) for f in fields(CalibrationSample))
    )
    found = fit_calibration(both, 2)
    assert found.probability(1, 500.0) < 0.4
    assert found.probability(1, 510.0) > 0.8


def test_facts_that_are_wholly_apart_have_a_finite_fit() -> None:
    score = np.array([0.0, 1.0, 9.0, 10.0] * 50)
    found = fit_calibration(CalibrationSample(np.zeros(200, np.int64), score, score > 5, np.ones(200)), 1)
    assert np.isfinite(found.slope).all()
    assert np.all((found.probability(0, np.array([0.0, 10.0])) > 0.5) == [False, True])


def test_a_score_that_says_the_opposite_is_not_turned_round() -> None:
    score = np.arange(200.0)
    found = fit_calibration(CalibrationSample(np.zeros(200, np.int64), score, score < 100, np.ones(200)), 1)
    assert found.slope[0] == 0
    assert found.probability(0, 0.0) == found.probability(0, 199.0)


def test_negatives_differ_from_a_fact_in_one_entity_and_are_never_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """On few entities, where a blind draw would soon hit a fact."""
    graph = made_graph(entities=6, facts=40)
    case = made_case("m-distmult", graph)
    seen: list[tuple[int, ...]] = []

    def recording(_: object, __: object, relations: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        seen.extend(tuple(fact) for fact in torch.cat([relations[None], columns]).T.tolist())
        return torch.zeros(len(relations))

    monkeypatch.setattr("relatum.inference.calibration.score", recording)
    made = draw_sample(case.model, {}, graph, KnownAnswers(graph), graph)
    facts = {tuple(row) for block in graph.blocks.values() for row in np.stack(block.rows).T.tolist()}
    assert {fact for fact, true in zip(seen, made.true, strict=True) if true} == facts
    false = [fact for fact, true in zip(seen, made.true, strict=True) if not true]
    assert false
    for fact in false:
        assert fact not in facts
        near = [other for other in facts if len(other) == len(fact) and other[0] == fact[0]]
        assert min(sum(a != b for a, b in zip(fact, other, strict=True)) for other in near) == 1
