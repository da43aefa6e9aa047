"""Known facts: an index of those of a run, and pages of those of an entity, of a relation, or all."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from relatum.api import Run
from relatum.arrays import Int32, Int64
from relatum.data.sorting import differs_from_previous
from relatum.errors import DataError, SettingError
from relatum.resources.limits import MOST_FACTS, bounded
from relatum.resources.references import EntityRef, FactRef, entity_ref, fact_ref, role_names, stored_ref
from relatum.runs.answers import Question
from relatum.runs.shown_values import Span


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an entity stands: at a position of a relation, in these facts, by number."""

    relation: int
    position: int
    facts: Int64


class FactIndex:
    """The distinct stored facts of a run, numbered by relation and then by entities."""

    def __init__(self, run: Run) -> None:
        self._run, self.parts = run, list(run.split.parts)
        self._tables, self._sources = list[Int32](), list[Int32]()
        for relation in run.model.schema:
            held = [graph.table(relation.name).columns for graph in run.split.parts.values()]
            table = np.concatenate(held, axis=1)
            part_of = np.repeat(np.arange(len(held), dtype=np.int32), [columns.shape[1] for columns in held])
            order = np.lexsort([part_of, *table[::-1]])  # of a fact in several parts the first one counts
            table, part_of = table[:, order], part_of[order]
            first = differs_from_previous(list(table))
            self._tables.append(np.ascontiguousarray(table[:, first]))
            self._sources.append(part_of[first])
        sizes = [table.shape[1] for table in self._tables]
        self.starts: Int64 = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._index_entities(len(run.entities))

    def _index_entities(self, count: int) -> None:
        """Sort every cell of every fact by its entity."""
        cells = [np.empty((4, 0), np.int64)]
        for relation, table in enumerate(self._tables):
            facts = np.arange(table.shape[1]) + self.starts[relation]
            for position, column in enumerate(table):
                rows = np.full(len(column), relation), np.full(len(column), position)
                cells.append(np.stack([column.astype(np.int64), *rows, facts]))
        whole = np.concatenate(cells, axis=1)
        whole = whole[:, np.argsort(whole[0], kind="stable")]  # the cells come by relation, position and fact already
        self._cells: Int64 = np.ascontiguousarray(whole[1:])
        self._offsets: Int64 = np.searchsorted(whole[0], np.arange(count + 1))

    def __len__(self) -> int:
        return int(self.starts[-1])

    def standings(self, entity: int) -> list[Standing]:
        """Return where an entity stands, by relation and position in their order."""
        relations, positions, facts = self._cells[:, self._offsets[entity] : self._offsets[entity + 1]]
        if not len(facts):
            return []
        cut = np.flatnonzero(differs_from_previous([relations, positions]))
        return [
            Standing(int(relations[start]), int(positions[start]), facts[start:stop])
            for start, stop in zip(cut.tolist(), [*cut[1:].tolist(), len(facts)], strict=True)
        ]

    def count(self, entity: int) -> int:
        """Return in how many facts an entity stands; one that has it twice counts once."""
        return len(np.unique(self._cells[2, self._offsets[entity] : self._offsets[entity + 1]]))

    def degrees(self) -> Int64:
        """Return how many cells hold each entity, int64[entities]."""
        return np.diff(self._offsets)

    def of_relation(self, relation: int) -> range:
        """Return the numbers of the facts of a relation."""
        return range(int(self.starts[relation]), int(self.starts[relation + 1]))

    def table(self, relation: int) -> Int32:
        """Return the facts of a relation, int32[arity, n], in the order of their numbers."""
        return self._tables[relation]

    def refs(self, facts: Sequence[int]) -> Iterator[FactRef]:
        """Yield the facts of some numbers."""
        run = self._run
        for fact in facts:
            relation = int(np.searchsorted(self.starts, fact, side="right")) - 1
            row = fact - int(self.starts[relation])
            source = self.parts[int(self._sources[relation][row])]
            yield stored_ref(run, run.model.schema[relation].name, self._tables[relation][:, row].tolist(), source)

    def source(self, relation: int, fact: Sequence[int]) -> str | None:
        """Return the split part that holds a fact, or None."""
        row = self._row(relation, fact)
        return None if row is None else self.parts[int(self._sources[relation][row])]

    def numbers(self, relation: int, facts: Int32) -> Int64:
        """Return the numbers of those of some facts of a relation, int32[arity, n], that are known."""
        rows = (self._row(relation, fact) for fact in facts.T.tolist())
        return np.array([row + int(self.starts[relation]) for row in rows if row is not None], np.int64)

    def _row(self, relation: int, fact: Sequence[int]) -> int | None:
        table, low, high = self._tables[relation], 0, self._tables[relation].shape[1]
        for column, entity in zip(table, fact, strict=True):
            part = column[low:high]
            low, high = low + int(np.searchsorted(part, entity)), low + int(np.searchsorted(part, entity, side="right"))
        return low if low < high else None


def fact_index(run: Run) -> FactIndex:
    """Return the index of the known facts of a run, which is built once."""
    return run.remembered("fact index", lambda: FactIndex(run))


def known_fact(run: Run, relation: str, entities: Sequence[str]) -> FactRef:
    """Return the reference to a fact of a stored relation, by whole names, with the split part that holds it, if any."""
    question = Question(relation, tuple(entities))
    ids = run.entities_of(question)
    source = fact_index(run).source(run.model.schema.id(relation), ids[:, 0].tolist())
    spans = run.shown_values.spans(question)
    if spans and (source is None or not run.shown_values.exactly(relation, ids, spans)[0]):
        return fact_ref(run, relation, [name or "" for name in run.given_names(question)])
    return stored_ref(run, relation, ids[:, 0].tolist(), source)


