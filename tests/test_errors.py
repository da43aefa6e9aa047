"""Errors say what, where, and what is nearest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum.errors import FormatError, RelatumError, UnknownNameError, nearest_names


@pytest.mark.parametrize(
    ("name", "known", "nearest"),
    [
        ("slod", ["sold", "bought", "so", "gold"], "sold"),
        ("JF17K", ["jf17k", "M-FB15K"], "jf17k"),
        ("sold", ["SOLD"], "SOLD"),  # as it is written
        ("zzzzzzzz", ["sold", "bought"], None),
    ],
)
def test_the_nearest_name_comes_first_whatever_its_case(name: str, known: list[str], nearest: str | None) -> None:
    assert next(iter(nearest_names(name, known)), None) == nearest


@given(st.text(max_size=20), st.lists(st.text(max_size=20), max_size=20))
def test_the_nearest_are_known_and_few(name: str, known: list[str]) -> None:
    found = nearest_names(name, known)
    assert set(found) <= set(known)
    assert len(found) == len(set(found)) <= 3


def test_unknown_names_suggest_what_is_known_and_format_errors_name_their_line() -> None:
    assert str(UnknownNameError("relation", "slod", ["sold"])) == "unknown relation 'slod'; did you mean 'sold'?"
    assert str(UnknownNameError("relation", "xyz", ["sold", "a"])) == "unknown relation 'xyz'; known: sold, a"
    assert str(UnknownNameError("relation", "xyz", [])) == "unknown relation 'xyz'"
    error = FormatError("unusable-name", "train.txt", 7, "empty name")
    assert str(error) == "train.txt:7: empty name"
    assert (error.code, error.place, error.reason) == ("unusable-name", "train.txt:7", "empty name")
    assert isinstance(error, RelatumError)
    assert isinstance(error, ValueError)
