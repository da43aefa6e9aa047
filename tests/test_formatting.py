"""Numbers, shares and times as people read them."""

from __future__ import annotations

import math

import pytest

from relatum.formatting import count, duration, listed, number, percent, score, share, visible


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.0 s"),
        (9.96, "10.0 s"),
        (59.6, "1 min"),
        (883, "14 min 43 s"),
        (3600, "1 h"),
        (90061, "1 d 1 h"),
        (math.inf, "?"),
    ],
)
def test_durations_are_said_in_their_two_largest_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_what_is_all_but_certain_is_not_called_certain() -> None:
    said = [percent(value) for value in (0.0, 1e-9, 0.5, 0.9994, 0.999999, 1.0, None)]
    assert said == ["0.0 %", "< 0.1 %", "50.0 %", "99.9 %", "> 99.9 %", "100.0 %", "-"]
    assert [percent(value, 0) for value in (0.001, 0.4361, 0.997)] == ["< 1 %", "44 %", "> 99 %"]


def test_shares_of_nothing_are_a_dash() -> None:
    assert [share(1, 4), share(0, 4), share(0, 0)] == ["25.0 %", "0.0 %", "-"]


def test_one_is_not_many() -> None:
    assert [count(value, "fact") for value in (0, 1, 61911)] == ["0 facts", "1 fact", "61,911 facts"]
    assert [count(value, "entity", "entities") for value in (1, 2)] == ["1 entity", "2 entities"]
    assert [number(61911), score(0.4314)] == ["61,911", "0.431"]


def test_words_are_listed_as_a_choice() -> None:
    assert [listed(words) for words in ([], ["2"], ["2", "3"], ["2", "3", "4"])] == ["", "2", "2 or 3", "2, 3 or 4"]


def test_control_characters_can_be_seen_and_do_nothing() -> None:
    assert visible("a\x00\x1b[31m\n\x7f b") == "a␀␛[31m␊␡ b"
    assert visible("\x85\u202e\u2066\ufffe") == "\ufffd" * 4
    assert visible("naïve שלום 𝕏 \u200d") == "naïve שלום 𝕏 \u200d"
