"""Lemma 2.2 fails: NaLP's network can separate any ground truth.

The lemma speaks of a linear form, |P_1 x_1 + ... + P_n x_n + r|, that NaLP does not compute. Its network is a convolution
over [role; value] with a relu, a fully connected layer over pairs with a relu, a minimum over pairs, and a fully connected
layer. A minimum of indicators is a conjunction, and a sum of conjunctions with one for each true tuple is the ground truth:
one filter for each (role, value) that is in a true tuple, 1 where it is met and 0 elsewhere; one hidden unit for each true
tuple, which adds up its own filters.
"""

from __future__ import annotations

import torch

from relatum.data.hypergraph import Hypergraph
from relatum.models.nalp import NaLP, NaLPSettings
from relatum.paper.theory.separation import Separation, numbered

__all__ = ["separating_nalp"]


def separating_nalp(truth: Hypergraph) -> Separation:
    """Return NaLP with parameters that score each true tuple 1 and every other tuple 0, exactly.

    Entities and roles are unit vectors. Filter (role, value) is relu(1 [role] + 1 [value] - 1), 1 only if both are met.
    Hidden unit t takes the minimum over positions of the sum of its tuple's filters: a position of another relation, or
    with another value, meets none of them, and the minimum is 0. The second half of a pair is not needed, and stays 0.

    Args:
        truth: the true facts; all other tuples over its entities and schema are false. Repeated facts count once.
    """
    facts = truth.distinct()
    entities, places = len(truth.entities), sum(relation.arity for relation in truth.schema)
    model = NaLP(facts, NaLPSettings(dim=max(1, entities, places)))  # for its places; the sizes below follow from them
    met, units = [torch.empty(0, dtype=torch.int64)], [torch.empty(0, dtype=torch.int64)]
    for relations, columns, numbers in numbered(facts):
        for position, column in enumerate(columns):
            met.append(model.places(relations, position) * entities + column)
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
        "roles": torch.eye(places, settings.dim),
        "kernel": kernel,
        "kernel_bias": -torch.ones(settings.num_filters),
        "pair": pair,
        "pair_bias": torch.zeros(settings.hidden_dim),
        "out": torch.ones(settings.hidden_dim),
        "out_bias": torch.zeros(()),
    }
    return Separation(NaLP(facts, settings), parameters, true_at_least=1.0, false_at_most=0.0)
