"""Names that differ only in what people overlook are found, and no others, as comparing all pairs by definition has it."""

from __future__ import annotations

import random
import re
import time
import unicodedata
from collections.abc import Callable, Sequence
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum.data import name_lines, near_names
from relatum.data.near_names import KINDS, find_near_names, shown_apart
from relatum.data.vocabulary import Vocabulary

INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f\u202e\u061c\ufe0f"
SPACES = " \u00a0\u2003\u3000"
TWINS = {"\u0430": "a", "\u0410": "A", "\u0391": "A", "\u041d": "H", "\u2019": "'", "\u2013": "-", "\uff17": "7"}
LETTERS = "aAbhH\u043d\u044f\u03b1e\u0301\u00e9\u00df07:.'-" + "".join(TWINS) + SPACES + INVISIBLE[:3]


def by_definition(name: str) -> str:
    """Return a name without what people overlook, but for letters that look alike, character by character."""
    seen = "".join(one for one in name if one not in INVISIBLE)
    spaced = " ".join(unicodedata.normalize("NFC", seen).split())
    folded = unicodedata.normalize("NFC", spaced.casefold())
    kind, colon, key = folded.rpartition(":")
    return kind + colon + (key.lstrip("0") or "0") if re.fullmatch("[0-9]+", key) else folded


def are_near(one: str, other: str) -> bool:
    """Return whether two names differ only in what people overlook."""
    if by_definition(one) == by_definition(other):
        return True
    looks = [by_definition("".join(TWINS.get(letter, letter) for letter in name)) for name in (one, other)]
    return looks[0] == looks[1]


def groups_by_pairs(names: Sequence[str]) -> set[frozenset[str]]:
    """Return the groups of names that pairs of near ones link."""
    groups = {name: {name} for name in names}
    for one, other in combinations(names, 2):
        if are_near(one, other) and groups[one] is not groups[other]:
            groups[one] |= groups[other]
            for name in groups[other]:
                groups[name] = groups[one]
    return {frozenset(group) for group in groups.values() if len(group) > 1}


distinct_names = st.lists(
    st.text(LETTERS, min_size=1, max_size=4).filter(lambda name: not name.isspace()), max_size=30, unique=True
)


@given(distinct_names, st.integers(2, 9))
def test_groups_equal_those_of_comparing_all_pairs(names: list[str], block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near_names, "_BLOCK", block)
        found = find_near_names(names, len(names))
    expected = groups_by_pairs(names)
    assert {frozenset(group) for groups in found.examples.values() for group in groups} == expected
    assert (found.groups, found.names) == (len(expected), sum(map(len, expected)))
    assert {kind: len(groups) for kind, groups in found.examples.items()} == found.kinds
    for groups in found.examples.values():
        for group in groups:
            shown = shown_apart(group)
            assert len(set(shown)) == len(shown) == len(group)  # people can tell them apart


def inserted(rng: random.Random, name: str, letter: str, least: int = 0) -> str:
    at = rng.randrange(least, len(name) + 1)
    return name[:at] + letter + name[at:]


def other_case(rng: random.Random, name: str) -> str:
    at = rng.choice([at for at, letter in enumerate(name) if letter.isalpha() and len(letter.swapcase()) == 1])
    return name[:at] + name[at].swapcase() + name[at + 1 :]


MUTATIONS: dict[str, Callable[[random.Random, str], str]] = {
    "case": other_case,
    "spaces": lambda rng, name: rng.choice([name + " ", " " + name, name.replace(" ", rng.choice(["  ", *SPACES[1:]]))]),
    "normal form": lambda _, name: unicodedata.normalize("NFD", name),
    "invisible characters": lambda rng, name: inserted(rng, name, rng.choice(INVISIBLE)),
    "look-alike characters": lambda rng, name: name.replace(
        *rng.choice([("a", "\u0430"), ("o", "\u03bf"), ("C", "\u0421")])
    ),
    "leading zeros": lambda rng, name: name.replace(":", ":" + "0" * rng.randrange(1, 4)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_name_that_was_changed_is_found_beside_the_one_that_it_was(kind: str) -> None:
    rng = random.Random(7)
    for trial in range(60):
        words = ["".join(rng.choices("bdfgkmst", k=6)) for _ in range(40)]
        names = [f"Caño {word} {number}" for number, word in enumerate(words)] + [f"items:{n + 1}" for n in range(40)]
        changed = rng.choice(names[40:] if kind == "leading zeros" else names[:40])
        near = MUTATIONS[kind](rng, changed)
        otherwise = [inserted(rng, name, rng.choice("xyz"), 1) for name in rng.sample(names[:40], 20)]
        found = find_near_names(Vocabulary(dict.fromkeys([*names, *otherwise, near])).names)
        assert (found.groups, found.names, found.kinds) == (1, 2, {kind: 1}), (trial, changed, near)
        assert set(found.examples[kind][0]) == {changed, near}
        assert find_near_names([*names, *otherwise]).groups == 0


def test_what_means_something_else_is_not_near() -> None:
    apart = ["m2", "m\u00b2", "1/2", "\u00bd", "H2O", "H\u2082O", "O", "0", "l", "1", "new york", "newyork"]
    assert find_near_names(apart).groups == 0
    moscow = ["\u041c\u043e\u0441\u043a\u0432\u0430", "\u041c\u041e\u0421\u041a\u0412\u0410", "MOCKBA", "mockba"]
    assert find_near_names(moscow).kinds == {"case": 1, "look-alike characters": 1}
    assert find_near_names([moscow[0], moscow[3]]).groups == 0  # only its capitals look like others


def test_differences_are_shown_where_they_would_not_be_seen() -> None:
    assert shown_apart(["Bob", "Bob "]) == ["'Bob'", r"'Bob\x20'"]
    assert shown_apart(["Bob", "bob"]) == ["'Bob'", "'bob'"]
    assert shown_apart(["caf\u00e9", "cafe\u0301"]) == [r"'caf\xe9'", r"'cafe\u0301'"]
    assert shown_apart(["\u212b", "\u00c5"]) == [r"'\u212b'", r"'\xc5'"]  # the sign of a unit and a letter
    assert shown_apart(["T\u0435a", "Tea"]) == [r"'T\u0435a'", "'Tea'"]
    long = "x" * 200
    assert all(len(shown) < 70 for shown in shown_apart([f"{long}a{long}", f"{long}\u0430{long}"]))
    assert r"\u0430" in shown_apart([f"{long}a{long}", f"{long}\u0430{long}"])[1]


def test_many_names_are_looked_at_in_time_and_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    names = sorted({*(f"item {number} of many" for number in range(100_000)), "Item 7 of many", "item 8 of many "})
    lines = name_lines.NameLines.of(names)
    began = time.process_time()
    found = find_near_names(lines)
    assert time.process_time() - began < 1.0  # a tenth of what a million may take, five times over
    assert found == find_near_names(names)
    assert found.kinds == {"spaces": 1, "case": 1}
