"""JSON of dataclasses, in ASCII, without what JSON does not have."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from relatum.serving.site import json_of


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


def plain(value: Any) -> Any:
    """Return what JSON has for a value."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


@given(st.lists(st.tuples(st.text(st.characters()), st.none() | st.floats())))
def test_a_dataclass_becomes_an_object_in_ascii_and_what_is_not_finite_null(pairs: list[tuple[str, float | None]]) -> None:
    tree = Tree(tuple(Leaf(*pair) for pair in pairs), Leaf(*pairs[0]) if pairs else None)
    written = json_of({"trees": [tree]})
    assert written.isascii()
    assert json.loads(written) == {"trees": [plain(asdict(tree))]}
