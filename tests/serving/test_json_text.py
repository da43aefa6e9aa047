"""JSON of dataclasses, in ASCII, without what JSON does not have."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass

from hypothesis import given
from hypothesis import strategies as st

from relatum.serving.json_text import json_of


@dataclass(frozen=True, slots=True)
class Leaf:
    """Has no others in it."""

    name: str
    value: float | None


@dataclass(frozen=True, slots=True)
class Tree:
    """Has others in it."""

    leaves: tuple[Leaf, ...]
    best: Leaf | None


@given(st.lists(st.tuples(st.text(), st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)))))
def test_a_dataclass_becomes_an_object(pairs: list[tuple[str, float | None]]) -> None:
    tree = Tree(tuple(Leaf(*pair) for pair in pairs), Leaf(*pairs[0]) if pairs else None)
    written = json_of(tree)
    assert written.isascii()
    assert json.loads(written) == json.loads(json.dumps(asdict(tree)))


def test_what_is_not_finite_becomes_null() -> None:
    tree = Tree((Leaf("a", math.nan), Leaf("b", math.inf), Leaf("c", 1.0)), Leaf("d", -math.inf))
    found = json.loads(json_of({"tree": tree, "list": [math.nan, 2]}))
    assert [leaf["value"] for leaf in found["tree"]["leaves"]] == [None, None, 1.0]
    assert found["tree"]["best"] == {"name": "d", "value": None}
    assert found["list"] == [None, 2]


def test_half_a_character_does_no_harm() -> None:
    assert json_of("\ud800") == b'"\\ud800"'
