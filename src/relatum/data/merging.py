"""A split with more facts: new names find their ids among the old, and what is known already stays where it is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from relatum.arrays import Bool
from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.known_answers import KnownAnswers
from relatum.data.schema import Schema
from relatum.data.splitting import select_facts
from relatum.data.vocabulary import Vocabulary
from relatum.errors import DataError, UnknownNameError


@dataclass(frozen=True, eq=False)
class MergedSplit:
    """A split with more facts, and how they got in."""

    # old and new facts over old and new names, which are numbered in sorted order, as a reader numbers them
    split: Split
    before: Split  # the old facts alone, over the same names
    added: dict[str, Hypergraph]  # the facts that are new, by part
    read: int  # how many facts were given
    repeated: int  # how many of them had been given before, in the same part or an earlier one
    known: int  # how many of the others the split held already, in whatever part; there they stay


def merge(split: Split, more: Split) -> MergedSplit:
    """Return the split with the facts of another, part by part; relations must be known, entities may be new."""
    _require_same_relations(split.schema, more)
    entities = split.entities
    if any(name not in entities for name in more.entities):
        entities = Vocabulary(sorted({*entities, *more.entities}))
    train, valid, test = (_moved(graph, entities, split.schema) for graph in split.parts.values())
    before = replace(split, train=train, valid=valid, test=test)
    known = KnownAnswers(train, valid, test)
    added: dict[str, Hypergraph] = {}
    earlier: list[Hypergraph] = []
    repeated = known_already = 0
    for part, graph in more.parts.items():
        distinct = _moved(graph, entities, split.schema).distinct()
        again = _held(distinct, KnownAnswers(*earlier)) if earlier else np.zeros(len(distinct), np.bool_)
        earlier.append(distinct)
        there = _held(distinct, known) & ~again
        added[part] = select_facts(distinct, ~again & ~there) if len(distinct) else distinct
        repeated += len(graph) - len(distinct) + int(again.sum())
        known_already += int(there.sum())
    train, valid, test = (Hypergraph.union([graph, added[part]]) for part, graph in before.parts.items())
    given = sum(map(len, more.parts.values()))
    return MergedSplit(replace(split, train=train, valid=valid, test=test), before, added, given, repeated, known_already)


def _require_same_relations(schema: Schema, more: Split) -> None:
    """Refuse facts of relations that are unknown, or known with another arity or other roles."""
    for relation in more.schema:
        if not any(len(graph.table(relation.name)) for graph in more.parts.values()):
            continue
        if relation.name not in schema:
            raise UnknownNameError("relation", relation.name, schema.names)
        own = schema[relation.name]
        if own.arity != relation.arity:
            raise DataError(
                "known-arity",
                f"{relation.name} has arity {relation.arity} here, but it is known as {own}",
                place=more.source,
            )
        if own.roles and relation.roles and own.roles != relation.roles:
            raise DataError("unusable-new-facts", f"the roles of {relation} are not those of {own}", place=more.source)


def _moved(graph: Hypergraph, entities: Vocabulary, schema: Schema) -> Hypergraph:
    """Return the same facts over a wider vocabulary and a schema that has all relations with facts."""
    if graph.entities == entities and graph.schema == schema:
        return graph
    ids = entities.ids(graph.entities)
    numbers = np.array([schema.id(name) if name in schema else -1 for name in graph.schema.names], np.int32)
    blocks = [(numbers[block.relations], ids[block.columns]) for block in graph.blocks.values()]
    return Hypergraph.sort(entities, schema, blocks)


def _held(graph: Hypergraph, known: KnownAnswers) -> Bool:
    """Return for each fact, block after block, whether it is known."""
    found = [known.lookup(block.relations, block.columns, 0).contain(block.columns[0]) for block in graph.blocks.values()]
    return np.concatenate(found) if found else np.zeros(0, np.bool_)
