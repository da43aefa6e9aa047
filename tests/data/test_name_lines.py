"""Names as lines behave as a tuple of them does, and are found as quickly as they are many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum import DataError, UnknownNameError, Vocabulary
from relatum.data import name_lines, vocabulary
from relatum.data.name_lines import NameLines, lines_of
from support.mistakes import mistake
from support.strategies import names

LISTS = st.lists(names, unique=True, max_size=12)


@given(LISTS, st.booleans(), names)
def test_lines_read_as_a_tuple_does(drawn: list[str], ordered: bool, other: str) -> None:
    strings = tuple(sorted(drawn) if ordered else drawn)
    lines = NameLines.of(strings)
    assert lines == strings
    assert strings == lines
    assert tuple(lines) == strings
    assert len(lines) == len(strings)
    assert [lines[number] for number in range(-len(strings), len(strings))] == [*strings, *strings]
    assert lines[1:-1] == strings[1:-1]
    assert lines[::-2] == strings[::-2]
    assert list(reversed(lines)) == list(reversed(strings))
    assert [lines.find(name) for name in strings] == list(range(len(strings)))
    assert (other in lines, lines.find(other) >= 0) == (other in strings, other in strings)
    assert "\ud800" not in lines
    assert lines == lines_of(strings)
    assert (lines == NameLines.of(strings[::-1])) == (strings == strings[::-1])
    for prefix in ("", other[:1], other, "d", "\ud800"):
        assert lines.beginning_with(prefix).tolist() == [n for n, name in enumerate(strings) if name.startswith(prefix)]
    with pytest.raises(IndexError):
        lines[len(strings)]


@given(LISTS)
def test_a_vocabulary_of_many_names_is_one_of_few(drawn: list[str]) -> None:
    few = Vocabulary(drawn)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vocabulary, "_MOST_STRINGS", -1)
        many = Vocabulary(drawn)
    assert isinstance(many.names, NameLines)
    assert many == few
    assert few == many
    assert hash(many) == hash(few)
    assert list(many) == list(few) == drawn
    assert many.ids(drawn).tolist() == few.ids(drawn).tolist()
    assert all(name in many for name in drawn)
    assert many.beginning_with("d").tolist() == few.beginning_with("d").tolist()
    assert "never drawn" not in many


@given(LISTS, LISTS, st.data())
def test_many_names_are_found_chosen_and_joined_as_few_are(some: list[str], others: list[str], data: st.DataObject) -> None:
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(some), max_size=len(some))), np.bool_)
    with pytest.MonkeyPatch.context() as patch:
        for most in (1 << 17, -1):
            patch.setattr(vocabulary, "_MOST_STRINGS", most)
            mine, theirs = Vocabulary(some), Vocabulary(others)
            numbers = mine.numbers_of(theirs)
            assert numbers.dtype == np.int32
            assert numbers.tolist() == [some.index(name) if name in some else -1 for name in others]
            assert list(mine.chosen(mask)) == [name for name, there in zip(some, mask, strict=True) if there]
            assert list(mine.union(theirs)) == sorted({*some, *others})
            assert mine.ids(mine.chosen(mask)).tolist() == np.flatnonzero(mask).tolist()
            if set(others) - set(some):
                with pytest.raises(UnknownNameError):
                    mine.ids(theirs)


def test_a_misspelt_name_among_many_is_found_by_its_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "_MOST_STRINGS", 0)
    monkeypatch.setattr(name_lines, "_NEIGHBOURS", 3)
    known = Vocabulary(sorted(["Amsterdam", "Paris", *(f"{letter}{number}" for letter in "abPqz" for number in range(40))]))
    for wrong, right in (("Amsterdm", "Amsterdam"), ("amsterdam", "Amsterdam"), ("APris", "Paris"), ("paris", "Paris")):
        with pytest.raises(UnknownNameError) as caught:
            known.id(wrong)
        assert right in caught.value.nearest


@given(st.lists(names, unique=True, min_size=1, max_size=20))
def test_sound_lines_pass_the_check_and_others_do_not(drawn: list[str]) -> None:
    ordered = NameLines.of(sorted(drawn))
    assert NameLines.check(ordered.text, ordered.starts) == ordered
    if drawn != sorted(drawn):
        lines = NameLines.of(drawn)
        with mistake("damaged-file"):
            NameLines.check(lines.text, lines.starts)
    for wrong in (
        ordered.starts[:-1],
        ordered.starts + 1,
        np.append(ordered.starts, ordered.starts[-1] + 1),
        ordered.starts[:0],
    ):
        with pytest.raises(DataError):
            NameLines.check(ordered.text, wrong)
    with pytest.raises(DataError):
        NameLines.check(ordered.text, ordered.starts.astype(np.int32))


def test_names_run_together_do_not_pass_the_check() -> None:
    lines = NameLines.of(["ab", "cd"])
    text = lines.text.copy()
    text[2] = ord("x")
    with mistake("damaged-file"):
        NameLines.check(text, lines.starts)
