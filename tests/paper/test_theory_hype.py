"""HypE and selection: a residual above zero with more entities than dimensions, none with fewer, and a counterexample."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from relatum import Hypergraph, RelationSchema, Schema, Vocabulary
from relatum.models.base import Parameters
from relatum.models.hype import HypE, HypESettings
from relatum.paper.theory import fit_selection, separating_hype
from support.ground_truths import check_bounds, random_truth, true_and_false
from support.mistakes import mistake

SCHEMA = Schema([RelationSchema("s", 2), RelationSchema("t", 1), RelationSchema("s3", 3), RelationSchema("t2", 2)])


def general(entities: int, dim: int, seed: int, stride: int = 1) -> tuple[HypE, Parameters]:
    """Return HypE with entities, relations, filters and projection in general position."""
    graph = Hypergraph(Vocabulary(f"e{number}" for number in range(entities)), SCHEMA, [])
    model = HypE(graph, HypESettings(dim=dim, num_filters=3, filter_width=1, stride=stride))
    generator = torch.Generator().manual_seed(seed)
    parameters = model.init_parameters(generator)
    return model, {
        name: torch.randn(values.shape, generator=generator, dtype=torch.float64) for name, values in parameters.items()
    }


def worst(model: HypE, parameters: Parameters, relation: str, selected: str, vector: np.ndarray) -> float:
    """Return the largest difference between s with its last two entities equal and t with the given vector, by the model."""
    weights = parameters["relations"].clone()
    weights[model.schema.id(selected)] = torch.from_numpy(vector)
    tables = model.encode({**parameters, "relations": weights})
    arity = model.schema[selected].arity
    columns = torch.tensor(list(np.ndindex(*[model.num_entities] * arity))).T
    many = torch.ones(columns.shape[1], dtype=torch.int64)
    left = model.score(tables, many * model.schema.id(selected), columns)
    right = model.score(tables, many * model.schema.id(relation), torch.cat([columns, columns[-1:]]))
    return float((left - right).abs().max())


@pytest.mark.parametrize("seed", range(5))
def test_selection_is_solved_up_to_as_many_entities_as_dimensions(seed: int) -> None:
    for entities in range(1, 15):
        model, parameters = general(entities, dim=10, seed=seed)
        fit = fit_selection(model, parameters, "s")
        assert (fit.equations, fit.rank) == (entities, min(entities, 10))
        if entities <= 10:
            assert fit.residual < 1e-9
            assert worst(model, parameters, "s", "t", fit.relation) < 1e-7
        else:
            assert fit.residual > 1e-3
            assert worst(model, parameters, "s", "t", fit.relation) > 1e-3


@pytest.mark.parametrize(("entities", "solved"), [(2, True), (3, True), (4, False)])
def test_with_three_positions_the_pairs_of_entities_count(entities: int, solved: bool) -> None:
    model, parameters = general(entities, dim=10, seed=0)
    fit = fit_selection(model, parameters, "s3")
    assert fit.equations == entities**2
    assert (fit.residual < 1e-9) == (worst(model, parameters, "s3", "t2", fit.relation) < 1e-7) == solved
    assert solved or fit.residual > 1e-3


def test_filters_that_skip_coordinates_halve_the_rank() -> None:
    for entities, rank in [(5, 5), (6, 5), (10, 5)]:
        fit = fit_selection(*general(entities, dim=10, seed=1, stride=2), "s")
        assert fit.rank == rank
        assert (fit.residual < 1e-9) == (entities <= 5)


def test_counterexample_more_entities_than_dimensions_separated_and_selected(count: Callable[[int, int], int]) -> None:
    fewer = 0
    for seed in range(count(10, 200)):
        chance = np.random.default_rng(seed)
        truth = random_truth(chance, most=6, arity=3)
        separation = separating_hype(truth)
        check_bounds(truth, separation, chance, rounding=0.0)
        for relations, columns, labels in true_and_false(truth, chance):
            assert torch.equal(separation.scores(relations, columns), labels.float())
        model = separation.model
        assert isinstance(model, HypE)
        tables = model.encode(separation.parameters)
        for position in range(model.max_arity):
            assert bool(model.seen_at(tables, None, position).any(-1).all()), "no entity vanishes"
        for relation in truth.schema:
            if relation.arity > 1:
                assert fit_selection(model, separation.parameters, relation.name).residual < 1e-9
        fewer += model.settings.dim < len(truth.entities)
    assert fewer > 2


def test_selection_takes_two_positions() -> None:
    with mistake("bad-expression"):
        fit_selection(*general(3, dim=4, seed=0), "t")
