"""Names as they are typed: what completes a question, a query of SQL or algebra, and entities by a part of their name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from relatum.algebra.expression import OPERATIONS
from relatum.algebra.lexer import as_written
from relatum.api import Run
from relatum.arrays import Bool, Int64
from relatum.data.schema import RelationSchema
from relatum.resources.cursor import Spot, spot_of
from relatum.resources.facts import fact_index
from relatum.resources.limits import MOST_NAMES, MOST_TEXT, bounded
from relatum.resources.references import EntityRef, entity_ref, role_names
from relatum.runs.lookup import name_index
from relatum.runs.sql_answers import catalog_with_views


@dataclass(frozen=True, slots=True)
class NameMatch:
    """A name that could stand where something is being typed.

    Attributes:
        name: the relation, role or entity, by its whole name.
        label: what people call it; None if it has no label.
        kind: `relation`, `role`, `entity`, or `word` for a word of the language, such as `project`.
        facts: in how many known facts it stands, where it would stand here.
        insert: the text to put in, quoted as it must be.
    """

    name: str
    label: str | None
    kind: str
    facts: int
    insert: str


@dataclass(frozen=True, slots=True)
class SuggestedNames:
    """What completes a text where the cursor is.

    Attributes:
        start: where what is replaced by `insert` begins.
        end: where it ends.
        matches: the best first.
        truncated: whether there are more.
    """

    start: int
    end: int
    matches: tuple[NameMatch, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class StandsIn:
    """A column that an entity stands in, by relation and role, and in how many facts."""

    relation: str
    role: str
    facts: int


@dataclass(frozen=True, slots=True)
class EntityHit:
    """An entity found by name.

    Attributes:
        entity: the entity.
        match: how its name fits: `exact`, `prefix`, `word`, `substring`, or `spelling` (looks alike).
        facts: in how many facts it stands.
        columns: where it stands, most facts first.
    """

    entity: EntityRef
    match: str
    facts: int
    columns: tuple[StandsIn, ...]


@dataclass(frozen=True, slots=True)
class FoundEntities:
    """Entities found by name: the text, the best first, and whether there may be more."""

    text: str
    entities: tuple[EntityHit, ...]
    truncated: bool


def suggest(run: Run, text: str, cursor: int | None = None, k: int = 10) -> SuggestedNames:
    """Return what completes a text at the cursor (by default its end): relations, roles and entities that fit there."""
    k, cursor = bounded("k", k, MOST_NAMES), len(text) if cursor is None else cursor
    if len(text) > MOST_TEXT:
        return SuggestedNames(cursor, cursor, (), truncated=False)
    spot = spot_of(text, cursor, run.schema, _tables(run))
    if spot.expects == "entity":
        found = [*_roles(run, spot, "="), *_entities(run, spot, k + 1)] if spot.argument else _entities(run, spot, k + 1)
    elif spot.expects == "role":
        found = _roles(run, spot) or _relations(run, spot)
    else:
        found = _relations(run, spot)
    return SuggestedNames(spot.start, spot.end, tuple(found[:k]), truncated=len(found) > k)


def find(run: Run, text: str, k: int = 10) -> FoundEntities:
    """Return up to k entities by a part of their name or label, or a name that looks like it, the best first."""
    k, wanted = bounded("k", k, MOST_NAMES), text[:MOST_TEXT]
    index = fact_index(run)
    found = name_index(run).search(wanted, index.degrees(), k + 1) if wanted.strip() else []
    if not found:
        found = [(entity, "spelling") for entity in name_index(run).alike(wanted, k)]
    hits = [
        EntityHit(entity_ref(run, run.entities[entity]), match, index.count(entity), _columns(run, entity))
        for entity, match in found[:k]
    ]
    numbers = [_value_hit(run, name, stands) for _, name, stands in run.shown_values.finding(wanted)]
    return FoundEntities(wanted, tuple([*numbers, *hits][:k]), truncated=len(numbers) + len(found) > k)


def _value_hit(run: Run, name: str, stands: list[tuple[str, int, int]]) -> EntityHit:
    """Return a number or a date that is stored, and where."""
    columns = tuple(StandsIn(relation, role_names(run, relation)[at], rows) for relation, at, rows in stands)
    return EntityHit(entity_ref(run, name), "exact", sum(one.facts for one in columns), columns)


def _columns(run: Run, entity: int) -> tuple[StandsIn, ...]:
    """Return where an entity stands, most facts first."""
    schema = run.model.schema
    found = [
        StandsIn(schema[one.relation].name, role_names(run, schema[one.relation].name)[one.position], len(one.facts))
        for one in fact_index(run).standings(entity)
    ]
    return tuple(sorted(found, key=lambda one: -one.facts))


def _tables(run: Run) -> Mapping[str, RelationSchema]:
    """Return what SQL can name, each as a relation whose roles are its columns."""

    def work_out() -> dict[str, RelationSchema]:
        catalog = catalog_with_views(run)
        columns = {name: tuple(one.name for one in table.columns) for name, table in catalog.tables.items()}
        columns |= {name: view.columns for name, view in catalog.views.items()}
        return {name: RelationSchema(name, len(roles), roles) for name, roles in columns.items() if roles}

    return run.remembered("tables of SQL", work_out)


def _relations(run: Run, spot: Spot) -> list[NameMatch]:
    """Return the relations whose names fit, those with most facts first, and the operations of algebra."""
    if spot.language == "sql":
        names, quote = list(_tables(run)), _as_identifier
    else:
        names, quote = list(run.schema.names), as_written
    sizes = run.remembered("sizes of relations", lambda: {one.name: len(run.table(one.name)) for one in run.schema})
    matches = [NameMatch(name, None, "relation", sizes.get(name, 0), quote(name)) for name in names]
    if spot.operations:
        matches += [NameMatch(word, None, "word", 0, word) for word in sorted(OPERATIONS)]
    return _fitting(matches, spot.typed)


def _roles(run: Run, spot: Spot, behind: str = "") -> list[NameMatch]:
    """Return the roles of the relations at hand whose names fit."""
    found: dict[str, NameMatch] = {}
    for name, _ in spot.columns:
        relation = _tables(run)[name] if spot.language == "sql" else run.schema[name]
        for role in relation.roles or ():
            shown = _as_identifier(role) if spot.language == "sql" else as_written(role)
            found.setdefault(role, NameMatch(role, None, "role", 0, shown + behind))
    matches = _fitting(found.values(), spot.typed)
    return [one for one in matches if one.name.casefold().startswith(spot.typed.casefold())] if behind else matches


def _fitting(matches: Iterable[NameMatch], typed: str) -> list[NameMatch]:
    """Return the names that begin with what is typed or hold it, those first that begin with it."""
    wanted = typed.strip().casefold()
    held = [(one.name.casefold(), one) for one in matches]
    fits = [(not name.startswith(wanted), -one.facts, one) for name, one in held if wanted in name]
    return [one for *_, one in sorted(fits, key=lambda each: each[:2])]


def _entities(run: Run, spot: Spot, k: int) -> list[NameMatch]:
    """Return the entities whose names fit, in columns of their type, and those first that stand there in known facts."""
    columns = [(name, position) for name, position in spot.columns if position is not None]
    stored = [held for one in columns if (held := _stored(run, *one, sql=spot.language == "sql")) is not None]
    weights, allowed = fact_index(run).degrees(), None
    if stored:
        weights, allowed = _in_columns(run, stored)
    prefixes = {_prefix(run, *one) for one in stored}
    prefix = prefixes.pop() if len(prefixes) == 1 else ""
    found = []
    for entity, _ in name_index(run).search(spot.typed, weights, k, allowed):
        name = run.entities[entity]
        value = name.removeprefix(prefix)
        insert = _as_text(value) if spot.language == "sql" else as_written(value, quote=value == "?")
        found.append(NameMatch(name, run.labels.of(name), "entity", int(weights[entity]), insert))
    return [*_values(run, spot, stored, k), *found][:k]


def _values(run: Run, spot: Spot, columns: list[tuple[str, int]], k: int) -> list[NameMatch]:
    """Return the numbers and dates that are stored in some columns and begin with what is typed."""
    found = {}
    for relation, position in columns:
        column = run.shown_values.columns(relation).get(position)
        for value, rows in () if column is None else column.starting(spot.typed, k):
            insert = _as_text(value) if spot.language == "sql" else as_written(value)
            found[value] = NameMatch(value if column is None else column.prefix + value, None, "entity", rows, insert)
    return list(found.values())


def _stored(run: Run, name: str, position: int, *, sql: bool) -> tuple[str, int] | None:
    """Return the relation, stored or defined, and its position that hold what stands in a column."""
    if not sql:
        return name, position
    table = catalog_with_views(run).tables.get(name)
    if table is None:
        return (name, position) if name in run.definitions else None
    column = table.columns[position]
    if column.relation is not None:
        return column.relation.name, column.position
    owned = next((one.relation for one in table.columns if one.relation is not None), None)
    return (owned.name, 0) if column.use == "key" and owned is not None else None  # each of its relations has the key first


def _in_columns(run: Run, columns: list[tuple[str, int]]) -> tuple[Int64, Bool | None]:
    """Return how often entities stand in some columns, and which can; None if any can."""
    count = len(run.entities)
    weights, allowed = np.zeros(count, np.int64), np.zeros(count, np.bool_)
    for relation, position in columns:
        weights += np.bincount(run.table(relation).columns[position], minlength=count)
        ids = run.allowed_entities(relation)[position]
        allowed[slice(None) if ids is None else ids] = True
    return weights, None if allowed.all() else allowed


def _prefix(run: Run, relation: str, position: int) -> str:
    one = run.column_types(relation)[position]
    return "" if one is None else one.prefix


def _as_identifier(name: str) -> str:
    """Return a name as SQL has it: in double quotes, unless it is a plain word."""
    return name if name.isascii() and name.isidentifier() else '"' + name.replace('"', '""') + '"'


def _as_text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
