"""What expressions mean on an embedding, written with whole tensors of degrees of truth: one axis for each column."""

from __future__ import annotations

import random

import numpy as np
import torch

from relatum import Hypergraph
from relatum.algebra import Expression
from relatum.algebra import expression as nodes
from relatum.arrays import Float64
from relatum.models.base import Parameters
from relatum.models.reale import ReAlE, ReAlESettings
from support.random_expressions import random_schema

Degrees = Float64

SIGMAS = {"sigmoid": lambda x: 1 / (1 + np.exp(-x)), "tanh": np.tanh, "exp": np.exp}


def random_model(
    chance: random.Random, sigma: str = "sigmoid", entity_map: str = "sigmoid", entities: int = 5, window: int | None = None
) -> tuple[ReAlE, Parameters]:
    """Return a model of few entities and relations of up to 4 columns, and its tables, with parameters of any size."""
    schema = random_schema(chance, [f"r{number}" for number in range(3)], most_columns=4)
    window = window if window is not None else chance.choice([1, 2, 3, 5])
    names = [f"e{number}" for number in range(entities)]
    graph = Hypergraph.of([("all", name) for name in names], [*schema])
    settings = ReAlESettings(dim=window * chance.randint(1, 4), window=window, sigma=sigma, entity_map=entity_map)
    model = ReAlE(graph, settings)
    draw = np.random.default_rng(chance.randrange(2**32))
    parameters = {
        name: torch.from_numpy((draw.normal(size=tensor.shape) * chance.choice([0.3, 1, 4])).astype(np.float32))
        for name, tensor in model.init_parameters(torch.Generator()).items()
    }
    return model, model.encode(parameters)


def degrees(expression: Expression, model: ReAlE, tables: Parameters) -> Degrees:
    """Return the degree of truth of every tuple, straight from the meaning of each operation."""
    if isinstance(expression, nodes.Relation):
        number = model.schema.id(expression.name)
        first = int(model.position_rows(torch.tensor(number), 0))
        return form_degrees(tables["relations"][first : first + expression.arity], tables["bias"][number], model, tables)
    left, *others = (degrees(child, model, tables) for child in expression.children)
    match expression:
        case nodes.Rename(_, permutation):
            return left.transpose(permutation)
        case nodes.Project(_, positions):
            remaining = sorted(positions)
            kept = left.max(axis=tuple(axis for axis in range(left.ndim) if axis not in positions))
            return kept.transpose([remaining.index(position) for position in positions])
        case nodes.SelectEqual(_, dropped, kept):
            return np.moveaxis(np.diagonal(left, axis1=dropped, axis2=kept), -1, kept - (kept > dropped))
        case nodes.SelectConstant(_, dropped, entity):
            return left.take(model.graph.entities.id(entity), axis=dropped)
        case nodes.Union():
            return np.maximum(left, others[0])
        case nodes.Difference():
            return np.minimum(left, 1 - others[0] if model.settings.sigma == "sigmoid" else -others[0])
    raise TypeError(expression)


def form_degrees(weights: torch.Tensor, bias: torch.Tensor, model: ReAlE, tables: Parameters) -> Degrees:
    """Return Eq. 2, as a mean over windows, of every tuple."""
    entities = tables["entities"].double().numpy()
    inside = bias.double().numpy()
    for axis, weight in enumerate(weights.double().numpy()):
        sums = (entities * weight).reshape(len(entities), -1, model.settings.window).sum(-1)
        inside = inside + sums.reshape(*(1,) * axis, len(entities), *(1,) * (len(weights) - 1 - axis), -1)
    return np.asarray(SIGMAS[model.settings.sigma](inside).mean(-1))
