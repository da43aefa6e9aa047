"""Hypergraphs: the same facts give the same arrays; invalid ones cannot be built."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum import Hypergraph, RelationSchema, Schema, Split, Vocabulary
from relatum.data.hypergraph import Block
from support.mistakes import mistake
from support.strategies import Fact, facts, hypergraphs, splits

TWO = Vocabulary(["alex", "drew"])
KNOWS = Schema([RelationSchema("knows", 2), RelationSchema("likes", 2)])


@given(facts(), st.randoms())
def test_the_same_facts_in_any_order_give_the_same_hypergraph(
    drawn: tuple[list[RelationSchema], list[Fact]], chance: st.DataObject
) -> None:
    relations, rows = drawn
    graph = Hypergraph.of(rows, relations)
    assert sorted(graph) == sorted(rows)
    assert len(graph) == len(rows)
    chance.shuffle(rows)  # type: ignore[attr-defined]
    assert Hypergraph.of(rows, relations) == graph


@given(hypergraphs)
def test_blocks_are_sorted_packed_and_frozen(graph: Hypergraph) -> None:
    for arity, block in graph.blocks.items():
        assert block.arity == arity
        assert len(block)
        assert block.columns.dtype == block.relations.dtype == np.int32
        rows = list(zip(*(column.tolist() for column in block.rows), strict=True))
        assert rows == sorted(rows)
        with pytest.raises(ValueError, match="read-only"):
            block.columns[0, 0] = 0


@given(hypergraphs)
def test_tables_are_views_that_partition_the_facts(graph: Hypergraph) -> None:
    for relation in graph.schema:
        table = graph.table(relation.name)
        assert table.relation == relation
        assert [(relation.name, *fact) for fact in table] == [fact for fact in graph if fact[0] == relation.name]
        if len(table):
            assert np.shares_memory(table.columns, graph.blocks[relation.arity].columns)
        for position, role in enumerate(relation.roles or ()):
            assert np.array_equal(table.column(role), table.columns[position])
    assert sum(len(graph.table(name)) for name in graph.schema.names) == len(graph)


@given(hypergraphs)
def test_distinct_keeps_each_fact_once(graph: Hypergraph) -> None:
    assert sorted(graph.distinct()) == sorted(set(graph))
    assert graph.distinct().distinct() == graph.distinct()


@given(hypergraphs)
def test_degrees_count_occurrences(graph: Hypergraph) -> None:
    expected = Counter(name for fact in graph for name in fact[1:])
    assert dict(zip(graph.entities, graph.degrees().tolist(), strict=True)) == expected


@given(splits)
def test_union_keeps_repeats(split: Split) -> None:
    together = Hypergraph.union(list(split.parts.values()))
    assert sorted(together) == sorted([*split.train, *split.valid, *split.test])


@pytest.mark.parametrize(
    "blocks",
    [
        [([0], [[0], [2]])],
        [([0], [[-1], [0]])],
        [([2], [[0], [0]])],
        [([0], [[0]])],
        [([0, 0], [[0], [0]])],
        [([1, 0], [[0, 0], [0, 0]])],  # not in order
        [([0], [[0], [0]])] * 2,
    ],
)
def test_an_invalid_hypergraph_cannot_be_built(blocks: list[tuple[list[int], list[list[int]]]]) -> None:
    with mistake("mismatched-parts"):
        Hypergraph(TWO, KNOWS, [Block(np.array(names, np.int32), np.array(rows, np.int32)) for names, rows in blocks])


def test_parts_of_a_split_share_their_names() -> None:
    graph = Hypergraph.of([("sold", "drew", "alex", "book")])
    other = Hypergraph.of([("sold", "drew", "alex", "tv")])
    with mistake("mismatched-parts"):
        Split(graph, graph, other)
    with mistake("mismatched-parts"):
        Hypergraph.union([graph, other])
    with mistake("fact-arity"):
        Hypergraph.of([("sold", "drew", "alex", "book"), ("sold", "drew", "alex")])