def count_of(standings: Sequence[Standing]) -> int:
    """Return in how many facts an entity stands; one that has it twice counts once."""
    return len(np.unique(np.concatenate([one.facts for one in standings]))) if standings else 0


def standings_of(run: Run, name: str) -> tuple[EntityRef, list[Standing]]:
    """Return the reference to an entity and where it stands; a number or a date only in facts that are stored with it."""
    entity, index = run.entity_id(name), fact_index(run)
    column, standings = run.shown_values.named(name), index.standings(entity)
    number = None if column is None else column.number(name)
    if column is None or number is None:
        return entity_ref(run, run.entities[entity]), standings
    found = []
    for one in standings:
        relation = run.model.schema[one.relation].name
        if run.shown_values.columns(relation).get(one.position) is column:
            facts = run.shown_values.facts_with(relation, entity, one.position, Span(number, number))
            one = replace(one, facts=np.unique(index.numbers(one.relation, facts)))
        found.append(one)
    return entity_ref(run, column.prefix + name.strip().removeprefix(column.prefix)), [
        one for one in found if len(one.facts)
    ]


@dataclass(frozen=True, slots=True)
class FactPage:
    """Some known facts.

    Attributes:
        entity: whose facts they are; None if any.
        relation: their relation; None if any.
        role: where the entity stands in them; None if anywhere.
        facts: the facts of this page.
        total: how many there are on all pages.
        next: the token of the next page; None on the last one.
    """

    entity: EntityRef | None
    relation: str | None
    role: str | None
    facts: tuple[FactRef, ...]
    total: int
    next: str | None


def facts_of(
    run: Run,
    entity: str | None = None,
    relation: str | None = None,
    role: str | None = None,
    *,
    after: str | None = None,
    limit: int = 50,
) -> FactPage:
    """Return a page of known facts: of an entity, of a relation, of an entity at a role of a relation, or all.

    The relation is stored or defined; without one there are facts of stored relations. The role is one of its roles or the
    number of a position, and `after` the token of the page before.
    """
    limit = bounded("limit", limit, MOST_FACTS)
    if role is not None and (entity is None or relation is None):
        reason = "says where an entity stands in a relation"
        raise SettingError("option-needs-option", reason, place="role", remedy="give both of these too")
    schema = None if relation is None else run.schema[relation]
    position = None if role is None or schema is None else schema.position(role)
    number = None if entity is None else run.entity_id(entity)
    ref, standings = (None, None) if entity is None else standings_of(run, entity)
    name = None if ref is None else ref.name
    wanted = ("facts", len(fact_index(run)), len(run.entities), name, relation, position)
    start = offset_of(after, *wanted)
    if schema is not None and schema.name in run.definitions:
        facts, total = _derived(run, schema.name, number, position, start, limit)
    else:
        chosen = _chosen(run, standings, None if relation is None else run.model.schema.id(relation), position)
        facts, total = tuple(fact_index(run).refs(chosen[start : start + limit])), len(chosen)
    ends = start + len(facts)
    return FactPage(
        ref,
        None if schema is None else schema.name,
        None if position is None or schema is None else role_names(run, schema.name)[position],
        facts,
        total,
        token_of(ends, *wanted) if facts and ends < total else None,
    )


def _chosen(run: Run, standings: Sequence[Standing] | None, relation: int | None, position: int | None) -> Sequence[int]:
    """Return the numbers of the facts that are wanted, ascending."""
    index = fact_index(run)
    if standings is None:
        return range(len(index)) if relation is None else index.of_relation(relation)
    found = [
        one.facts
        for one in standings
        if (relation is None or one.relation == relation) and (position is None or one.position == position)
    ]
    numbers: list[int] = np.unique(np.concatenate(found)).tolist() if found else []
    return numbers


def _derived(
    run: Run, relation: str, entity: int | None, position: int | None, start: int, limit: int
) -> tuple[tuple[FactRef, ...], int]:
    """Return a page of the facts that follow by definition, and how many there are."""
    columns = run.table(relation).columns
    if entity is not None:
        here = columns == entity
        columns = columns[:, here.any(axis=0) if position is None else here[position]]
    shown = columns[:, start : start + limit].T.tolist()
    refs = (fact_ref(run, relation, [run.entities[one] for one in fact], source="derived") for fact in shown)
    return tuple(refs), int(columns.shape[1])


_OFFSET, _CHECK = 8, 12  # bytes of a token: where a page begins, and what binds it to what was asked


def token_of(offset: int, *wanted: object) -> str:
    """Return the opaque token of the page that begins at an offset of what was wanted."""
    start = offset.to_bytes(_OFFSET, "big")
    return base64.urlsafe_b64encode(start + _check(start, wanted)).decode().rstrip("=")


def offset_of(token: str | None, *wanted: object) -> int:
    """Return where the page of a token begins; refused if it was not given for the same thing."""
    if token is None:
        return 0
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True) if len(token) < 64 else b""
    except (binascii.Error, ValueError):
        raw = b""
    offset = int.from_bytes(raw[:_OFFSET], "big")
    if len(raw) != _OFFSET + _CHECK or token.rstrip("=") != token_of(offset, *wanted):  # one spelling of several
        reason = "this token leads to no page of what is wanted here"
        raise DataError("foreign-token", reason, remedy="start again without it")
    return offset


def _check(start: bytes, wanted: tuple[object, ...]) -> bytes:
    return hashlib.blake2b(start + repr(wanted).encode(), digest_size=_CHECK, person=b"relatum pages").digest()
