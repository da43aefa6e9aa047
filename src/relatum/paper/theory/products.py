"""What G-MPNN's decoder and m-DistMult can never separate: a true tuple from the same entities in an order that is false.

The score of G-MPNN is the sum over coordinates of r times the product over positions of q_i * h_i. Products commute, so all
factors q are in it whatever entity is where, and every order of the entities has the same score. Messages carry positions,
but what they give, h, belongs to an entity and is the same wherever it stands. m-DistMult is the same without q and without
messages.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from relatum.data.hypergraph import Hypergraph
from relatum.models.base import Model, Parameters

__all__ = ["OneWay", "find_one_way", "order_residual"]

Fact = tuple[str, ...]


@dataclass(frozen=True)
class OneWay:
    """A true tuple (relation, ...) and the same entities in an order that is false: G-MPNN scores both alike."""

    true: Fact
    false: Fact


def find_one_way(truth: Hypergraph) -> OneWay | None:
    """Return a true tuple with a false order of its entities, or None where all orders of every true tuple are true."""
    for relation in truth.schema:
        facts = set(truth.table(relation.name))
        for fact in sorted(facts):
            # Exchanges of neighbours lead to every order: if none leaves the truth, no order does.
            for first in range(relation.arity - 1):
                turned = (*fact[:first], fact[first + 1], fact[first], *fact[first + 2 :])
                if turned not in facts:
                    return OneWay((relation.name, *fact), (relation.name, *turned))
    return None


def order_residual(model: Model, parameters: Parameters, pair: OneWay) -> float:
    """Return the score of the true tuple less that of the false one: 0, but for rounding, for G-MPNN and m-DistMult."""
    tables = model.encode(parameters)
    relation = torch.tensor([model.schema.id(pair.true[0])])
    true, false = (torch.from_numpy(model.graph.entities.ids(fact[1:])).long()[:, None] for fact in (pair.true, pair.false))
    return float(model.score(tables, relation, true) - model.score(tables, relation, false))
