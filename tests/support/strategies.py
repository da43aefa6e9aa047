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

_WHOLE = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}
_MOMENTS = ["0044-03-15 (BC) 01:02:03", "9999-12-31 23:59:59.999999", "infinity", "-infinity", "1969-12-31 23:59:59.5"]
_DAYS = ["0044-03-15 (BC)", "9999-12-31", "10000-01-01", "infinity", "1970-01-01", "5877642-06-25 (BC)"]
# Values of each type that an import keeps, as texts that DuckDB reads.
STORED_VALUES: dict[str, st.SearchStrategy[str]] = {
    **{name: st.integers(-(1 << bits - 1), (1 << bits - 1) - 1).map(str) for name, bits in _WHOLE.items()},
    **{f"U{name}": st.integers(0, (1 << bits) - 1).map(str) for name, bits in _WHOLE.items()},
    "FLOAT": st.floats(width=32).map(repr),
    "DOUBLE": st.floats().map(repr),
    "DECIMAL(3,3)": st.integers(-999, 999).map(lambda one: f"{one / 1000:.3f}"),
    "DECIMAL(18,6)": st.decimals(-999_999_999_999, 999_999_999_999, places=6).map(str),
    "DECIMAL(38,9)": st.integers(-(10**38) + 1, 10**38 - 1).map(lambda one: f"{one // 10**9}.{abs(one) % 10**9:09}"),
    "BOOLEAN": st.sampled_from(["true", "false"]),
    "VARCHAR": st.text(st.characters(exclude_categories=["Cs"]))
    | st.sampled_from(["", " ", "\0", "a\0b", "NULL", "nan", "1"]),
    "DATE": st.sampled_from(_DAYS) | st.dates().map(str),
    "TIME": st.sampled_from(["24:00:00", "00:00:00", "23:59:59.999999"]) | st.times().map(str),
    "TIME WITH TIME ZONE": st.sampled_from(["24:00:00+00", "01:02:03.5+05:30", "23:59:59-11"]),
    "TIMESTAMP": st.sampled_from(_MOMENTS) | st.datetimes().map(str),
    "TIMESTAMP_S": st.sampled_from(_MOMENTS) | st.datetimes().map(str),
    "TIMESTAMP_MS": st.sampled_from(_MOMENTS) | st.datetimes().map(str),
    "TIMESTAMP_NS": st.sampled_from(["2262-04-11 23:47:16.854775806", "1677-09-22 00:00:00.000000001", "infinity"]),
    "TIMESTAMP WITH TIME ZONE": st.sampled_from(_MOMENTS) | st.datetimes().map(str),
    "INTERVAL": st.sampled_from(["1 year 2 months -3 days 04:05:06.789", "-1 day", "00:00:00", "-00:00:00.000001"]),
    "UUID": st.uuids().map(str),
    "BIT": st.text("01", min_size=1, max_size=70),
    "ENUM('it''s', 'a, b', '日')": st.sampled_from(["it's", "a, b", "日"]),
}
