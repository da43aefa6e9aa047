"""Theorem 1: for any ground truth there are parameters of ReAlE that separate true tuples from false ones.

Each true tuple has a window of its own, as wide as the largest arity. Entity x has a 1 in cell m of window i if x stands at
position m of true tuple i, and 0 elsewhere. The relation of true tuple i has K in cell k of window i of its row k: a
diagonal, not the whole block of which the paper's proof speaks, with which a permuted tuple would score as a true one. The
bias is K / 2 - |r| K everywhere.

In window i a tuple of the same relation that differs from true tuple i at c positions then adds up to K / 2 - c K, and a
tuple of another relation r to K / 2 - |r| K. So a true tuple has one window at sigma(K / 2) = 1 - epsilon, and every other
window of any tuple is at most sigma(-K / 2) = epsilon: "at most", since c = 1 gives exactly epsilon. An entity that stands
several times in a tuple has several cells, each of which only its own row reads; an entity or a relation that is in no true
tuple matches nowhere.
"""

from __future__ import annotations

import math

import torch

from relatum.data.hypergraph import Hypergraph
from relatum.errors import SettingError
from relatum.models.reale import ReAlE, ReAlESettings
from relatum.paper.theory.separation import Separation, numbered

__all__ = ["separating_reale"]


def separating_reale(truth: Hypergraph, epsilon: float | None = None) -> Separation:
    """Return ReAlE with parameters whose degree of truth is >= (1 - e) / n for the n true tuples and <= e for all others.

    The scale is 1, so that the score is the degree of truth, the mean over windows. K is the least even number that brings
    e = sigma(-K / 2) below `epsilon`; K > 2 log(n) would already separate, and the paper's bound takes K > 2 log(1 + n^2):
    22 for 200 true tuples, 56 for a million. K being even, all sums are whole numbers, exact in float32. Only the sigmoid
    and the mean are rounded, so that in float32 the bounds hold up to a few parts in 10^7 of themselves.

    Args:
        truth: the true facts; all other tuples over its entities and schema are false. Repeated facts count once.
        epsilon: what e must be below, at most the paper's 1 / (2 + n^2), which is the default.
    """
    facts = truth.distinct()
    count = max(1, len(facts))  # a model has at least one window, also if nothing is true
    most = 1 / (2 + count**2)
    epsilon = most if epsilon is None else epsilon
    if not 0 < epsilon <= most:
        raise SettingError(f"epsilon: must be above 0 and at most 1 / (2 + {count}^2) = {most:.3g}, not {epsilon:.3g}")
    half = math.floor(math.log(1 / epsilon - 1)) + 1
    strength = 2 * half

    width = max(truth.schema.arities, default=1)
    settings = ReAlESettings(dim=count * width, window=width, entity_map="clamp", scale=1.0)
    model = ReAlE(facts, settings)
    entities = torch.zeros(model.entity_count, settings.dim)
    weights = torch.zeros(model.place_count, settings.dim)
    for relations, columns, windows in numbered(facts):
        for position, column in enumerate(columns):
            cells = windows * width + position
            entities[column, cells] = 1.0
            weights[model.places(relations, position), cells] = float(strength)
    arities = torch.tensor([relation.arity for relation in model.schema], dtype=torch.float32)
    bias = (half - strength * arities)[:, None].repeat(1, count)

    reached = 1 / (1 + math.exp(half))
    parameters = {"entities": entities, "relations": weights, "bias": bias}
    return Separation(model, parameters, true_at_least=(1 - reached) / count, false_at_most=reached)
