"""HypE Selection 1 (b) fails: HypE that represents selection and a ground truth, with fewer dimensions than entities.

The theorem says that with d < |E| some entity must be a zero vector at position 1 if selection is to be represented. Its
proof lets a coordinate be non-zero for one entity alone; but any number of entities may share a coordinate in which they
look the same at the second position. Here every entity has a coordinate 1 at every position, and the rest is the usual
construction: one coordinate for each true tuple, 1 for the entities that stand in it at the position looked at.

The score of s is then the number of true tuples that are met, and the selection t of s is s without the coordinates of
tuples whose last two entities differ: equal for all entities, and even term by term.
"""

from __future__ import annotations

import torch

from relatum.data.hypergraph import Hypergraph
from relatum.models.hype import HypE, HypESettings
from relatum.paper.theory.separation import Separation, numbered

__all__ = ["separating_hype"]


def separating_hype(truth: Hypergraph) -> Separation:
    """Return HypE with parameters that score each true tuple 1 and every other 0, and for which selection is exact.

    With n true tuples and largest arity m, d is m (n + 1), however many entities there are. An entity has n + 1 blocks of m
    cells: a 1 in cell k of block i if it stands at position k of true tuple i, and the last block all 1. The filter of
    position k is as wide as a block and reads its cell k, so that no entity is a zero vector at any position.

    Args:
        truth: the true facts; all other tuples over its entities and schema are false. Repeated facts count once.
    """
    facts = truth.distinct()
    width, blocks = max(truth.schema.arities, default=1), len(facts) + 1
    settings = HypESettings(dim=width * blocks, num_filters=1, filter_width=width, stride=width)
    model = HypE(facts, settings)
    entities = torch.zeros(model.entity_count, settings.dim)
    entities[:, -width:] = 1.0
    weights = torch.zeros(len(model.schema), settings.dim)
    for relations, columns, numbers in numbered(facts):
        weights[relations, numbers] = 1.0
        for position, column in enumerate(columns):
            entities[column, numbers * width + position] = 1.0
    parameters = {
        "entities": entities,
        "relations": weights,
        "filters": torch.eye(width)[:, None, :],
        "projection": blocks * torch.eye(blocks, settings.dim),  # kept times the number of features
    }
    return Separation(model, parameters, true_at_least=1.0, false_at_most=0.0)
