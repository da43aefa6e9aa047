"""HypE and selection by equality: a linear system, and how near its best solution comes.

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
import numpy.typing as npt
import torch

from relatum.errors import DataError
from relatum.models.base import Parameters
from relatum.models.hype import HypE

__all__ = ["SelectionFit", "fit_selection"]


@dataclass(frozen=True, eq=False)
class SelectionFit:
    """The vector of t that comes nearest to the selection of s, and how near it comes.

    Attributes:
        relation: the vector of t, float64[dim], the shortest of those that come equally near.
        equations: how many tuples t was asked about.
        rank: how many of their left sides are independent.
        residual: the length of the error over that of the scores asked for: 0 if t is the selection, 1 if it is no better
            than scoring everything 0.
    """

    relation: npt.NDArray[np.float64]
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
        raise DataError(f"selection by equality takes two positions, but {relation} has {arity}")
    tables = model.encode({name: values.double() for name, values in parameters.items()})
    columns = torch.cartesian_prod(*[torch.arange(model.entity_count)] * (arity - 1)).reshape(-1, arity - 1).T
    left = torch.ones(columns.shape[1], model.settings.dim, dtype=torch.float64)
    for position, entities in enumerate(columns):
        left = left * model.seen_at(tables, entities, position)
    relations = torch.full((columns.shape[1],), model.schema.id(relation))
    wanted = model.score(tables, relations, torch.cat([columns, columns[-1:]])).numpy()
    found, _, rank, _ = np.linalg.lstsq(left.numpy(), wanted)
    error, size = float(np.linalg.norm(left.numpy() @ found - wanted)), float(np.linalg.norm(wanted))
    return SelectionFit(found, len(wanted), int(rank), error / size if size else 0.0)
