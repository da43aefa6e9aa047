"""The corrected validation MRR forgives as many better candidates as other valid answers stand above."""

from __future__ import annotations

import numpy as np
import torch

from relatum import Hypergraph, KnownAnswers, Split
from relatum.data.splitting import select_facts
from relatum.inference import validation
from relatum.inference.ranking import rank
from relatum.inference.validation import validator
from relatum.models import MODELS
from relatum.models.base import Model, Parameters
from relatum.models.reale import ReAlESettings


def drawn(seed: int) -> tuple[Split, Model, Parameters]:
    """Return facts of which questions have many answers, a model, and parameters without training."""
    rng = np.random.default_rng(seed)
    names = [f"e{number}" for number in range(12)]
    facts = {("r", *rng.choice(names, 2)) for _ in range(60)} | {("s", *rng.choice(names[:5], 3)) for _ in range(60)}
    facts |= {("u", name) for name in names[:6]}
    graph = Hypergraph.of(sorted(facts))
    part = rng.integers(0, 3, len(graph))
    split = Split(*(select_facts(graph, part == number) for number in range(3)))
    model = MODELS["reale"](split.train, ReAlESettings(dim=8))
    return split, model, model.init_parameters(torch.Generator().manual_seed(seed))


def test_as_many_better_candidates_are_forgiven_as_valid_answers_stand_above() -> None:
    for seed in range(5):
        split, model, parameters = drawn(seed)
        filtered = rank(model, parameters, split.valid, KnownAnswers(split.train, split.valid))
        less = rank(model, parameters, split.valid, KnownAnswers(split.train))  # valid answers above are still counted here
        above = less.better - filtered.better
        assert above.sum() > 0
        expected = np.mean(1 / (1 + np.maximum(filtered.realistic - 1 - above, 0)))
        corrected, plain = validator(model, split, "corrected-mrr"), validator(model, split)
        assert corrected is not None
        assert plain is not None
        found = corrected(parameters)
        assert list(found) == ["corrected-mrr", "mrr"]  # the first decides
        assert np.isclose(found["corrected-mrr"], expected)
        assert np.isclose(found["mrr"], np.mean(1 / filtered.realistic))
        assert found["corrected-mrr"] > found["mrr"]
        assert plain(parameters) == {"mrr": found["mrr"]}


def test_the_error_of_a_sample_is_stated_and_right() -> None:
    """Of many samples, two thirds are as near to the whole as their error says."""
    split, model, parameters = drawn(1)
    whole = rank(model, parameters, split.valid, KnownAnswers(split.train, split.valid))
    true, within = whole.metrics.mrr, []
    for seed in range(300):
        chosen = np.random.default_rng(seed).random(len(split.valid)) < 0.4
        ranks = whole.where(chosen[whole.fact])
        within.append(abs(ranks.metrics.mrr - true) <= validation._sampling_error(ranks, float(chosen.mean())))
    assert 0.55 < np.mean(within) < 0.8
    some, every = validator(model, split, most=20), validator(model, split)
    assert some is not None
    assert every is not None
    assert list(some(parameters)) == ["mrr", "mrr_error"]
    assert list(every(parameters)) == ["mrr"]
    corrected = validator(model, split, "corrected-mrr", most=20)
    assert corrected is not None
    found = corrected(parameters)
    assert found["corrected-mrr"] > found["mrr"]  # all valid answers count, of the sample or not
