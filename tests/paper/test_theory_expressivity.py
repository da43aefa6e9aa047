"""Theorem 1: ReAlE's construction separates random ground truths by the paper's bounds, and the slips of its text show."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from relatum import Hypergraph, RelationSchema
from relatum.models.reale import ReAlE
from relatum.paper.theory import Separation, separating_reale
from support.ground_truths import check_bounds, random_truth

# The paper's figure: four true tuples of two relations.
FIGURE = Hypergraph.of(
    [("r1", "a", "b", "c"), ("r2", "a", "c"), ("r1", "c", "b", "d"), ("r1", "d", "c", "a")], [RelationSchema("r3", 6)]
)


def score(separation: Separation, relation: str, *names: str) -> float:
    graph = separation.model.graph
    ids = torch.tensor(graph.entities.ids(names)).long()[:, None]
    return float(separation.scores(torch.tensor([graph.schema.id(relation)]), ids))


def as_float64(separation: Separation) -> Separation:
    return replace(separation, parameters={name: values.double() for name, values in separation.parameters.items()})


def test_random_ground_truths_are_separated_by_the_bounds(count: Callable[[int, int], int]) -> None:
    most, true, false = 0, 0, 0
    for seed in range(count(20, 200)):
        chance = np.random.default_rng(seed)
        truth = random_truth(chance)
        separation = separating_reale(truth)
        number = len(truth.distinct())
        assert separation.false_at_most < 1 / (2 + max(1, number) ** 2)
        if number:
            assert separation.true_at_least == pytest.approx((1 - separation.false_at_most) / number, rel=1e-12)
        looked_at = check_bounds(truth, separation, chance, rounding=1e-6)
        if seed % 10 == 0:
            check_bounds(truth, as_float64(separation), chance, rounding=1e-12)
        most, true, false = max(most, number), true + looked_at[0], false + looked_at[1]
    assert most > 100
    assert false > true > 0


def test_the_sizes_are_those_of_the_theorem() -> None:
    model = separating_reale(FIGURE).model
    assert isinstance(model, ReAlE)
    assert (model.windows, model.settings.window, model.settings.dim) == (4, 6, 24)
    assert model.scale == 1


def test_arities_above_six_and_repeated_entities_and_facts() -> None:
    long = tuple("abcdefghi")
    rows = [("nine", *long), ("nine", *long), ("nine", *"aabbccdda"), ("loop", "a", "a"), ("loop", "a", "b"), ("one", "a")]
    truth = Hypergraph.of(rows, [RelationSchema("empty", 9)])
    separation = separating_reale(truth)
    assert check_bounds(truth, separation, np.random.default_rng(0), rounding=1e-6)[0] == 5
    for false in [("nine", *long[::-1]), ("nine", *"a" * 9), ("empty", *long), ("loop", "b", "a"), ("loop", "b", "b")]:
        assert score(separation, *false) <= separation.false_at_most * (1 + 1e-6)


def test_one_entity_off_scores_epsilon_itself_and_not_below() -> None:
    separation = as_float64(separating_reale(Hypergraph.of([("r", "a", "b")])))
    assert score(separation, "r", "a", "a") == pytest.approx(separation.false_at_most, rel=1e-14)
    assert score(separation, "r", "a", "b") == pytest.approx(separation.true_at_least, rel=1e-14)


def test_with_the_whole_block_filled_a_permuted_tuple_scores_as_a_true_one() -> None:
    truth = Hypergraph.of([("r", "a", "b", "c")])
    separation = separating_reale(truth)
    assert score(separation, "r", "b", "c", "a") <= separation.false_at_most * (1 + 1e-6)
    weights = separation.parameters["relations"]
    as_in_the_text = replace(
        separation, parameters={**separation.parameters, "relations": torch.full_like(weights, float(weights.max()))}
    )
    assert score(as_in_the_text, "r", "b", "c", "a") >= separation.true_at_least * (1 - 1e-6)


def test_no_true_tuple_at_all_takes_one_window() -> None:
    some = Hypergraph.of([("r", "a", "b")])
    nothing = Hypergraph(some.entities, some.schema, [])
    separation = separating_reale(nothing)
    assert check_bounds(nothing, separation, np.random.default_rng(0), rounding=1e-6) == (0, 4)
    assert isinstance(separation.model, ReAlE)
    assert separation.model.windows == 1


def test_strength_is_the_least_even_number_of_the_paper_s_bound() -> None:
    facts = Hypergraph.of(("r", f"e{number}", f"e{number + 1}") for number in range(200))
    strength = float(separating_reale(facts).parameters["relations"].max())
    assert strength == 22
    assert 2 * math.log(1 + 200**2) < strength <= 2 * math.log(1 + 200**2) + 2
