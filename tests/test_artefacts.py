"""What files are declared to hold comes back as it was, and any other value is refused with its place."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum.arrays import Float64, Int64
from relatum.artefacts import Count, Declared, Given, Known, Named, Share, Within, read
from relatum.data.schema import RelationSchema, Schema
from relatum.errors import DataError
from support.mistakes import mistake


class _Pair(NamedTuple):
    relation: Annotated[int, Named("schema")]
    terms: tuple[Count, ...]


class _Note(TypedDict):
    kind: Literal["one", "other"]
    done: NotRequired[bool]


@dataclass(frozen=True, eq=False)
class _Fitted(Declared):
    schema: Annotated[Schema, Given]
    slopes: Annotated[Float64, Within(0, 10, shape=("schema",))]
    low: Annotated[Float64, Within(-5, 5, shape=(2, "points"), rising=True)]
    ids: Annotated[Int64, Within(0, below="schema", shape=("points",))]
    share: Share | None
    pairs: list[_Pair]
    notes: dict[str, _Note]
    name: str = ""

    def check(self, known: Known) -> None:
        if self.name == "wrong":
            raise DataError("damaged-file", "is wrong", place="name")


SCHEMA = Schema([RelationSchema("a", 1), RelationSchema("b", 2)])
GOOD: dict[str, Any] = {
    "slopes": [0, 2.5],
    "low": [[-1.0, 0.0, 0.0], [0.5, 1.0, 2.0]],
    "ids": [0, 1, 1],
    "share": None,
    "pairs": [{"relation": "b", "terms": [1, 2, 3]}],
    "notes": {"first": {"kind": "one"}, "next": {"kind": "other", "done": True}},
    "name": "x",
}


def test_what_is_declared_comes_back() -> None:
    found = _Fitted.from_json(GOOD, schema=SCHEMA)
    assert found.pairs == [_Pair(1, (1, 2, 3))]
    assert found.schema is SCHEMA
    assert found.low.dtype == np.float64
    assert found.ids.dtype == np.int64
    assert json.loads(json.dumps(found.to_json(schema=SCHEMA))) == GOOD


def _changed(path: tuple[Any, ...], value: object) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(json.dumps(GOOD))
    at: Any = whole
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return whole


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        (("slopes", 1), 10.5, "slopes[1]"),
        (("slopes", 0), True, "slopes[0]"),
        (("slopes", 0), "1", "slopes[0]"),
        (("slopes",), [1.0], "slopes"),
        (("low", 1), [0.0], "low"),
        (("low", 1), [2.0, 1.0, 0.0], "low"),
        (("low", 0, 2), math.nan, "low[0][2]"),
        (("low",), [[], []], "low"),
        (("ids", 2), 2, "ids[2]"),
        (("ids", 2), 1.0, "ids[2]"),
        (("ids",), [0, 1], "ids"),
        (("share",), 1.5, "share"),
        (("share",), math.nan, "share"),
        (("pairs", 0, "relation"), 1, "pairs[0].relation"),
        (("pairs", 0, "terms", 1), -1, "pairs[0].terms[1]"),
        (("pairs", 0, "terms"), {}, "pairs[0].terms"),
        (("pairs", 0), [], "pairs[0]"),
        (("notes", "first", "kind"), "third", "notes['first'].kind"),
        (("notes", "next", "done"), 1, "notes['next'].done"),
        (("notes", "next", "more"), 1, "notes['next']"),
        (("notes",), [], "notes"),
        (("name",), "wrong", "name"),
        (("name",), 5, "name"),
        (("schema",), [], ""),
    ],
)
def test_what_is_not_declared_is_refused_with_its_place(path: tuple[Any, ...], value: object, place: str) -> None:
    with mistake("damaged-file", place=place):
        _Fitted.from_json(_changed(path, value), schema=SCHEMA)


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers()), st.just({})))
def test_a_number_is_taken_where_it_is_one_within_its_range(value: object) -> None:
    fits = type(value) in (int, float) and 0 <= value < 10  # type: ignore[operator]
    kind = Annotated[float, Within(0, below=10)]
    if fits:
        assert read(kind, value) == value
    else:
        with mistake("damaged-file", place=""):
            read(kind, value)


@pytest.mark.parametrize("kind", [int, float, Annotated[Float64, Within(0, shape=(None,))], list[float], set[str]])
def test_no_number_is_declared_without_a_range(kind: Any) -> None:
    with pytest.raises(TypeError):
        read(kind, [])
