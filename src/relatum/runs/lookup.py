"""What is in a run or a dataset: its relations, entities by name, and entities by likeness."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from relatum.arrays import Bool, Float64, Int64
from relatum.data.column_types import ColumnType, entity_types
from relatum.data.hypergraph import Hypergraph, Split, TupleTable
from relatum.data.labels import Labels
from relatum.data.schema import RelationSchema, Schema
from relatum.data.vocabulary import Vocabulary
from relatum.errors import nearest_names
from relatum.formatting import visible
from relatum.records import Record
from relatum.runs.answers import Question
from relatum.runs.shown_values import ShownValues
from relatum.settings import whole_number

if TYPE_CHECKING:
    from relatum.runs.trained import Trained

_EXAMPLES = 200  # facts among which a short one is taken as the example
_LAST = "\U0010ffff"
_BETWEEN = "\0"  # no name has one
_HITS = 4000  # starts that are looked at while somebody types


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """A position of a relation: its role, and what its entities are, each None where it is not known."""

    position: int
    role: str | None
    entity_type: str | None
    value_type: str | None

    @property
    def name(self) -> str:
        """The role, or else the position."""
        return self.role or str(self.position)

    def __str__(self) -> str:
        types = [one for one in (self.entity_type, self.value_type) if one and one != "text"]
        return self.name + (f": {', '.join(types)}" if types else "")


@dataclass(frozen=True, slots=True)
class RelationSummary(Record):
    """A relation, one of its facts, and a question that this fact answers; None where it has no facts."""

    name: str
    columns: tuple[ColumnSummary, ...]
    facts: int
    example: tuple[str, ...] | None
    question: str | None


@dataclass(frozen=True, slots=True)
class EntityColumn:
    """A column that an entity stands in, by role or position, and in how many facts it does."""

    relation: str
    column: str
    facts: int


@dataclass(frozen=True, slots=True)
class EntityMatch(Record):
    """An entity found by name."""

    name: str
    # how its name fits: `exact`, `prefix`, `word` (a word begins so), `substring`, or `spelling` (looks alike)
    match: str
    facts: int  # how many facts it stands in
    columns: tuple[EntityColumn, ...]  # where it stands, most facts first


@dataclass(frozen=True, slots=True)
class SimilarEntity(Record):
    """An entity, the cosine of its embedding and the given one's, and its type where column types are known."""

    name: str  # of numbers and dates the one in the middle of those that are taken together
    similarity: float
    entity_type: str | None
    interval: str | None = None  # the least and the greatest of those


class NameIndex:
    """The names of entities, whatever their case, sorted, and all in one text.

    `types` are what may stand before a value in their names, the longest first; those `without` a name are left out.
    """

    def __init__(self, entities: Iterable[str], labels: Labels, types: Iterable[str], without: Container[str] = ()) -> None:
        prefixes = [f"{one}:" for one in types]
        found: list[tuple[str, int]] = []
        for entity, name in enumerate(entities):
            if name in without:
                continue
            forms = {name.casefold()}
            if prefixes and (prefix := next((one for one in prefixes if name.startswith(one)), None)):
                forms.add(name[len(prefix) :].casefold())
            if (label := labels.of(name)) is not None:
                forms.add(label.replace(_BETWEEN, " ").casefold())
            found += [(form, entity) for form in forms]
        found.sort()
        self._forms = [form for form, _ in found]
        self._entities: Int64 = np.array([entity for _, entity in found], np.int64)
        self._text = _BETWEEN.join(self._forms)
        self._starts: Int64 = np.cumsum([0, *(len(form) + 1 for form in self._forms)])[:-1]

    def search(
        self, text: str, weights: Int64, k: int, allowed: Bool | None = None, most: int | None = _HITS
    ) -> list[tuple[int, str]]:
        """Return up to k entities with how their names fit, the best fit first, and among equals those of most weight.

        Where a text stands within names, `most` starts in all of them are looked at; None are all.
        """
        wanted = text.strip().casefold()
        start, stop = bisect_left(self._forms, wanted), bisect_left(self._forms, wanted + _LAST)
        first = bisect_left(self._forms, wanted + "\0", start, stop)  # those that are just this
        best: dict[int, str] = {}
        for grade, low, high in (("exact", start, first), ("prefix", first, stop)):
            self._add(best, grade, self._entities[low:high], weights, k, allowed)
        if len(best) < k and wanted and _BETWEEN not in wanted:
            for grade, entities in self._within(wanted, most).items():
                self._add(best, grade, entities, weights, k, allowed)
        return list(best.items())[:k]

    def alike(self, text: str, k: int, without: Container[int] = ()) -> list[int]:
        """Return up to k entities one of whose names looks like a text, without some that are known."""
        forms = (form for form, one in zip(self._forms, self._entities.tolist(), strict=True) if one not in without)
        similar = nearest_names(text.strip().casefold(), forms, k)
        found = dict.fromkeys(int(self._entities[bisect_left(self._forms, form)]) for form in similar)
        return [one for one in found if one not in without]

    def _add(self, best: dict[int, str], grade: str, entities: Int64, weights: Int64, k: int, allowed: Bool | None) -> None:
        """Add the entities of most weight that fit so well."""
        if len(best) >= k or not len(entities):
            return
        chosen = np.unique(entities)  # ids follow the order of names
        if allowed is not None:
            chosen = chosen[allowed[chosen]]
        for entity in chosen[np.argsort(-weights[chosen], kind="stable")[: k + len(best)]].tolist():
            best.setdefault(entity, grade)

    def _within(self, wanted: str, most: int | None) -> dict[str, Int64]:
        """Return the entities one of whose names holds a text, apart by whether a word begins with it."""
        offsets = np.fromiter(islice(_starts(wanted, self._text), most), np.int64)
        numbers = np.searchsorted(self._starts, offsets, side="right") - 1
        behind = np.array([not self._text[one - 1].isalnum() for one in offsets.tolist()], np.bool_)
        begins = behind | (offsets == self._starts[numbers])
        return {"word": self._entities[numbers[begins]], "substring": self._entities[numbers[~begins]]}


