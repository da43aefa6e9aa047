"""Facts over one vocabulary and schema: tables of one relation, blocks of one arity, hypergraphs and splits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from relatum.data.column_types import ColumnTypes
from relatum.data.derivations import Derivation
from relatum.data.row_store import RowStore
from relatum.data.schema import RelationSchema, Schema
from relatum.data.sorting import differs_from_previous, row_order
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.errors import DataError


@dataclass(frozen=True, eq=False, slots=True)
class TupleTable:
    """The facts of one relation, column-wise: `columns` is int32[arity, n], a view into its hypergraph."""

    relation: RelationSchema
    columns: Ids
    entities: Vocabulary

    def column(self, position: int | str) -> Ids:
        """Return the entity ids at one position, given by number or by role."""
        found: Ids = self.columns[self.relation.position(position)]
        return found

    def __len__(self) -> int:
        return int(self.columns.shape[1])

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        """Yield each fact as a tuple of entity names."""
        names = self.entities.names
        return zip(*([names[entity] for entity in column] for column in self.columns.tolist()), strict=True)


class Block:
    """All facts of one arity, sorted: `relations` is int32[n], `columns` int32[arity, n]; neither can be written."""

    def __init__(self, relations: Ids, columns: Ids) -> None:
        self.relations = _frozen(relations)
        self.columns = _frozen(columns)
        if self.columns.ndim != 2 or self.relations.shape != self.columns.shape[1:]:
            raise DataError(
                "mismatched-parts",
                f"{self.columns.shape} entities do not go with {self.relations.shape} relations",
                place="block",
            )

    @property
    def arity(self) -> int:
        """The number of entities in each fact."""
        return len(self.columns)

    @property
    def rows(self) -> tuple[Ids, ...]:
        """The relation column and the entity columns, in the order by which facts are sorted."""
        return (self.relations, *self.columns)

    def __len__(self) -> int:
        return len(self.relations)


class Hypergraph:
    """Facts over one entity vocabulary and one schema, held in one `Block` per arity.

    Facts are sorted by relation, then by their entities: the same facts give the same hypergraph whatever the order
    in which they came. Repeated facts are kept; `distinct` drops them.
    """

    def __init__(self, entities: Vocabulary, schema: Schema, blocks: Iterable[Block]) -> None:
        self.entities, self.schema = entities, schema
        filled = sorted((block for block in blocks if len(block)), key=lambda block: block.arity)
        self.blocks: Mapping[int, Block] = MappingProxyType({block.arity: block for block in filled})
        if len(self.blocks) != len(filled):
            raise DataError("mismatched-parts", "two blocks of one arity", place="hypergraph")
        arities = np.array([relation.arity for relation in schema], np.int32)
        for block in filled:
            check_ids(block.relations, len(schema), "relation of a fact")
            check_ids(block.columns, len(entities), "entity of a fact")
            if np.any(arities[block.relations] != block.arity):
                raise DataError(
                    "mismatched-parts",
                    f"the block of arity {block.arity} holds a relation of another arity",
                    place="hypergraph",
                )
            if np.any(block.relations[1:] < block.relations[:-1]):
                raise DataError(
                    "mismatched-parts", f"the block of arity {block.arity} is not sorted by relation", place="hypergraph"
                )

    @classmethod
    def sort(cls, entities: Vocabulary, schema: Schema, blocks: Iterable[tuple[Ids, Ids]]) -> Hypergraph:
        """Return the hypergraph of facts in any order, given per arity as relations int32[n], entities int32[arity, n]."""
        return cls(entities, schema, (_sorted(*block, len(schema), len(entities)) for block in blocks))

    @classmethod
    def of(cls, facts: Iterable[tuple[str, ...]], schema: Iterable[RelationSchema] = ()) -> Hypergraph:
        """Return the hypergraph of facts such as `("sold", "drew", "alex", "book")`; for small sets and examples."""
        facts = list(facts)
        entities = Vocabulary(sorted({name for fact in facts for name in fact[1:]}))
        relations = {relation.name: relation for relation in schema}
        by_arity: dict[int, list[tuple[str, ...]]] = {}
        for name, *rest in facts:
            relation = relations.setdefault(name, RelationSchema(name, len(rest)))
            if relation.arity != len(rest):
                raise DataError(
                    "fact-arity", f"{name} has arity {relation.arity}, but a fact of it has {len(rest)} entities"
                )
            by_arity.setdefault(relation.arity, []).append((name, *rest))
        full = Schema(relations[name] for name in sorted(relations))
        blocks = [
            (full.names.ids(names), np.stack([entities.ids(column) for column in columns]))
            for names, *columns in (zip(*rows, strict=True) for rows in by_arity.values())
        ]
        return cls.sort(entities, full, blocks)

    @classmethod
    def union(cls, graphs: Sequence[Hypergraph]) -> Hypergraph:
        """Return the facts of all the given hypergraphs, which share one vocabulary and one schema; repeats are kept."""
        first = graphs[0]
        if any(graph.entities != first.entities or graph.schema != first.schema for graph in graphs):
            raise DataError("mismatched-parts", "the hypergraphs must share one vocabulary and one schema", place="union")
        blocks: dict[int, list[Block]] = {}
        for block in (block for graph in graphs for block in graph.blocks.values()):
            blocks.setdefault(block.arity, []).append(block)
        joined = (
            (np.concatenate([b.relations for b in same]), np.concatenate([b.columns for b in same], axis=1))
            for same in blocks.values()
        )
        return cls.sort(first.entities, first.schema, joined)

    def table(self, relation: str) -> TupleTable:
        """Return the facts of one relation, without copying them."""
        number, schema = self.schema.id(relation), self.schema[relation]
        block = self.blocks.get(schema.arity)
        if block is None:
            return TupleTable(schema, _frozen(np.empty((schema.arity, 0), np.int32)), self.entities)
        start, stop = np.searchsorted(block.relations, [number, number + 1])
        return TupleTable(schema, block.columns[:, start:stop], self.entities)

    def __getitem__(self, relation: str) -> TupleTable:
        """Return the facts of one relation, as `table` does."""
        return self.table(relation)

    def distinct(self) -> Hypergraph:
        """Return the same facts, each once."""
        kept = []
        for block in self.blocks.values():
            first = differs_from_previous(block.rows)
            kept.append(block if first.all() else Block(block.relations[first], block.columns[:, first]))
        return Hypergraph(self.entities, self.schema, kept)

    def shared_with(self, other: Hypergraph) -> int:
        """Return how many facts are in both hypergraphs, neither of which has one twice."""
        return len(self) + len(other) - len(Hypergraph.union([self, other]).distinct())

    def degrees(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Return how many times each entity occurs, int64[entities]; twice in one fact counts twice."""
        counts = np.zeros(len(self.entities), np.int64)
        for block in self.blocks.values():
            counts += np.bincount(block.columns.ravel(), minlength=len(counts))
        return counts

    def __len__(self) -> int:
        return sum(map(len, self.blocks.values()))

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        """Yield each fact as its relation's name followed by its entities' names."""
        for relation in self.schema.names:
            for fact in self.table(relation):
                yield (relation, *fact)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Hypergraph)
            and self.entities == other.entities
            and self.schema == other.schema
            and self.blocks.keys() == other.blocks.keys()
            and all(
                np.array_equal(mine, theirs)
                for arity, block in self.blocks.items()
                for mine, theirs in zip(block.rows, other.blocks[arity].rows, strict=True)
            )
        )

    __hash__ = None  # type: ignore[assignment]  # compared by content, so too costly to hash

    def __repr__(self) -> str:
        return f"<Hypergraph of {len(self)} facts, {len(self.schema)} relations, {len(self.entities)} entities>"


