"""Hypothesis strategies for the types of relatum, in one place."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from relatum import Hypergraph, RelationSchema, Split
from relatum.data.vocabulary import fault_of

Fact = tuple[str, ...]

names: st.SearchStrategy[str] = st.one_of(
    st.sampled_from(["drew", "alex", "book", "sold", "0", "-1", "m.02h40lc", "日本", "é", "e\u0301", "a b", "[red]", "?"]),
    st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\t\n\r\0"), min_size=1, max_size=6),
).filter(lambda name: fault_of(name) is None)

relation_names: st.SearchStrategy[str] = names.filter(lambda name: not name.startswith("#"))


@st.composite
def relation_schemas(draw: st.DrawFn, name: str | None = None) -> RelationSchema:
    """Draw a relation of arity 1 to 8, with roles or without."""
    arity = draw(st.integers(1, 8))
    role = names.filter(lambda name: not name.isdecimal())
    roles = draw(st.none() | st.lists(role, min_size=arity, max_size=arity, unique=True).map(tuple))
    return RelationSchema(draw(relation_names) if name is None else name, arity, roles)


@st.composite
def facts(draw: st.DrawFn, most: int = 30) -> tuple[list[RelationSchema], list[Fact]]:
    """Draw relations and facts over few entities, so that repeats and shared prefixes are common."""
    relations = [
        draw(relation_schemas(name)) for name in draw(st.lists(relation_names, min_size=1, max_size=5, unique=True))
    ]
    entities = draw(st.lists(names, min_size=1, max_size=6, unique=True))
    found = []
    for relation in draw(st.lists(st.sampled_from(relations), max_size=most)):
        found.append((relation.name, *draw(st.tuples(*[st.sampled_from(entities)] * relation.arity))))
    return relations, found


hypergraphs: st.SearchStrategy[Hypergraph] = facts().map(lambda drawn: Hypergraph.of(drawn[1], drawn[0]))


def _parts(graph: Hypergraph) -> Callable[[list[int]], Split]:
    def cut(choice: list[int]) -> Split:
        rows: list[list[Fact]] = [[], [], []]
        for fact, part in zip(graph, choice, strict=True):
            rows[part].append(fact)
        return Split(*(restrict(graph, part) for part in rows))

    return cut


def restrict(graph: Hypergraph, chosen: list[Fact]) -> Hypergraph:
    """Return the hypergraph of the chosen facts, over the vocabulary and schema of another."""
    blocks = []
    for arity in {len(fact) - 1 for fact in chosen}:
        columns = list(zip(*(fact for fact in chosen if len(fact) - 1 == arity), strict=True))
        relations = graph.schema.names.ids(columns[0])
        blocks.append((relations, graph.entities.ids(sum(columns[1:], ())).reshape(arity, -1)))
    return Hypergraph.sort(graph.entities, graph.schema, blocks)


splits: st.SearchStrategy[Split] = hypergraphs.flatmap(
    lambda graph: st.lists(st.integers(0, 2), min_size=len(graph), max_size=len(graph)).map(_parts(graph))
)
