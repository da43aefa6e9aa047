"""Theorem 1 and Lemma 2.2: constructions separate random ground truths by their bounds, and the slips of the text show."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from relatum import Hypergraph, RelationSchema
from relatum.models.reale import ReAlE
from relatum.paper.theory import Separation, find_cycle, separating_nalp, separating_reale
from support.ground_truths import check_bounds, random_truth, true_and_false

# The rounding of each construction: of NaLP's, scores are 1 and 0 exactly.
Construction = Callable[[Hypergraph], Separation]
ROUNDING: dict[Construction, float] = {separating_reale: 1e-6, separating_nalp: 0.0}
CONSTRUCTIONS = pytest.mark.parametrize("separating", ROUNDING)


def score(separation: Separation, relation: str, *names: str) -> float:
    graph = separation.model.graph
    ids = torch.tensor(graph.entities.ids(names)).long()[:, None]
    return float(separation.scores(torch.tensor([graph.schema.id(relation)]), ids))


def as_float64(separation: Separation) -> Separation:
    return replace(separation, parameters={name: values.double() for name, values in separation.parameters.items()})


@CONSTRUCTIONS
def test_random_ground_truths_are_separated_by_the_bounds(
    separating: Construction, count: Callable[[int, int], int]
) -> None:
    most, true, false = 0, 0, 0
    for seed in range(count(15, 200)):
        chance = np.random.default_rng(seed)
        truth = random_truth(chance)
        separation, number = separating(truth), len(truth.distinct())
        if separating is separating_reale:
            assert separation.false_at_most < 1 / (2 + max(1, number) ** 2)
            assert separation.true_at_least == pytest.approx((1 - separation.false_at_most) / max(1, number), rel=1e-12)
            if seed % 10 == 0:
                check_bounds(truth, as_float64(separation), chance, rounding=1e-12)
        else:
            for relations, columns, labels in true_and_false(truth, chance):
                assert torch.equal(separation.scores(relations, columns), labels.float())
        looked_at = check_bounds(truth, separation, chance, rounding=ROUNDING[separating])
        most, true, false = max(most, number), true + looked_at[0], false + looked_at[1]
    assert most > 100
    assert false > true > 0


@CONSTRUCTIONS
def test_arities_above_six_and_repeats_and_unseen_names_and_nothing_true(separating: Construction) -> None:
    long = tuple("abcdefghi")
    rows = [("nine", *long), ("nine", *long), ("nine", *"aabbccdda"), ("loop", "a", "a"), ("loop", "a", "b"), ("one", "a")]
    truth, chance, rounding = (
        Hypergraph.of(rows, [RelationSchema("empty", 2)]),
        np.random.default_rng(0),
        ROUNDING[separating],
    )
    separation = separating(truth)
    assert check_bounds(truth, separation, chance, rounding)[0] == 5
    for false in [("nine", *long[::-1]), ("nine", *"a" * 9), ("empty", "a", "b"), ("loop", "b", "a"), ("loop", "b", "b")]:
        assert score(separation, *false) <= separation.false_at_most * (1 + rounding)
    nothing = Hypergraph(truth.entities, truth.schema, [])
    assert check_bounds(nothing, separating(nothing), chance, rounding)[0] == 0


def test_the_sizes_are_those_of_the_theorem() -> None:
    # The paper's figure: four true tuples of two relations.
    figure = [("r1", "a", "b", "c"), ("r2", "a", "c"), ("r1", "c", "b", "d"), ("r1", "d", "c", "a")]
    for facts, windows in ((figure, 4), ([], 1)):
        model = separating_reale(Hypergraph.of(facts, [RelationSchema("r3", 6)])).model
        assert isinstance(model, ReAlE)
        assert (model.windows, model.settings.window, model.settings.dim, model.scale) == (windows, 6, 6 * windows, 1)


def test_one_entity_off_scores_epsilon_and_a_whole_block_tells_no_order() -> None:
    separation = as_float64(separating_reale(Hypergraph.of([("r", "a", "b")])))
    assert score(separation, "r", "a", "a") == pytest.approx(separation.false_at_most, rel=1e-14)
    assert score(separation, "r", "a", "b") == pytest.approx(separation.true_at_least, rel=1e-14)
    truth = Hypergraph.of([("r", "a", "b", "c")])
    separation = separating_reale(truth)
    assert score(separation, "r", "b", "c", "a") <= separation.false_at_most * (1 + 1e-6)
    weights = separation.parameters["relations"]
    as_in_the_text = replace(
        separation, parameters={**separation.parameters, "relations": torch.full_like(weights, float(weights.max()))}
    )
    assert score(as_in_the_text, "r", "b", "c", "a") >= separation.true_at_least * (1 - 1e-6)


def test_strength_is_the_least_even_number_of_the_paper_s_bound() -> None:
    facts = Hypergraph.of(("r", f"e{number}", f"e{number + 1}") for number in range(200))
    strength = float(separating_reale(facts).parameters["relations"].max())
    assert strength == 22
    assert 2 * math.log(1 + 200**2) < strength <= 2 * math.log(1 + 200**2) + 2


def test_nalp_separates_what_translations_cannot() -> None:
    truth = Hypergraph.of([("r", "a", "b"), ("r", "b", "c"), ("r", "c", "a")])
    assert find_cycle(truth) is not None
    assert check_bounds(truth, separating_nalp(truth), np.random.default_rng(0), rounding=0.0) == (3, 6)