def _starts(wanted: str, text: str) -> Iterator[int]:
    """Yield where a text begins within another; not by `re`, which would keep a pattern of everything that is looked for."""
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


def describe_relations(source: Split | Trained) -> list[RelationSummary]:
    """Return what each relation of a dataset or run is: its columns, its number of facts, an example and a question."""
    facts, values = _facts(source), _values_of(source)
    return [
        _summary(relation, facts.table(relation.name), _column_types(source, relation.name), values)
        for relation in facts.schema
    ]


def find_entities(source: Split | Trained, text: str, k: int = 10) -> list[EntityMatch]:
    """Return up to k entities whose name or label contains a text, whatever its case, the best first; then names like it.

    Exact names come before names that begin with the text, then names with a word that does, then all others; among equals
    those with more facts. An imported name such as `items:tea` counts both as a whole and as `tea`.
    """
    k, facts, values = whole_number("k", k), _facts(source), _values_of(source)
    if isinstance(source, Split):
        index = NameIndex(facts.entities, Labels(source.rows), entity_types(source.column_types), values.groups)
    else:
        index = name_index(source)
    numbers = [_value_match(facts.schema, name, stands) for _, name, stands in values.finding(text)]
    found = dict(index.search(text, facts.degrees(), k, most=None))
    if len(found) < k and not numbers:
        found |= dict.fromkeys(index.alike(text, k - len(found), found), "spelling")
    matches = _matches(facts, [(match, facts.entities[entity]) for entity, match in found.items()])
    return sorted([*numbers, *matches], key=lambda one: one.match != "exact")[:k]


def name_index(run: Trained) -> NameIndex:
    """Return the index of the names of a run's entities, which is built once."""
    groups = run.shown_values.groups
    return run.remembered("name index", lambda: NameIndex(run.entities, run.labels, run.entity_types, groups))


def similar_entities(run: Trained, entity: str, k: int = 10) -> list[SimilarEntity]:
    """Return the k entities whose embeddings are nearest to an entity's, those of its own type first.

    An imported entity such as `items:tea` can be called `tea`, unless other types have one, too.
    """
    k, entities = whole_number("k", k), run.model.graph.entities
    own = run.entity_id(entity)
    cosines = similarities(run, own)
    types = _types_of(entities, run.entity_types)
    other = np.array([one != types[own] for one in types])
    order = [int(one) for one in np.lexsort((-cosines, other)) if one != own][:k]
    shown = [run.shown_values.entity_shown(entities[one]) for one in order]
    return [
        SimilarEntity(name, float(cosines[one]), types[one], interval)
        for one, (name, interval) in zip(order, shown, strict=True)
    ]


