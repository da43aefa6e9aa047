"""Tokens lead to a page of what they were given for, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum import DataError
from relatum.resources.tokens import offset_of, token_of


@given(st.integers(0, 2**63), st.text())
def test_a_token_leads_back_to_its_offset(offset: int, name: str) -> None:
    assert offset_of(token_of(offset, "facts", name), "facts", name) == offset
    assert offset_of(None, "facts", name) == 0


@given(st.text(max_size=80))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="start again without it"):
        offset_of(text, "facts", "drew")


def test_a_token_has_one_spelling() -> None:
    token = token_of(2**64 - 1, "facts")
    assert "_" in token
    for other in (token.replace("_", "/", 1), token[:-1] + chr(ord(token[-1]) + 1)):
        with pytest.raises(DataError, match="start again without it"):
            offset_of(other, "facts")


def test_a_token_of_something_else_is_refused() -> None:
    token = token_of(50, "facts", "drew")
    with pytest.raises(DataError):
        offset_of(token, "facts", "alex")
    swapped = ("A" if token[3] != "A" else "B").join((token[:3], token[4:]))
    with pytest.raises(DataError):
        offset_of(swapped, "facts", "drew")


def test_a_token_is_short_and_safe_in_an_address() -> None:
    token = token_of(2**40, "facts", "x" * 10_000)
    assert len(token) < 40
    assert token.replace("-", "").replace("_", "").isalnum()
