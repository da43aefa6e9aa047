"""The limits of every question: how many answers, how long a text, how deep an expression, how many seconds."""

from __future__ import annotations

import math

from relatum.errors import DataError, SettingError
from relatum.settings import whole_number

MOST_ANSWERS = 1000  # known answers to a question, and new ones; rows of a query
MOST_REASONS = 20  # rules that are shown for one fact
MOST_FACTS = 500  # facts of a page
MOST_MISSING = 1000  # facts that are looked for of a relation
MOST_NAMES = 100  # names that are suggested or found
MOST_RELATIONS = 1000  # relations of a schema
MOST_RULES = 200
MOST_TEXT = 10_000  # characters of a question, a query or a name
MOST_DEPTH = 40  # brackets within brackets
MOST_SECONDS = 30.0  # that one question may take
MOST_ASSUMED = 100  # facts that are taken as true for one question
MOST_DEFINITIONS = 10  # definitions for one question


def bounded(name: str, value: object, most: int, *, least: int = 1) -> int:
    """Return a number that a caller gave, from `least` to `most`; another is refused."""
    found = whole_number(name, value, least=least)
    if found > most:
        raise SettingError("over-limit", f"must be at most {most:,}, not {found:,}", place=name)
    return found


def bounded_seconds(seconds: float) -> float:
    """Return how long a question may take; refused if it is nothing, or too long."""
    if not math.isfinite(seconds) or not 0 < seconds <= MOST_SECONDS:
        reason = f"must be above 0 and at most {MOST_SECONDS:g}, not {seconds:g}"
        raise SettingError("setting-out-of-range", reason, place="seconds")
    return float(seconds)


def bounded_text(text: str, what: str = "the text") -> str:
    """Return a text that a caller gave; refused if it is too long, or has too many brackets within each other."""
    if len(text) > MOST_TEXT:
        raise DataError("over-limit", f"{what} has {len(text):,} characters, and at most {MOST_TEXT:,} are read")
    depth = 0
    for sign in text:
        if sign in "([":
            depth += 1
            if depth > MOST_DEPTH:
                raise DataError("over-limit", f"{what} has more than {MOST_DEPTH} brackets within each other")
        elif sign in ")]":
            depth = max(0, depth - 1)
    return text