def similarities(run: Trained, entity: int) -> Float64:
    """Return how similar the embedding finds every entity to one.

    Likeness is the cosine of the rows that scoring reads, taken from their mean: the entries of many models are all
    positive, and without that every two entities would look alike.
    """
    rows = [run.tables[name].numpy(force=True).reshape(run.model.num_entities, -1) for name in run.model.entity_tables]
    vectors = np.concatenate(rows, axis=1).astype(np.float64)
    vectors -= vectors.mean(axis=0)
    lengths = np.maximum(np.linalg.norm(vectors, axis=1), np.finfo(np.float64).tiny)
    cosines: Float64 = np.clip(vectors @ vectors[entity] / (lengths * lengths[entity]), -1, 1)
    return cosines


def _values_of(source: Split | Trained) -> ShownValues:
    """Return the numbers and dates as people see them."""
    if not isinstance(source, Split):
        return source.shown_values
    return ShownValues(source.rows, source.entities, source.schema)


def _facts(source: Split | Trained) -> Hypergraph:
    facts = Hypergraph.union(list(source.parts.values())) if isinstance(source, Split) else source.facts
    return facts.distinct()


def _column_types(source: Split | Trained, relation: str) -> Sequence[ColumnType | None]:
    """Return the type of each column of a relation, or nothing where they are not known."""
    return source.column_types.get(relation, ()) if isinstance(source, Split) else source.column_types(relation)


def _types_of(entities: Vocabulary, known: Iterable[str]) -> list[str | None]:
    """Return the type of each entity: the longest that its name begins with."""
    found: list[str | None] = [None] * len(entities)
    for entity_type in sorted(known, key=len):
        for entity in entities.beginning_with(f"{entity_type}:").tolist():
            found[entity] = entity_type
    return found


def _summary(
    relation: RelationSchema, table: TupleTable, types: Sequence[ColumnType | None], values: ShownValues
) -> RelationSummary:
    roles, known = relation.roles or (None,) * relation.arity, types or (None,) * relation.arity
    columns = tuple(
        ColumnSummary(position, role, one.entity_type if one else None, one.value_type if one else None)
        for position, (role, one) in enumerate(zip(roles, known, strict=True))
    )
    if not len(table):
        return RelationSummary(relation.name, columns, 0, None, None)
    fact = _example(table)
    shown = values.fact(relation.name, table.entities.ids(fact).tolist(), known=True)
    example = shown.names
    distinct = [len(np.unique(column)) for column in table.columns]
    position = distinct.index(max(distinct))  # where there is most to choose from
    arguments = tuple(None if index == position else name for index, name in enumerate(shown.names))
    return RelationSummary(relation.name, columns, len(table), example, str(Question(relation.name, arguments)))


def _example(table: TupleTable) -> tuple[str, ...]:
    """Return a fact whose names can be shown as they are, if there is one among the first, and the shortest of these."""
    few = TupleTable(table.relation, table.columns[:, :_EXAMPLES], table.entities)
    return min(few, key=lambda fact: (any(name != visible(name) for name in fact), sum(map(len, fact)) > 60))


def _matches(facts: Hypergraph, named: Sequence[tuple[str, str]]) -> list[EntityMatch]:
    """Return where each entity of (match, name) stands."""
    ids = {facts.entities.id(name): name for _, name in named}
    wanted = np.zeros(len(facts.entities), np.bool_)
    wanted[list(ids)] = True
    columns: dict[int, Counter[tuple[int, int]]] = {entity: Counter() for entity in ids}
    counts: Counter[int] = Counter()
    for block in facts.blocks.values():
        hits = wanted[block.columns]
        for row in np.flatnonzero(hits.any(axis=0)).tolist():
            relation, fact = int(block.relations[row]), block.columns[:, row].tolist()
            counts.update({entity for entity in fact if entity in ids})
            for position, entity in enumerate(fact):
                if entity in ids:
                    columns[entity][relation, position] += 1
    found = []
    for match, name in named:
        entity = facts.entities.id(name)
        there = sorted(columns[entity].items(), key=lambda item: (-item[1], item[0]))
        stands = tuple(_entity_column(facts.schema[relation], position, n) for (relation, position), n in there)
        found.append(EntityMatch(name, match, counts[entity], stands))
    return found


def _value_match(schema: Schema, name: str, stands: Sequence[tuple[str, int, int]]) -> EntityMatch:
    """Return where a number or a date stands: in which relations, at which positions, in how many rows."""
    columns = tuple(_entity_column(schema[relation], position, rows) for relation, position, rows in stands)
    return EntityMatch(name, "exact", sum(one.facts for one in columns), columns)


def _entity_column(relation: RelationSchema, position: int, facts: int) -> EntityColumn:
    return EntityColumn(relation.name, relation.roles[position] if relation.roles else str(position), facts)
