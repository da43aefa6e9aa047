"""Statements to test with: drawn by Hypothesis, or many at random, some of them twice; and lines of each form with them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from relatum.statements.forms import write_wikipeople
from relatum.statements.statement import Statement, statement

# What a name, a line, a comma, an escape, a role or a number could break.
ODD = ["+", "#", "P1+P2", "P580#2", "%", "%25", "%2B", "a\tb", "a\nb", "\r", "\0", " ", "\t\t", "\u3000", "\ufeff", "7", "٣"]
ODD += ["P69_h", "_t", "N", "claims", "a,b", '"', "\\", "{}", "日本", "e\u0301", "🦆", "[red]", "?", "\x85", "\u2028"]
PLAIN = ["P69", "P166", "P580", "P582", "P1706", "P31"]
TIMES = ["+1903-00-00T00:00:00Z#0#0#0#9#http://www.wikidata.org/entity/Q1985727", "-0001-01-01T00:00:00Z#0#0#5#9#x"]

DataValue = tuple[dict[str, Any], str]  # as it is in a snak, and its text

_texts = st.sampled_from([*PLAIN, *ODD]) | st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=5)
_numbers = st.sampled_from([0.5, -13.25, 1e-05, 360.5])
_amounts = st.from_regex(r"[+-][0-9]{1,40}(\.[0-9]{1,5})?", fullmatch=True)


def _value(kind: str, value: Any, text: str) -> DataValue:
    return {"type": kind, "value": value}, text


def _quantity(amount: str, low: str | None, unit: str) -> DataValue:
    bounds = {} if low is None else {"lowerBound": low}
    return _value("quantity", {"amount": amount, "unit": unit, **bounds}, f"quantity:{amount}#{low or ''}##{unit}")


def _globe(latitude: float, longitude: float, precision: float | None, globe: str) -> DataValue:
    value = {"latitude": latitude, "longitude": longitude, "altitude": None, "precision": precision, "globe": globe}
    return _value("globecoordinate", value, f"globecoordinate:{latitude}#{longitude}##{precision or ''}#{globe}")


def _time(before: int, precision: int, calendar: str) -> DataValue:
    time = "+1903-00-00T00:00:00Z"
    value = {"time": time, "timezone": 0, "before": before, "after": 0, "precision": precision, "calendarmodel": calendar}
    return _value("time", value, f"{time}#0#{before}#0#{precision}#{calendar}")


wikidata_values: st.SearchStrategy[DataValue] = st.one_of(
    st.from_regex(r"[QPL][1-9]|L7-[FS][1-9]", fullmatch=True).map(
        lambda name: _value("wikibase-entityid", {"id": name}, name)
    ),
    _texts.map(lambda text: _value("string", text, f"string:{text}")),
    _texts.map(lambda text: _value("monolingualtext", {"language": "en", "text": text}, f"monolingualtext:en:{text}")),
    st.builds(_time, st.integers(0, 3), st.integers(0, 11), _texts),
    st.builds(_quantity, _amounts, st.none() | _amounts, _texts),
    st.builds(_globe, _numbers, _numbers, st.none() | _numbers, _texts),
)

_pairs = st.lists(st.tuples(_texts, _texts), max_size=5)
statements: st.SearchStrategy[Statement] = st.builds(statement, _texts, _texts, _texts, _pairs)


def fits_wikipeople(one: Statement) -> bool:
    """Return whether WikiPeople's form has a way to write a statement."""
    return not any(key == "N" or key.endswith(("_h", "_t")) for key, _ in one.qualifiers)


def _fits_wd50k(one: Statement) -> bool:
    fields = (one.head, one.property, one.tail, *(text for pair in one.qualifiers for text in pair))
    ends = one.head.startswith("\ufeff") or fields[-1].endswith("\r")
    return not ends and not any("," in text or "\n" in text for text in fields)


def made_statements(form: str, count: int, seed: int) -> list[Statement]:
    """Return so many random statements that a form can hold: odd names among plain ones, some statements twice."""
    rng = random.Random(seed)
    fits: Callable[[Statement], bool] = {"wikipeople": fits_wikipeople, "wd50k": _fits_wd50k}.get(form, lambda _: True)
    found: list[Statement] = []
    while len(found) < count:
        one = rng.choice(found) if found and rng.random() < 0.02 else _one(rng, wikidata=form == "wikidata")
        if fits(one):
            found.append(one)
    return found


def _one(rng: random.Random, *, wikidata: bool) -> Statement:
    def name() -> str:
        return rng.choice(PLAIN) if rng.random() < 0.8 else rng.choice(ODD)

    def entity() -> str:
        return f"Q{rng.randint(1, 500)}"

    def value() -> str:
        if rng.random() < 0.7:
            return entity()
        return f"string:{rng.choice(ODD)}" if wikidata else rng.choice([*ODD, *TIMES])

    pairs = [(name(), value()) for _ in range(rng.choice((0, 0, 0, 1, 1, 2, 3, 5)))]
    return statement(name(), entity() if wikidata else value(), value(), pairs)


def document(
    head: str, name: str, value: dict[str, Any], qualifiers: dict[str, list[dict[str, Any]]] | None = None
) -> bytes:
    """Return the document of an entity with one claim."""
    pairs = {key: [_snak(key, one) for one in values] for key, values in (qualifiers or {}).items()}
    return json.dumps({"id": head, "claims": {name: [{"mainsnak": _snak(name, value), "qualifiers": pairs}]}}).encode()


def _snak(name: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"snaktype": "value", "property": name, "datavalue": value}


def line_of(form: str, one: Statement) -> bytes:
    """Return a line of a form that holds a statement; of Wikidata's values those that are entities and strings."""
    if form == "wikipeople":
        return next(write_wikipeople([one])).rstrip(b"\n")
    if form == "wd50k":
        return ",".join((one.head, one.property, one.tail, *(text for pair in one.qualifiers for text in pair))).encode()
    qualifiers: dict[str, list[dict[str, Any]]] = {}
    for key, value in one.qualifiers:
        qualifiers.setdefault(key, []).append(_datavalue(value))
    return document(one.head, one.property, _datavalue(one.tail), qualifiers)


def _datavalue(text: str) -> dict[str, Any]:
    kind, colon, rest = text.partition(":")
    return {"type": kind, "value": rest} if colon else {"type": "wikibase-entityid", "value": {"id": text}}
