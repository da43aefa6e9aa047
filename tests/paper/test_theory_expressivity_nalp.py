"""Lemma 2.2 fails: NaLP's construction separates random ground truths, and those that m-TransH cannot."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from relatum import Hypergraph, RelationSchema
from relatum.paper.theory import find_cycle, separating_nalp
from support.ground_truths import check_bounds, random_truth, true_and_false


def test_random_ground_truths_are_separated_exactly(count: Callable[[int, int], int]) -> None:
    true, false = 0, 0
    for seed in range(count(10, 200)):
        chance = np.random.default_rng(1000 + seed)
        truth = random_truth(chance)
        separation = separating_nalp(truth)
        looked_at = check_bounds(truth, separation, chance, rounding=0.0)
        for relations, columns, labels in true_and_false(truth, chance):
            assert torch.equal(separation.scores(relations, columns), labels.float()), (
                "1 or 0, also where a fact is repeated"
            )
        true, false = true + looked_at[0], false + looked_at[1]
    assert false > true > 0


def test_nalp_separates_what_translations_cannot() -> None:
    truth = Hypergraph.of([("r", "a", "b"), ("r", "b", "c"), ("r", "c", "a")])
    assert find_cycle(truth) is not None
    assert check_bounds(truth, separating_nalp(truth), np.random.default_rng(0), rounding=0.0) == (3, 6)


def test_the_combine_by_which_the_library_ranks_gives_the_same_scores() -> None:
    chance = np.random.default_rng(7)
    truth = random_truth(chance)
    separation = separating_nalp(truth)
    model, tables = separation.model, separation.model.encode(separation.parameters)
    for relations, columns, labels in true_and_false(truth, chance):
        for position, column in enumerate(columns):
            queries = model.queries(tables, relations, columns, position)
            candidates = model.candidates(tables, relations, position, column)
            scores = model.combine(tables).matrix(queries, candidates).diagonal()
            assert torch.equal(scores, labels.float())


def test_nothing_true_and_repeats_and_unseen_names() -> None:
    facts = [("loop", "a", "a"), ("nine", *"abcdefghi"), ("nine", *"aaaaaaaab"), ("nine", *"aaaaaaaab")]
    truth = Hypergraph.of(facts, [RelationSchema("empty", 2)])
    assert check_bounds(truth, separating_nalp(truth), np.random.default_rng(0), rounding=0.0)[0] == 3
    nothing = Hypergraph(truth.entities, truth.schema, [])
    assert check_bounds(nothing, separating_nalp(nothing), np.random.default_rng(0), rounding=0.0)[0] == 0
