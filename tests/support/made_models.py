"""What the contract is checked on: every model, on a hypergraph of arities 1 to 7."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from relatum import Hypergraph
from relatum.models import MODELS, Model
from relatum.models.base import Parameters, Settings
from relatum.models.training_protocols import Penalty

SMALL: dict[str, dict[str, int | float]] = {
    "reale": {"dim": 12, "window": 3},
    "hype": {"dim": 12, "num_filters": 2, "filter_width": 3, "stride": 2},
    "rae": {"dim": 8, "hidden_dim": 6, "relatedness_weight": 0.5},
    "nalp": {"dim": 8, "num_filters": 7, "hidden_dim": 5},
    "neuinfer": {"dim": 8, "hidden_dim": 7},
    "hinge": {"dim": 8, "num_filters": 3},
    "getd": {"dim": 6, "rank": 3},
    "g-mpnn": {"dim": 8, "num_layers": 2, "num_neighbors": 0},
}


# Settings with which models work in several parts, if there are several threads.
WIDE = {
    "nalp": {"num_filters": 48, "hidden_dim": 48},
    "neuinfer": {"hidden_dim": 48},
    "hinge": {"num_filters": 8},
    "getd": {"rank": 16},
}


def made_graph(entities: int = 30, facts: int = 6, seed: int = 0) -> Hypergraph:
    """Return random facts of relations with arity 1 to 7, two of each arity."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"{kind}{arity}", *(f"e{entity:03}" for entity in rng.integers(0, entities, arity)))
        for arity in range(1, 8)
        for kind in "ab"
        for _ in range(facts)
    ]
    rows += [("every", f"e{entity:03}") for entity in range(entities)]
    return Hypergraph.of(rows)


@dataclass(frozen=True)
class Case:
    """A model with parameters that are not tiny, so that a wrong score shows."""

    name: str
    graph: Hypergraph
    model: Model

    def parameters(self, seed: int = 0, dtype: torch.dtype = torch.float32) -> Parameters:
        drawn = self.model.init_parameters(torch.Generator().manual_seed(seed))
        noise = torch.Generator().manual_seed(seed + 1)
        return {
            name: (tensor + 0.5 * torch.randn(tensor.shape, generator=noise)).to(dtype) for name, tensor in drawn.items()
        }

    def batches(self) -> list[tuple[Tensor, Tensor]]:
        """Return the facts by arity: relations and columns."""
        return [
            (torch.from_numpy(block.relations.astype(np.int64)), torch.from_numpy(block.columns.astype(np.int64)))
            for block in self.graph.blocks.values()
        ]

    def loss(self, parameters: Parameters, dropout_rng: torch.Generator | None = None) -> Tensor:
        """Return the softmax cross-entropy of every position of every fact against all entities, and the penalty."""
        tables = self.model.encode(parameters, dropout_rng)
        total = torch.zeros((), dtype=parameters["entities"].dtype)
        for relations, columns in self.batches():
            for position in range(len(columns)):
                queries = self.model.queries(tables, relations, columns, position)
                for relation in relations.unique():
                    mine = relations == relation
                    candidates = self.model.candidates(tables, relation, position, None)
                    scores = self.model.combine(tables).matrix(queries[mine], candidates)
                    total = total + torch.nn.functional.cross_entropy(scores, columns[position, mine])
            penalty = self.model.penalty(tables, relations, columns) if isinstance(self.model, Penalty) else None
            total = total if penalty is None else total + penalty
        return total


def made_case(name: str, graph: Hypergraph | None = None, **settings: float) -> Case:
    """Return a small model of a kind; settings of its own, and others where given."""
    graph = made_graph() if graph is None else graph
    kind = MODELS[name]
    chosen: Settings = kind.settings_type(**{"dim": 10, **SMALL.get(name, {}), **settings})
    return Case(name, graph, kind(graph, chosen))


VARIANTS: dict[str, dict[str, object]] = {
    "reale, tanh": {"sigma": "tanh"},
    "reale, exp": {"sigma": "exp"},
    "reale, no entity map": {"entity_map": "none"},
    "reale, clamp": {"entity_map": "clamp"},
    "reale, window 1": {"window": 1, "scale": 5.0},
    "reale, one window": {"window": 12, "scale": 12.0},
    "m-transh, constraints": {"unit_entities": True, "orthogonal_translations": True},
}


def case_called(name: str) -> Case:
    """Return the case of a model, or of one of their variants."""
    return made_case(name.partition(",")[0], **VARIANTS.get(name, {}))  # type: ignore[arg-type]
