"""G-MPNN's decoder: every order of a fact's entities has one score, and a false order is found wherever there is one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from relatum import MODELS, Hypergraph
from relatum.models.base import Settings
from relatum.paper.theory import find_one_way, order_residual

TRUTH = Hypergraph.of([("gave", "ann", "bob", "book"), ("gave", "bob", "ann", "pen"), ("knows", "ann", "bob")])


def residual(name: str, seed: int) -> float:
    """Return the residual of a model with large random parameters on a tuple and a false order of it."""
    pair = find_one_way(TRUTH)
    assert pair is not None
    kind = MODELS[name]
    settings: Settings = kind.settings_type(dim=6)
    model, rng = kind(TRUTH, settings), torch.Generator().manual_seed(seed)
    drawn = model.init_parameters(rng)
    return order_residual(
        model, {key: 2 * torch.randn(values.shape, generator=rng).double() for key, values in drawn.items()}, pair
    )


@pytest.mark.parametrize("name", ["g-mpnn", "m-distmult"])
def test_both_orders_score_alike_whatever_the_parameters(name: str) -> None:
    for seed in range(20):
        assert abs(residual(name, seed)) < 1e-9


@pytest.mark.parametrize("name", ["m-cp", "hsimple", "getd", "nalp", "m-transh"])
def test_other_models_tell_them_apart(name: str) -> None:
    assert max(abs(residual(name, seed)) for seed in range(5)) > 1e-3


def test_a_false_order_of_a_true_tuple_is_found_wherever_there_is_one() -> None:
    for seed in range(200):
        rng = np.random.default_rng(seed)
        facts = {("r", *map(str, rng.integers(0, 2, 3))) for _ in range(rng.integers(1, 8))}
        every = all(("r", *order) in facts for _, *names in facts for order in itertools.permutations(names))
        found = find_one_way(Hypergraph.of([*facts, ("one", "0")]))
        assert (found is None) == every
        if found is not None:
            assert (found.true in facts, found.false in facts) == (True, False)
            assert sorted(found.true) == sorted(found.false)
