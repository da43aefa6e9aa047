"""What validation facts are for: how good parameters are while training goes on, and the calibration of scores after it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.known_answers import KnownAnswers
from relatum.inference.calibration import Calibration, fit_calibration, label
from relatum.inference.ranking import Metrics, rank
from relatum.models.base import Model, Parameters

__all__ = ["calibrate", "sample", "validator"]

_MOST = 4000  # facts that are ranked at most; the same ones each time


def validator(model: Model, split: Split, most: int = _MOST) -> Callable[[Parameters], float] | None:
    """Return the validation MRR as a function of parameters, filtered by train and valid alone; None without valid facts."""
    if not len(split.valid):
        return None
    facts = sample(split.valid, most)
    known = KnownAnswers(split.train, split.valid)
    return lambda parameters: Metrics.of(rank(model, parameters, facts, known)).mrr


def calibrate(model: Model, parameters: Parameters, split: Split) -> Calibration | None:
    """Return what turns scores into probabilities, fitted on validation facts; None without any."""
    if not len(split.valid):
        return None
    with torch.no_grad():
        tables = model.encode(parameters)
    labelled = label(model, tables, sample(split.valid, _MOST), KnownAnswers(split.train, split.valid), split.train)
    return fit_calibration(labelled, len(model.schema))


def sample(graph: Hypergraph, most: int) -> Hypergraph:
    """Return about `most` facts of a hypergraph, always the same."""
    rng = np.random.default_rng(0)
    blocks = []
    for block in graph.blocks.values():
        kept = rng.random(len(block)) < most / len(graph)
        blocks.append((block.relations[kept], block.columns[:, kept]))
    return Hypergraph.sort(graph.entities, graph.schema, blocks)
