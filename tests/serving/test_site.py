"""What the server gives goes out as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass

from hypothesis import given
from hypothesis import strategies as st

from relatum.serving.site import json_of


@dataclass(frozen=True, slots=True)
class Leaf:
    """Something with a name and a value."""

    name: str
    value: float | None


@given(st.lists(st.builds(Leaf, st.text(st.characters(codec="utf-8")), st.none() | st.floats())))
def test_a_dataclass_becomes_an_object_in_ascii_and_what_is_not_finite_null(leaves: list[Leaf]) -> None:
    written = json_of({"leaves": tuple(leaves)})
    assert written.isascii()
    plain = [asdict(one) for one in leaves]
    for one in plain:
        one["value"] = one["value"] if one["value"] is not None and math.isfinite(one["value"]) else None
    assert json.loads(written) == {"leaves": plain}
