"""What is too much is refused in one sentence that says how much is enough."""

from __future__ import annotations

import math

from relatum.resources.limits import MOST_DEPTH, MOST_TEXT, bounded, bounded_seconds, bounded_text
from support.mistakes import mistake


def test_a_number_is_kept_within_its_bounds() -> None:
    assert bounded("k", 10, 10) == 10
    for wrong in (0, -1, 11, True, "3"):
        with mistake("over-limit" if wrong == 11 else "setting-out-of-range", place="k"):
            bounded("k", wrong, 10)


def test_seconds_are_above_nothing_and_not_too_many() -> None:
    assert bounded_seconds(0.5) == 0.5
    for wrong in (0.0, -1.0, math.nan, math.inf, 31.0):
        with mistake("setting-out-of-range", place="seconds"):
            bounded_seconds(wrong)


def test_a_text_is_neither_too_long_nor_too_deep() -> None:
    assert bounded_text("sold(drew, ?, book)") == "sold(drew, ?, book)"
    assert bounded_text("()" * (MOST_DEPTH + 1))
    with mistake("over-limit"):
        bounded_text("x" * (MOST_TEXT + 1), "the query")
    with mistake("over-limit"):
        bounded_text("(" * (MOST_DEPTH + 1))
