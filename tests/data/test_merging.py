"""Widening: a split with more facts says of each what became of it, and nothing known changes its part."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from relatum import Hypergraph, RelationSchema, Split, load
from relatum.data.merging import merge
from support.mistakes import mistake
from support.strategies import restrict

Fact = tuple[str, ...]
FACTS = st.lists(st.tuples(st.sampled_from("rs"), *[st.sampled_from("abcdef")] * 2), max_size=8)
SCHEMA = [RelationSchema("r", 2), RelationSchema("s", 2)]


def split_of(*parts: list[Fact]) -> Split:
    everything = Hypergraph.of([fact for part in parts for fact in part], SCHEMA)

    train, valid, test = (restrict(everything, facts) for facts in parts)
    return Split(train, valid, test)


@given(st.tuples(*[FACTS] * 6))
def test_every_fact_is_where_a_loop_over_sets_would_put_it(parts: tuple[list[Fact], ...]) -> None:
    old, more = split_of(*parts[:3]), split_of(*parts[3:])
    found = merge(old, more)
    known = {fact for graph in old.parts.values() for fact in graph}
    seen: set[Fact] = set()
    known_count = 0
    for part, graph in more.parts.items():
        new = set(graph) - known - seen
        known_count += len((set(graph) & known) - seen)
        seen |= set(graph)
        assert sorted(found.added[part]) == sorted(new)
        assert sorted(found.split.parts[part]) == sorted([*old.parts[part], *new])
        assert sorted(found.before.parts[part]) == sorted(old.parts[part])
    assert found.read == sum(map(len, more.parts.values()))
    assert found.known == known_count
    assert found.repeated == found.read - len(seen)
    assert list(found.split.entities) == sorted({*old.entities, *more.entities})
    assert found.split.schema == old.schema
    assert found.before.entities == found.split.entities


def test_what_does_not_fit_is_refused_with_the_nearest_name() -> None:
    more = Hypergraph.of([("sodl", "drew", "alex", "book")])
    with mistake("unknown-name"):
        merge(load("example"), Split(more, nothing_of(more), nothing_of(more)))
    for facts, schema, said in (
        ([("sold", "drew", "alex")], [], "known-arity"),
        ([("sold", "drew", "alex", "book")], [RelationSchema("sold", 3, ("item", "buyer", "seller"))], "unusable-new-facts"),
    ):
        more = Hypergraph.of(facts, schema)
        with mistake(said, place="new.txt"):
            merge(load("example"), Split(more, nothing_of(more), nothing_of(more), source="new.txt"))


def test_a_relation_without_facts_is_no_matter(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("sold\tdrew\talex\tboat\n")
    (tmp_path / "roles.txt").write_text("sold\tseller\tbuyer\titem\nrented\tlandlord\ttenant\n")
    assert list(merge(load("example"), load(tmp_path)).added["train"]) == [("sold", "drew", "alex", "boat")]


def test_what_else_a_split_says_of_itself_stays() -> None:
    old = replace(load("example"), checksums={"train": "abc"}, skipped=("a line",))
    more = Hypergraph.of([("buyer", "zoe", "book")])
    found = merge(old, Split(more, nothing_of(more), nothing_of(more))).split
    assert (found.source, found.checksums, found.skipped) == ("example", {"train": "abc"}, ("a line",))


def nothing_of(graph: Hypergraph) -> Hypergraph:
    """Return a hypergraph without facts over the same names."""
    return Hypergraph(graph.entities, graph.schema, ())
