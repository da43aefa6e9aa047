"""Distances between distributions with known answers, and the paper's criteria where they are met and where not."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from relatum.data.derivations import OPERATIONS
from relatum.data.hypergraph import Hypergraph, Split
from relatum.paper.fidelity import Criteria, Shape, criteria, distances, kolmogorov_smirnov, total_variation
from relatum.synth import SynthDataset, find_preset, synthesize


def test_total_variation_is_the_share_that_would_have_to_move() -> None:
    assert total_variation({2: 3, 3: 1}, {2: 300, 3: 100}) == 0
    assert total_variation({2: 3, 3: 1}, {2: 1, 3: 1}) == pytest.approx(0.25)
    assert total_variation({2: 1}, {3: 5}) == 1


@pytest.mark.parametrize(
    ("ours", "theirs", "distance"),
    [
        ([1, 2, 2], [1, 2, 2, 1, 2, 2], 0),  # the number of draws does not count
        ([1, 2, 3, 4], [1, 2, 3, 8], 0.25),
        ([1, 1, 1, 5], [1, 5, 5, 5], 0.5),
        ([1, 2], [7], 1),
    ],
)
def test_kolmogorov_smirnov_is_the_widest_gap(ours: list[int], theirs: list[int], distance: float) -> None:
    assert kolmogorov_smirnov(np.array(ours), np.array(theirs)) == distance
    assert kolmogorov_smirnov(np.array(theirs), np.array(ours)) == distance


def test_a_shape_counts_each_fact_once_and_distances_leave_small_relations_out_where_they_say_so() -> None:
    facts = [("likes", "a", "b"), ("gave", "a", "b", "c")]
    graph = Hypergraph.of(facts)
    none = Hypergraph(graph.entities, graph.schema, ())
    shape = Shape.of(Split(graph, none, graph))
    assert shape.arities == {2: 1, 3: 1}
    assert shape.degrees.tolist() == [2, 2, 1]
    assert shape.sizes.tolist() == [1, 1]
    ours, theirs = (dataclasses.replace(shape, sizes=np.array(sizes)) for sizes in ([10, 20], [10, 20, 1, 2]))
    assert distances(ours, theirs) == {"arity": 0, "degree": 0, "size_of_large": 0, "size": 0.5}


def test_made_datasets_meet_the_criteria(made: SynthDataset) -> None:
    found = criteria(made)
    assert found.complete
    assert found.diverse
    assert found.compositional
    assert 0 < found.sequences <= found.mixed <= found.repeated
    derived = sum(count for (_, depth), count in made.counts("test").items() if depth)
    assert sum(found.operations["test"].values()) == sum(found.depths["test"].values()) == derived
    assert 0 < found.mixed_tuples["test"] < derived


def test_the_criteria_are_not_met_by_one_operation_or_one_depth() -> None:
    lone = criteria(synthesize(find_preset("small").changed(["operations={union=1}", "family=4"]), 0))
    assert (lone.complete, lone.compositional, lone.mixed, lone.sequences) == (False, False, 0, 0)
    assert lone.repeated  # a union of unions took two operations, but of one type
    flat = criteria(synthesize(find_preset("small").changed(["depths=[1.0]"]), 0))
    assert (flat.complete, flat.diverse, flat.compositional) == (True, False, False)


def test_what_is_missing_from_test_alone_is_missing() -> None:
    whole = dict.fromkeys(OPERATIONS, 1)
    depths = {"train": dict.fromkeys(range(1, 5), 1), "test": {1: 1, 2: 1, 3: 0, 4: 1}}
    operations = {"train": whole, "test": {**whole, "union": 0}}
    found = Criteria(operations, depths, 1, 1, 1, {"train": 1, "test": 0})
    assert (found.complete, found.diverse, found.compositional) == (False, False, False)
    assert found.to_json()["depths"]["test"] == {"1": 1, "2": 1, "3": 0, "4": 1}
