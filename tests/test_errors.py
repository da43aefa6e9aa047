"""Errors say what, where, and what is nearest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from relatum.errors import FormatError, RelatumError, UnknownNameError, nearest_names


def test_the_nearest_names_come_first() -> None:
    assert nearest_names("slod", ["sold", "bought", "so", "gold"])[0] == "sold"


def test_case_is_forgiven_and_the_name_given_back_as_it_is() -> None:
    assert nearest_names("JF17K", ["jf17k", "M-FB15K"])[0] == "jf17k"
    assert nearest_names("sold", ["SOLD"]) == ("SOLD",)


def test_nothing_is_near_to_nonsense() -> None:
    assert nearest_names("zzzzzzzz", ["sold", "bought"]) == ()


@given(st.text(max_size=20), st.lists(st.text(max_size=20), max_size=20))
def test_the_nearest_are_known_and_few(name: str, known: list[str]) -> None:
    found = nearest_names(name, known)
    assert set(found) <= set(known)
    assert len(found) == len(set(found)) <= 3


def test_unknown_names_suggest_or_list_what_is_known() -> None:
    assert str(UnknownNameError("relation", "slod", ["sold"])) == "unknown relation 'slod'; did you mean 'sold'?"
    assert str(UnknownNameError("relation", "xyz", ["sold", "a"])) == "unknown relation 'xyz'; known: sold, a"
    assert str(UnknownNameError("relation", "xyz", [])) == "unknown relation 'xyz'"


def test_format_errors_name_file_line_and_reason() -> None:
    error = FormatError("unusable-name", "train.txt", 7, "empty name")
    assert str(error) == "train.txt:7: empty name"
    assert (error.code, error.place, error.reason) == ("unusable-name", "train.txt:7", "empty name")
    assert isinstance(error, RelatumError)
    assert isinstance(error, ValueError)
