"""Shapes: what they consist of holds together, and they are found by name."""

from __future__ import annotations

import pytest

from relatum.querysets.shapes import SHAPES, find_shapes
from support.mistakes import mistake


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_can_be_walked_and_its_head_is_safe(name: str) -> None:
    shape = SHAPES[name]
    used = {number for rule in shape.rules for number in rule}
    assert used | set(shape.negated) == set(range(len(shape.atoms)))
    assert not used & set(shape.negated)
    for rule in shape.rules:
        positive = {variable for number in rule for variable in shape.atoms[number]}
        assert positive >= set(shape.head)
        assert positive >= {variable for number in shape.negated for variable in shape.atoms[number]}
    reached, waiting = set(shape.atoms[0]), set(used)
    while joined := [number for number in waiting if reached & set(shape.atoms[number])]:
        waiting.difference_update(joined)
        reached.update(variable for number in joined for variable in shape.atoms[number])
    assert not waiting, "atoms hang together, so that a walk from any of them reaches all"
    assert max(map(len, shape.atoms)) <= 2, "a fact of arity 2 has two positions, and n-ary ones a constant left"
    assert shape.n_ary == name.endswith("-n")


def test_shapes_are_found_by_name_in_one_order() -> None:
    assert [shape.name for shape in find_shapes(["2d", "1p"])] == ["1p", "2d"]
    assert [shape.name for shape in find_shapes([])] == list(SHAPES)
    with mistake("no-queries"):
        find_shapes(["3pp"])
