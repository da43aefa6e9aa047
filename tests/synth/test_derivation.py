"""Algorithm 3: derived relations are what their expressions say, none is trivial, and sides overlap as promised."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from relatum.algebra import Difference, Expression, Project, Relation, Rename, SelectConstant, SelectEqual, Union, evaluate
from relatum.algebra.node import post_order
from relatum.synth import SynthDataset, find_preset, synthesize
from relatum.synth.derivation import OVERLAP


def tuples(made: SynthDataset, expression: Expression) -> set[tuple[str, ...]]:
    return set(evaluate(expression, made.truth))


def nodes(made: SynthDataset) -> list[Expression]:
    found = {node: None for root in made.expressions.values() for node in post_order(root, lambda node: node.children)}
    return list(found)


def test_the_truth_is_what_expressions_say_and_operations_are_mixed(made: SynthDataset) -> None:
    for name, expression in made.expressions.items():
        exact = evaluate(expression, made.truth)
        assert np.array_equal(made.truth.table(name).columns, exact.columns), name
    kinds = [
        {type(node) for node in post_order(root, lambda node: node.children) if not isinstance(node, Relation)}
        for root in made.expressions.values()
        if root.depth >= 2
    ]
    assert np.mean([len(found) >= 2 for found in kinds]) > 0.8
    assert any(len(found) >= 3 for found in kinds)


def test_no_operation_is_trivial_and_no_two_relations_have_the_same_tuples(made: SynthDataset) -> None:
    assert {SelectEqual, SelectConstant} <= {type(node) for node in nodes(made)}
    for node in nodes(made):
        if isinstance(node, Rename):
            assert node.permutation != tuple(range(node.arity))
            assert not isinstance(node.child, Rename)
        elif isinstance(node, Project):
            assert node.arity < node.child.arity
            assert not isinstance(node.child, Project)
        elif isinstance(node, SelectConstant | SelectEqual):
            assert 0 < len(evaluate(node, made.truth)) < len(evaluate(node.child, made.truth))
    contents = [made.truth.table(relation.name).columns for relation in made.truth.schema]
    assert len({(len(columns), columns.tobytes()) for columns in contents}) == len(contents)
    assert min(columns.shape[1] for columns in contents) >= made.settings.least_tuples
    assert min(map(len, contents)) >= 2


def test_differences_take_a_part_of_their_left_side_and_unions_share_tuples(made: SynthDataset) -> None:
    least, most = OVERLAP
    seen: Counter[type] = Counter()
    for node in nodes(made):
        if isinstance(node, Union | Difference):
            left, right = tuples(made, node.left), tuples(made, node.right)
            whole = len(left) if isinstance(node, Difference) else min(len(left), len(right))
            assert least <= len(left & right) / whole <= most
            seen[type(node)] += 1
    assert min(seen[Union], seen[Difference]) >= 3


def test_without_families_unions_and_differences_come_from_derived_relations_only() -> None:
    settings = find_preset("small").changed(["family=1", "derived=60"])
    made = synthesize(settings, 1)
    both = [expression for expression in made.expressions.values() if isinstance(expression, Union | Difference)]
    assert both
    assert all(expression.depth >= 2 for expression in both)
    assert made.given_up  # those of depth 1, which were planned, cannot be


def test_what_is_drawn_again_is_bounded_and_counted() -> None:
    settings = find_preset("small").changed(["tries=3"])
    made = synthesize(settings, 0)
    planned = settings.derived
    assert sum(made.given_up.values()) == planned - (len(made.truth.schema) - settings.relations)
    assert 3 * sum(made.given_up.values()) <= sum(made.redrawn.values()) <= 3 * planned


def test_operations_without_weight_do_not_occur() -> None:
    settings = find_preset("small").changed(["operations={rename=1, project=2}", "depths=[1, 0, 0]"])
    made = synthesize(settings, 0)
    counts = Counter(origin.operation for origin in made.derivations.values() if origin.depth)
    assert set(counts) == {"rename", "project"}
    assert {origin.depth for origin in made.derivations.values()} == {0, 1}
    assert counts["project"] == pytest.approx(2 * counts["rename"], abs=2)


def test_selections_by_constant_are_not_tiny(rel_er: SynthDataset) -> None:
    sizes = [
        len(rel_er.truth.table(name)) for name, found in rel_er.expressions.items() if isinstance(found, SelectConstant)
    ]
    assert np.median(sizes) >= 20  # of the published REL-ER's selections nine in ten were empty
