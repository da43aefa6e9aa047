"""Theorem 1 and Lemma 2.2: parameters that separate any ground truth.

Each true tuple has a window of its own, as wide as the largest arity. Entity x has a 1 in cell m of window i if x stands at
position m of true tuple i, and 0 elsewhere. The relation of true tuple i has K in cell k of window i of its row k: a
diagonal, not the whole block of which the paper's proof speaks, with which a permuted tuple would score as a true one. The
bias is K / 2 - |r| K everywhere.

In window i a tuple of the same relation that differs from true tuple i at c positions then adds up to K / 2 - c K, and a
tuple of another relation r to K / 2 - |r| K. So a true tuple has one window at sigma(K / 2) = 1 - epsilon, and every other
window of any tuple is at most sigma(-K / 2) = epsilon: "at most", since c = 1 gives exactly epsilon. An entity that stands
several times in a tuple has several cells, each of which only its own row reads; an entity or a relation that is in no true
tuple matches nowhere.

The lemma speaks of a linear form, |P_1 x_1 + ... + P_n x_n + r|, that NaLP does not compute. Its network is a convolution
over [role; value] with a relu, a fully connected layer over pairs with a relu, a minimum over pairs, and a fully connected
layer. A minimum of indicators is a conjunction, and a sum of conjunctions with one for each true tuple is the ground truth:
one filter for each (role, value) that is in a true tuple, 1 where it is met and 0 elsewhere; one hidden unit for each true
tuple, which adds up its own filters.

Of a ground truth, facts are true, and all other tuples over its entities and schema are false; repeated facts count once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from relatum.data.hypergraph import Hypergraph
from relatum.models.base import Model, Parameters
from relatum.models.nalp import NaLP, NaLPSettings
from relatum.models.reale import ReAlE, ReAlESettings


@dataclass(frozen=True, eq=False)
class Separation:
    """A model, its parameters, and what they promise about the score of every tuple over its entities and relations.

    Attributes:
        model: the model, without state.
        parameters: its parameters; `model.encode` takes them.
        true_at_least: no true tuple scores below.
        false_at_most: no false tuple scores above; it is below `true_at_least`.
    """

    model: Model
    parameters: Parameters
    true_at_least: float
    false_at_most: float

    @property
    def threshold(self) -> float:
        """A score that lies between those of true and of false tuples."""
        return (self.true_at_least + self.false_at_most) / 2

    def scores(self, relations: Tensor, columns: Tensor) -> Tensor:
        """Return the score of each tuple, [n], given as relations [n] and columns [arity, n]."""
        return self.model.score(self.model.encode(self.parameters), relations, columns)


def numbered(truth: Hypergraph) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield, arity by arity, relations [n], columns [arity, n] and running numbers [n] of distinct facts, as int64."""
    start = 0
    for block in truth.blocks.values():
        numbers = torch.arange(start, start + len(block))
        yield torch.tensor(block.relations).long(), torch.tensor(block.columns).long(), numbers
        start += len(block)


def separating_reale(truth: Hypergraph) -> Separation:
    """Return ReAlE with parameters whose degree of truth is >= (1 - e) / n for the n true tuples and <= e for all others.

    The scale is 1, so that the score is the degree of truth, the mean over windows. K is the least even number that brings
    e = sigma(-K / 2) below the paper's 1 / (2 + n^2); K > 2 log(n) would already separate, and the paper's bound takes
    K > 2 log(1 + n^2): 22 for 200 true tuples, 56 for a million. K being even, all sums are whole numbers, exact in
    float32. Only the sigmoid and the mean are rounded, so that in float32 the bounds hold up to a few parts in 10^7 of
    themselves.
    """
    facts = truth.distinct()
    count = max(1, len(facts))  # a model has at least one window, also if nothing is true
    half = math.floor(math.log(1 + count**2)) + 1
    strength = 2 * half

    width = max(truth.schema.arities, default=1)
    settings = ReAlESettings(dim=count * width, window=width, entity_map="clamp", scale=1.0)
    model = ReAlE(facts, settings)
    entities = torch.zeros(model.num_entities, settings.dim)
    weights = torch.zeros(model.num_positions, settings.dim)
    for relations, columns, windows in numbered(facts):
        for position, column in enumerate(columns):
            cells = windows * width + position
            entities[column, cells] = 1.0
            weights[model.position_rows(relations, position), cells] = float(strength)
    arities = torch.tensor([relation.arity for relation in model.schema], dtype=torch.float32)
    bias = (half - strength * arities)[:, None].repeat(1, count)

    reached = 1 / (1 + math.exp(half))
    parameters = {"entities": entities, "relations": weights, "bias": bias}
    return Separation(model, parameters, true_at_least=(1 - reached) / count, false_at_most=reached)


def separating_nalp(truth: Hypergraph) -> Separation:
    """Return NaLP with parameters that score each true tuple 1 and every other tuple 0, exactly.

    Entities and roles are unit vectors. Filter (role, value) is relu(1 [role] + 1 [value] - 1), 1 only if both are met.
    Hidden unit t takes the minimum over positions of the sum of its tuple's filters: a position of another relation, or
    with another value, meets none of them, and the minimum is 0. The second half of a pair is not needed, and stays 0.
    """
    facts = truth.distinct()
    entities, positions = len(truth.entities), sum(relation.arity for relation in truth.schema)
    model = NaLP(facts, NaLPSettings(dim=max(1, entities, positions)))  # for its positions; the sizes below follow from them
    met, units = [torch.empty(0, dtype=torch.int64)], [torch.empty(0, dtype=torch.int64)]
    for relations, columns, numbers in numbered(facts):
        for position, column in enumerate(columns):
            met.append(model.position_rows(relations, position) * entities + column)
            units.append(numbers)
    pairs, filters = torch.unique(torch.cat(met), return_inverse=True)

    settings = NaLPSettings(dim=model.settings.dim, num_filters=max(1, len(pairs)), hidden_dim=max(1, len(facts)))
    kernel = torch.zeros(2, settings.dim, settings.num_filters)
    kernel[0, pairs // entities, torch.arange(len(pairs))] = 1.0
    kernel[1, pairs % entities, torch.arange(len(pairs))] = 1.0
    pair = torch.zeros(settings.num_filters, 2 * settings.hidden_dim)
    pair[filters, torch.cat(units)] = 1.0
    parameters = {
        "entities": torch.eye(entities, settings.dim),
        "roles": torch.eye(positions, settings.dim),
        "kernel": kernel,
        "kernel_bias": -torch.ones(settings.num_filters),
        "pair": pair,
        "pair_bias": torch.zeros(settings.hidden_dim),
        "out": torch.ones(settings.hidden_dim),
        "out_bias": torch.zeros(()),
    }
    return Separation(NaLP(facts, settings), parameters, true_at_least=1.0, false_at_most=0.0)
