"""Leaks equal what sets of tuples tell, and those that were put into data are found."""

from __future__ import annotations

import itertools
import json
import random
import time
from pathlib import Path

import pytest
from hypothesis import given

from relatum import Hypergraph, RelationSchema, Split, load
from relatum.data import leakage
from relatum.data.leakage import find_leaks
from support.strategies import Fact, restrict, splits

Found = tuple[str, str, tuple[int, ...], int, int, float]


def by_sets(split: Split, share: float, least: int) -> tuple[set[Found], int]:
    """Return all leaks by trying every choice of columns, and how many test facts follow by one of them."""
    train, test = set(split.train), set(split.test)
    leaks: set[Found] = set()
    implied: set[Fact] = set()
    for mine, other in itertools.product(split.schema, repeat=2):
        facts = [fact[1:] for fact in test if fact[0] == mine.name]
        both = [fact[1:] for fact in train | test if fact[0] == mine.name]
        for chosen in itertools.permutations(range(other.arity), mine.arity):
            if not facts or (mine == other and chosen == tuple(range(mine.arity))):
                continue
            known = {tuple(fact[1 + column] for column in chosen) for fact in train if fact[0] == other.name}
            found = [fact for fact in facts if fact in known]
            replaced = [
                (*fact[:place], entity, *fact[place + 1 :])
                for fact in facts
                for place in range(mine.arity)
                for entity in {row[place] for row in both} - {fact[place]}
            ]
            chance = sum(fact in known for fact in replaced) / max(len(replaced), 1)
            if len(found) >= max(least, share * len(facts), 1) and len(found) / len(facts) >= 2 * chance:
                leaks.add((mine.name, other.name, chosen, len(found), len(facts), round(chance, 9)))
                implied |= {(mine.name, *fact) for fact in found}
    return leaks, len(implied)


def small(split: Split) -> bool:
    """Return whether there are few enough choices of columns to try all."""
    return all(relation.arity <= 4 for relation in split.schema)


@pytest.mark.parametrize(("share", "least"), [(0.0, 1), (0.5, 1), (0.3, 2)])
@given(split=splits.filter(small))
def test_leaks_equal_what_sets_tell(split: Split, share: float, least: int) -> None:
    found = find_leaks(split, share=share, least=least)
    leaks = {
        (leak.relation.name, leak.source.name, leak.columns, leak.found, leak.test, round(leak.expected, 9))
        for leak in found.leaks
    }
    assert (leaks, found.facts) == by_sets(split, share, least)
    assert len(leaks) == len(found.leaks)
    assert found.complete
    assert found.test == len(set(split.test))
    assert json.loads(json.dumps(found.to_json()))["facts"] == found.facts


def split_of(train: list[Fact], test: list[Fact]) -> Split:
    graph = Hypergraph.of([*train, *test], [RelationSchema("unused", 3)])
    return Split(restrict(graph, train), restrict(graph, []), restrict(graph, test))


def drawn(name: str, arity: int, count: int, entities: int = 200) -> list[Fact]:
    chance = random.Random(name)
    return [(name, *(f"e{chance.randrange(entities)}" for _ in range(arity))) for _ in range(count)]


def test_what_leaks_is_told_and_what_chance_explains_is_no_leak() -> None:
    sold, knows = drawn("sold", 4, 100), drawn("knows", 2, 50)
    permuted: list[Fact] = [("bought", b, a, *rest) for _, a, b, *rest in sold]
    dropped: list[Fact] = [("owner", a, c) for _, a, _, c, _ in sold]
    mirrored: list[Fact] = [("knows", b, a) for _, a, b in knows]
    renamed: list[Fact] = [("vended", *rest) for _, *rest in sold]
    test = permuted[:82] + drawn("bought", 4, 18) + dropped[:30] + mirrored[:20] + renamed[:9]
    found = find_leaks(split_of(sold + knows, test))
    told = [(leak.relation.name, leak.source.name, leak.found, leak.test) for leak in found.leaks]
    expected = [("bought", "sold", 82, 100), ("owner", "sold", 30, 30), ("knows", "knows", 20, 20), ("vended", "sold", 9, 9)]
    assert told == expected
    assert [leak.columns for leak in found.leaks] == [(1, 0, 2, 3), (0, 2), (1, 0), (0, 1, 2, 3)]
    bodies = ["permute[1, 0, 2, 3](sold)", "project[0, 2](sold)", "permute[1, 0](knows)", "sold"]
    assert [leak.body for leak in found.leaks] == bodies
    assert all(leak.expected < 0.01 for leak in found.leaks)
    assert (found.facts, found.test, found.complete) == (82 + 30 + 20 + 9, 159, True)
    everything: list[Fact] = [("any", a, b) for a in "abcdefgh" for b in "abcdefgh"]
    test: list[Fact] = [("some", a, b) for a, b in zip("abcdefgh", "hgfedcba", strict=True)]
    assert find_leaks(split_of(everything, test)).leaks == ()
    assert find_leaks(split_of(drawn("r", 3, 500), drawn("s", 3, 500))).leaks == ()


def test_a_search_without_end_is_cut_short_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leakage, "_BUDGET", 20_000_000)
    rows = drawn("r", 12, 400, entities=3)
    begun = time.monotonic()
    found = find_leaks(split_of(rows[:300], rows[300:]))
    assert not found.complete
    assert time.monotonic() - begun < 20


def test_the_leaks_of_the_published_files(benchmark_data: Path) -> None:
    rel_er, jf17k = find_leaks(load("rel-er")), find_leaks(load("jf17k"))
    assert 0.6 < rel_er.facts / rel_er.test < 0.9  # most of its relations are made from others
    assert 0 < jf17k.facts / jf17k.test < 0.1
    assert jf17k.complete
    assert jf17k.leaks[0].relation.name == "american_football.game_rushing_statistics"
