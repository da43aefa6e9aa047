"""Statements to test with: a Hypothesis strategy for each form, and many drawn at random, some of them twice."""

from __future__ import annotations

import random
from collections.abc import Callable

from hypothesis import strategies as st

from relatum.statements.statement import Statement, statement

# What a name, a line, a comma, an escape, a role or a number could break.
ODD = ["+", "#", "P1+P2", "P580#2", "%", "%25", "%2B", "a\tb", "a\nb", "\r", "\0", " ", "\t\t", "\u3000", "\ufeff", "7", "٣"]
ODD += [
    "P69_h",
    "_t",
    "x_h_h",
    "N",
    "N_h",
    "claims",
    "a,b",
    '"',
    "\\",
    "{}",
    "日本",
    "e\u0301",
    "🦆",
    "[red]",
    "?",
    "\x85",
    "\u2028",
]
PLAIN = ["P69", "P166", "P580", "P582", "P1706", "P31"]
TIMES = [f"{sign}{year:04}-00-00T00:00:00Z#0#0#{after}#9#http://www.wikidata.org/entity/Q1985727"
         for sign in "+-" for year in (1, 1903, 13798000000) for after in (0, 5)]  # fmt: skip

_texts = st.sampled_from([*PLAIN, *ODD]) | st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=5)
_numbers = st.floats(-360, 360).map(lambda number: repr(number + 0.0).removesuffix(".0"))
_amounts = st.from_regex(r"[+-][0-9]{1,40}(\.[0-9]{1,5})?", fullmatch=True)
_entities = st.from_regex(r"[QPL][1-9][0-9]{0,5}", fullmatch=True)
wikidata_values: st.SearchStrategy[str] = st.one_of(
    _entities,
    st.sampled_from(["somevalue", "novalue", "L7-F1", "L7-S12", *TIMES]),
    _texts.map("string:{}".format),
    _texts.map("monolingualtext:zh-hant:{}".format),
    st.builds("quantity:{}#{}#{}#{}".format, _amounts, st.just("") | _amounts, st.just("") | _amounts, _texts),
    st.builds("globecoordinate:{}#{}#{}#{}#{}".format, _numbers, _numbers, st.just(""), st.just("") | _numbers, _texts),
)

_pairs = st.lists(st.tuples(_texts, _texts), max_size=5)
statements: st.SearchStrategy[Statement] = st.builds(statement, _texts, _texts, _texts, _pairs)
of_wikidata: st.SearchStrategy[Statement] = st.builds(
    statement, _texts, _entities, wikidata_values, st.lists(st.tuples(_texts, wikidata_values), max_size=5)
)


def fits_wikipeople(one: Statement) -> bool:
    """Return whether WikiPeople's form has a way to write a statement."""
    return not any(key == "N" or key.endswith(("_h", "_t")) for key, _ in one.qualifiers)


def fits_wd50k(one: Statement) -> bool:
    """Return whether WD50K's form has a way to write a statement."""
    fields = (one.head, one.property, one.tail, *(text for pair in one.qualifiers for text in pair))
    ends = one.head.startswith("\ufeff") or fields[-1].endswith("\r")
    return not ends and not any("," in text or "\n" in text for text in fields)


BY_FORM: dict[str, st.SearchStrategy[Statement]] = {
    "wikipeople": statements.filter(fits_wikipeople),
    "wd50k": statements.filter(fits_wd50k),
    "wikidata": of_wikidata,
}


def made_statements(form: str, count: int, seed: int) -> list[Statement]:
    """Return so many random statements that a form can hold: odd names among plain ones, some statements twice."""
    rng = random.Random(seed)
    fits: Callable[[Statement], bool] = {"wikipeople": fits_wikipeople, "wd50k": fits_wd50k}.get(form, lambda _: True)
    found: list[Statement] = []
    while len(found) < count:
        if found and rng.random() < 0.02:
            found.append(rng.choice(found))
            continue
        one = _one(rng, wikidata=form == "wikidata")
        if fits(one):
            found.append(one)
    return found


def _one(rng: random.Random, *, wikidata: bool) -> Statement:
    def name() -> str:
        return rng.choice(PLAIN) if rng.random() < 0.8 else rng.choice(ODD)

    def entity() -> str:
        return f"Q{rng.randint(1, 500)}"

    def value() -> str:
        odd = rng.choice(ODD)
        if rng.random() < 0.7:
            return entity()
        if not wikidata:
            return rng.choice([odd, *TIMES])
        literals = [f"string:{odd}", f"monolingualtext:en:{odd}", f"quantity:+{rng.randint(0, 9)}.50###{odd}", "novalue"]
        return rng.choice([*literals, f"globecoordinate:{rng.randint(-9, 9)}#0.5##1e-05#{odd}", *TIMES])

    pairs = [(name(), value()) for _ in range(rng.choice((0, 0, 0, 1, 1, 2, 3, 5)))]
    return statement(name(), entity() if wikidata else value(), value(), pairs)