@dataclass(frozen=True)
class Split:
    """Train, valid and test hypergraphs over one vocabulary and one schema, and where they came from.

    `source` is the path or the name that they were read from; `derivations` says how the relations of a synthetic dataset
    were derived, and `column_types` what the entities of relations that were tables are; both are empty where that is not
    known. `rows` are those of the tables, with their gaps; None where there were none. `statement_counts` say how many
    statements the facts were, and what was left out or folded; they are empty where facts were read as such.
    """

    train: Hypergraph
    valid: Hypergraph
    test: Hypergraph
    source: str = "memory"
    checksums: Mapping[str, str] = field(default_factory=dict, compare=False)
    skipped: tuple[str, ...] = field(default=(), compare=False)
    derivations: Mapping[str, Derivation] = field(default_factory=dict, compare=False)
    column_types: ColumnTypes = field(default_factory=dict, compare=False)
    rows: RowStore | None = field(default=None, compare=False)
    statement_counts: Mapping[str, int] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        for part in (self.valid, self.test):
            if part.entities != self.train.entities or part.schema != self.train.schema:
                raise DataError(
                    "mismatched-parts", "train, valid and test must share one vocabulary and one schema", place="split"
                )

    @property
    def entities(self) -> Vocabulary:
        """The entity vocabulary of all three parts."""
        return self.train.entities

    @property
    def schema(self) -> Schema:
        """The schema of all three parts."""
        return self.train.schema

    @property
    def parts(self) -> dict[str, Hypergraph]:
        """The three hypergraphs by name."""
        return {"train": self.train, "valid": self.valid, "test": self.test}

    def trained_on(self, refit: bool) -> Hypergraph:
        """Return the facts that a model is trained on: train, and after a refit valid as well."""
        return Hypergraph.union([self.train, self.valid]) if refit and len(self.valid) else self.train

    def allowed_entities(self, relation: str) -> list[Ids | None]:
        """Return for each position of a relation the entities that can stand there, ascending; None are all.

        A column of a table holds entities of one type: a customer is never sold.
        """
        types = self.column_types.get(relation) or [None] * self.schema[relation].arity
        return [None if one is None else one.ids(self.entities) for one in types]


def _sorted(relations: Ids, columns: Ids, relation_count: int, entity_count: int) -> Block:
    order = row_order((relations, *columns), (relation_count, *[entity_count] * len(columns)))
    # Column by column: a gather of the whole matrix at once is four times slower, and needs a second one in memory.
    ordered = np.empty_like(columns)
    for target, column in zip(ordered, columns, strict=True):
        np.take(column, order, out=target)
    return Block(relations[order], ordered)


def _frozen(array: Ids) -> Ids:
    view = np.asarray(array, np.int32).view()
    view.flags.writeable = False
    return view


def check_ids(ids: Ids, size: int, what: str) -> None:
    """Refuse ids that are not 0 to size - 1."""
    if ids.size and not (ids.min() >= 0 and ids.max() < size):
        raise DataError(
            "mismatched-parts", f"ids run from {ids.min()} to {ids.max()}, but there are {size} names", place=what
        )
