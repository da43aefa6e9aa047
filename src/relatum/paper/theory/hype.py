"""HypE and selection: what it cannot represent, and a counterexample to the claim that it never can.

The theorem says that with d < |E| some entity must be a zero vector at position 1 if selection is to be represented. Its
proof lets a coordinate be non-zero for one entity alone; but any number of entities may share a coordinate in which they
look the same at the second position. Here every entity has a coordinate 1 at every position, and the rest is the usual
construction: one coordinate for each true tuple, 1 for the entities that stand in it at the position looked at.

The score of s is then the number of true tuples that are met, and the selection t of s is s without the coordinates of
tuples whose last two entities differ: equal for all entities, and even term by term.

For t to be the selection of s whose last two entities are equal, t must meet, for all entities x_1 .. x_(n-1),

    sum over i of t[i] f(x_1, 1)[i] ... f(x_(n-1), n-1)[i] = score of s(x_1, ..., x_(n-1), x_(n-1)).

The paper asks for equality term by term, for each coordinate i; what is needed is equality of the sums, which is linear in
t: |E|^(n-1) equations in d unknowns. With entities in general position it has a solution when there are no more equations
than the rank of the system can be, and a residual above zero otherwise. For n = 2 that is |E| <= d, if the filters see
every coordinate of an entity: filters of width 1 that move by 2 see half of them, and the rank is at most half of d.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from relatum.arrays import Float64
from relatum.data.hypergraph import Hypergraph
from relatum.errors import DataError
from relatum.models.base import Parameters
from relatum.models.hype import HypE, HypESettings
from relatum.paper.theory.expressivity import Separation, numbered


def separating_hype(truth: Hypergraph) -> Separation:
    """Return HypE with parameters that score each true tuple 1 and every other 0, and for which selection is exact.

    With n true tuples and largest arity m, d is m (n + 1), however many entities there are. An entity has n + 1 blocks of m
    cells: a 1 in cell k of block i if it stands at position k of true tuple i, and the last block all 1. The filter of
    position k is as wide as a block and reads its cell k, so that no entity is a zero vector at any position.
    """
    facts = truth.distinct()
    width, blocks = max(truth.schema.arities, default=1), len(facts) + 1
    settings = HypESettings(dim=width * blocks, num_filters=1, filter_width=width, stride=width)
    model = HypE(facts, settings)
    entities = torch.zeros(model.num_entities, settings.dim)
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


@dataclass(frozen=True, eq=False)
class SelectionFit:
    """The vector of t closest to the selection of s, and how close it is.

    Attributes:
        relation: the vector of t, float64[dim], the shortest of those that are equally close.
        equations: how many tuples t was fitted on.
        rank: how many of their left sides are independent.
        residual: the length of the error over that of the scores wanted: 0 if t is the selection, 1 if it is no better
            than scoring everything 0.
    """

    relation: Float64
    equations: int
    rank: int
    residual: float


def fit_selection(model: HypE, parameters: Parameters, relation: str) -> SelectionFit:
    """Return the least-squares solution of "t is `relation` with its last two entities equal", over all entities.

    Args:
        model: HypE.
        parameters: its parameters; they are taken as float64.
        relation: the name of s, of arity n, 2 or more; the system has |E|^(n-1) rows.
    """
    arity = model.schema[relation].arity
    if arity < 2:
        raise DataError("bad-expression", f"selection by equality takes two positions, but {relation} has {arity}")
    tables = model.encode({name: values.double() for name, values in parameters.items()})
    columns = torch.cartesian_prod(*[torch.arange(model.num_entities)] * (arity - 1)).reshape(-1, arity - 1).T
    left = torch.ones(columns.shape[1], model.settings.dim, dtype=torch.float64)
    for position, entities in enumerate(columns):
        left = left * model.seen_at(tables, entities, position)
    relations = torch.full((columns.shape[1],), model.schema.id(relation))
    wanted = model.score(tables, relations, torch.cat([columns, columns[-1:]])).numpy()
    found, _, rank, _ = np.linalg.lstsq(left.numpy(), wanted)
    error, size = float(np.linalg.norm(left.numpy() @ found - wanted)), float(np.linalg.norm(wanted))
    return SelectionFit(found, len(wanted), int(rank), error / size if size else 0.0)
