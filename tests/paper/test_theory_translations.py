"""Lemma 2.1: scores around a cycle cancel for all parameters, and cycles are found where there are any and only there."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
import torch

from relatum import Hypergraph
from relatum.models.base import Parameters
from relatum.models.translations import RAE, MTransH
from relatum.paper.theory import Cycle, find_cycle, residual
from relatum.paper.theory.translations import scores

CYCLE = Hypergraph.of([("r", "a", "b"), ("r", "b", "c"), ("r", "c", "a"), ("r", "a", "d"), ("r", "d", "a"), ("r", "d", "d")])
KINDS = pytest.mark.parametrize("kind", [MTransH, RAE])


def drawn(model: MTransH, seed: int, spread: float) -> Parameters:
    """Return parameters that are large, so that a sum that does not cancel shows."""
    generator = torch.Generator().manual_seed(seed)
    return {
        name: spread * torch.randn(values.shape, generator=generator, dtype=torch.float64)
        for name, values in model.init_parameters(generator).items()
    }


@KINDS
def test_a_cycle_cancels_for_all_parameters(kind: type[MTransH], count: Callable[[int, int], int]) -> None:
    names = "abcdefgh"
    graph = Hypergraph.of([("two", *names[:2]), ("five", *names[:5]), ("all", *names)])
    cycles = [
        Cycle("two", tuple("abc")),
        Cycle("two", tuple("hgfedcba")),
        Cycle("two", tuple("abab")),
        Cycle("five", tuple("bcd"), (0, 1), tuple("efg")),
        Cycle("five", tuple("bcda"), (1, 4), tuple("eae")),
    ]
    for seed in range(count(20, 400)):
        model = kind(graph, kind.settings_type(dim=1 + seed % 7))
        parameters = drawn(model, seed, spread=3.0)
        for cycle in cycles:
            forward, backward = scores(model, parameters, cycle.forward), scores(model, parameters, cycle.backward)
            size = float(forward.abs().sum() + backward.abs().sum())
            assert abs(residual(model, parameters, cycle)) <= 1e-13 * size
            assert forward.min() <= backward.max() + 1e-13 * size, "no threshold has the two on different sides"


@KINDS
def test_what_is_not_a_cycle_does_not_cancel(kind: type[MTransH]) -> None:
    # Else a residual of 0 would say nothing about cycles.
    model = kind(CYCLE, kind.settings_type(dim=4))
    parameters = drawn(model, 0, spread=1.0)
    open_path = [("r", "a", "b"), ("r", "b", "c")], [("r", "b", "a"), ("r", "c", "b")]
    forward, backward = (float(scores(model, parameters, tuple(side)).sum()) for side in open_path)
    assert abs(forward - backward) > 0.1


def test_two_positions_of_a_larger_relation_make_a_cycle_too() -> None:
    rows = [("sold", "shop", one, "2020", other) for one, other in ["ab", "bc", "cd", "da"]]
    found = find_cycle(Hypergraph.of([*rows, ("sold", "shop", "b", "2021", "a")]))
    assert found is not None
    assert (found.positions, found.others) == ((1, 3), ("shop", "2020"))
    assert set(found.forward) == set(rows)
    assert "sold(shop, b, 2020, a)" in str(found)
    broken = [*rows[:3], ("sold", "shop", "d", "2021", "a")]
    assert find_cycle(Hypergraph.of(broken)) is None, "the other entities differ, so it is no cycle"


def test_a_cycle_is_found_if_and_only_if_there_is_one(count: Callable[[int, int], int]) -> None:
    chance = np.random.default_rng(0)
    outcomes = set()
    for _ in range(count(60, 1000)):
        pairs = {(str(one), str(other)) for one, other in chance.integers(0, 5, (chance.integers(0, 12), 2))}
        steps = {pair for pair in pairs if pair[::-1] not in pairs}
        loops = any(
            all(step in steps for step in zip(order, order[1:] + order[:1], strict=True))
            for length in range(3, 6)
            for order in itertools.permutations("01234", length)
        )
        found = find_cycle(Hypergraph.of([("r", *pair) for pair in pairs]))
        assert (found is not None) == loops
        if found is not None:
            assert {fact[1:] for fact in found.forward} <= steps
            assert [fact[1:] for fact in found.backward] == [fact[:0:-1] for fact in found.forward]
        outcomes.add(loops)
    assert outcomes == {True, False}
