"""Vocabularies: dense, distinct, immutable, and only of names that a line of text can hold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum import DataError, Vocabulary
from relatum.data import vocabulary
from relatum.data.vocabulary import fault_of
from support.mistakes import mistake
from support.strategies import names


@given(st.lists(names, unique=True))
def test_ids_are_places(drawn: list[str]) -> None:
    known = Vocabulary(drawn)
    assert [known.id(name) for name in drawn] == list(range(len(drawn)))
    assert [known[number] for number in range(len(drawn))] == drawn == list(known)
    assert known.ids(reversed(drawn)).tolist() == list(reversed(range(len(drawn))))
    assert known.ids([]).dtype == np.int32


@given(st.lists(st.text(max_size=4), max_size=6))
def test_a_vocabulary_is_refused_exactly_when_a_name_is_bad_or_repeated(drawn: list[str]) -> None:
    if len(set(drawn)) < len(drawn) or any(map(fault_of, drawn)):
        with pytest.raises(DataError):
            Vocabulary(drawn)
    else:
        assert len(Vocabulary(drawn)) == len(drawn)


@pytest.mark.parametrize("name", ["", " ", "\u2003", "a\tb", "a\n", "\r", "a\0", "\ud800"])
def test_what_cannot_be_a_name(name: str) -> None:
    assert fault_of(name)
    with pytest.raises(DataError):
        Vocabulary(["drew", name])


def test_what_is_named_twice_or_never_is_refused_and_equality_is_by_names() -> None:
    with mistake("named-twice"):
        Vocabulary(["drew", "alex", "drew"])
    with mistake("unknown-name", nearest=("drew",)):
        Vocabulary(["drew", "alex"]).id("drw")
    assert Vocabulary(["a", "b"]) == Vocabulary(["a", "b"])
    assert hash(Vocabulary(["a", "b"])) == hash(Vocabulary(["a", "b"]))
    assert Vocabulary(["a", "b"]) != Vocabulary(["b", "a"])
    assert "a" in Vocabulary(["a"])
    assert "b" not in Vocabulary(["a"])


@given(st.lists(st.text("ab \u3000é\t\r", max_size=4), max_size=6), st.integers(-1, 9))
def test_lines_are_parsed_as_a_list_of_names_is(drawn: list[str], most: int) -> None:
    text = "\n".join(drawn).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vocabulary, "_MOST_STRINGS", most)
        assert outcome(lambda: Vocabulary.parse(text)) == outcome(
            lambda: Vocabulary(text.decode().split("\n") if text else ())
        )


def outcome(build: Callable[[], Vocabulary]) -> Vocabulary | str:
    """Return what was built, or why it was not."""
    try:
        return build()
    except DataError as error:
        return str(error)
