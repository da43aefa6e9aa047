"""Tables become a split: entities numbered, rows read as facts, and everything accounted for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from relatum.data.column_types import ColumnType
from relatum.data.hypergraph import Hypergraph
from relatum.data.schema import RelationSchema, Schema
from relatum.data.splitting import hold_out
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.errors import DataError
from relatum.files import sha256_of
from relatum.progress import progress
from relatum.tables.columns import ColumnPlan, Staged, stage
from relatum.tables.engine import Workspace, literal
from relatum.tables.foreign_keys import EntityTypes
from relatum.tables.null_text import null_hint, null_like
from relatum.tables.open import open_sources
from relatum.tables.options import Choices, ColumnRef, ImportOptions, full_name
from relatum.tables.source import SourceTable
from relatum.tables.summary import ColumnRecord, Imported, TableRecord
from relatum.tables.values import NULL, text_of

__all__ = ["Role", "missing_targets", "number_entities", "read", "read_facts", "roles_of"]


def missing_targets(workspace: Workspace, staged: Mapping[str, Staged], identity: EntityTypes) -> dict[ColumnRef, str]:
    """Return a note for each column taken with values that have no target: they are entities all the same."""
    notes = {}
    for ref, targets in identity.refers.items():
        own = _texts(ref, staged)
        for target in targets:
            theirs = _texts(target, staged) if isinstance(target, tuple) else None
            if own is None or theirs is None or not staged[ref[0]].plans[ref[1]].is_taken:
                continue
            query = f"SELECT count(*) FROM (({own}) EXCEPT ({theirs}))"  # noqa: S608
            if count := workspace.one(query, ref[0])[0]:
                values = "1 value has" if count == 1 else f"{count:,} values have"
                notes[ref] = f"{values} no row in {full_name((target[0], target[1]))}"
    return notes


def _texts(ref: ColumnRef, staged: Mapping[str, Staged]) -> str | None:
    """Return the query for the different values of a column, as text; None if it is not in the workspace."""
    table = staged.get(ref[0])
    column = table.view_columns.get(ref[1]) if table else None
    if table is None or column is None:
        return None
    text = text_of(column, table.types[ref[1]])
    return f"SELECT DISTINCT {text} FROM {table.view} WHERE {column} IS NOT NULL"  # noqa: S608


@dataclass(frozen=True, slots=True)
class Role:
    """A column that becomes a role: an SQL expression over `view`, the text of its values, and what stands before that.

    `names` is the table of the workspace that has the entity of each value.
    """

    view: str
    value: str
    text: str
    prefix: str
    names: str

    @property
    def is_bin(self) -> bool:
        """Whether the value is the number of a group, which is named after the least and the greatest value in it."""
        return self.value != self.text


def roles_of(
    workspace: Workspace, staged: Staged, entity_types: dict[str, str], order: list[str] | None, number: int
) -> list[Role]:
    """Return the roles of a table, in order; `entity_types` has what stands before the names of a column's entities."""
    roles = []
    for index, name in enumerate(staged.taken(order)):
        column, plan = staged.view_columns[name], staged.plans[name]
        value = _bin(workspace, staged, name) if plan.bins else column
        prefix = f"{entity_types[name]}:" if name in entity_types else ""
        roles.append(Role(staged.view, value, column, prefix, f"names_{number}_{index}"))
    return roles


def _bin(workspace: Workspace, staged: Staged, name: str) -> str:
    """Return the number of the group of a value, from its quantiles; equal values are in one group."""
    column, kind, count = staged.view_columns[name], staged.types[name], staged.plans[name].bins
    shares = ", ".join(f"{part / count!r}" for part in range(1, count))
    cuts = f"SELECT CAST(quantile_disc({column}, [{shares}]) AS VARCHAR[]) FROM {staged.view}"  # noqa: S608
    edges = dict.fromkeys(workspace.one(cuts, staged.table.name)[0] or ())
    steps = (f"WHEN {column} <= CAST({literal(edge)} AS {kind}) THEN {group}" for group, edge in enumerate(edges))
    return f"CASE WHEN {column} IS NULL THEN NULL {' '.join(steps)} ELSE {count} END"


def number_entities(workspace: Workspace, tables: list[tuple[Staged, list[Role]]], null_is_value: bool) -> Vocabulary:
    """Return the names of all entities, sorted; and leave, for each role, the id of every value in the workspace."""
    for staged, roles in tables:
        lacking = _lacking(staged, roles, null_is_value)
        for role in roles:
            kind = next(staged.types[name] for name, column in staged.view_columns.items() if column == role.text)
            if role.is_bin:
                least, most = (text_of(f"{extreme}({role.text})", kind) for extreme in ("min", "max"))
                name = f"CASE WHEN {least} = {most} THEN {least} ELSE {least} || ' to ' || {most} END"
                query = f"SELECT {role.value} AS value, {name} AS name FROM {role.view} {lacking} GROUP BY 1"  # noqa: S608
            else:
                distinct = f"SELECT DISTINCT {role.value} AS value FROM {role.view} {lacking}"  # noqa: S608
                query = f"SELECT value, {text_of('value', kind)} AS name FROM ({distinct})"  # noqa: S608
            name = f"{literal(role.prefix)} || coalesce(name, {literal(NULL)})"
            workspace.run(f"CREATE TABLE {role.names} AS SELECT value, {name} AS name FROM ({query})", staged.table.name)  # noqa: S608
    every = " UNION ALL ".join(f"SELECT name FROM {role.names}" for _, roles in tables for role in roles)  # noqa: S608
    workspace.run(
        "CREATE TABLE entities AS SELECT name, CAST(row_number() OVER (ORDER BY name) - 1 AS INTEGER) AS id "  # noqa: S608
        f"FROM (SELECT DISTINCT name FROM ({every}))",
        "names",
    )
    names = workspace.arrays("SELECT name FROM entities ORDER BY id", "names")["name"]
    return Vocabulary(names.tolist())


def read_facts(workspace: Workspace, staged: Staged, roles: list[Role], null_is_value: bool) -> Ids:
    """Return the facts of a table as ids, int32[arity, n], in any order, repeats included."""
    joins, ids = [], []
    for index, role in enumerate(roles):
        numbered = f"(SELECT n.value, e.id FROM {role.names} n JOIN entities e USING (name)) j{index}"  # noqa: S608
        joins.append(f"JOIN {numbered} ON j{index}.value IS NOT DISTINCT FROM {role.value}")
        ids.append(f"j{index}.id AS i{index}")
    lacking = _lacking(staged, roles, null_is_value)
    query = f"SELECT {', '.join(ids)} FROM {staged.view} t {' '.join(joins)} {lacking}"  # noqa: S608
    found = workspace.arrays(query, staged.table.name)
    return np.stack([np.asarray(found[f"i{index}"], np.int32) for index in range(len(roles))])


def _lacking(staged: Staged, roles: list[Role], null_is_value: bool) -> str:
    """Return the condition that no value is NULL, as far as it says anything."""
    nulls = {staged.view_columns[name] for name, profile in staged.profiles.items() if profile.nulls}
    tests = [f"{role.text} IS NOT NULL" for role in roles if role.text in nulls]
    return f"WHERE {' AND '.join(tests)}" if tests and not null_is_value else ""


_LEAST_ROLES = 2  # of a relation that was not chosen by option


def read(source: Any, **options: Any) -> Imported:
    """Return the facts in tables, split into train, valid and test, with a record of what became of every column and row.

    A table is a relation, a row a fact, a column a role. Foreign keys are followed: a column holds the entities of the
    column that it refers to, and an entity's name begins with what it is, as in `items:17`.

    Args:
        source: the path of a CSV, TSV, Parquet, JSON lines, SQLite or DuckDB file, the URL of a PostgreSQL database, or a
            frame of pandas, polars or Arrow; several of these in a list, or tables by name in a mapping.
        **options: the fields of `ImportOptions`.
    """
    chosen = ImportOptions.of(options)
    with Workspace() as workspace, open_sources(source, workspace, chosen) as sources:
        tables = {name: table for name, (_, table) in sources.items()}
        if not tables:
            raise DataError("there are no tables to import")
        choices = Choices(tables, chosen)
        identity = EntityTypes(tables, choices)
        locations = list(dict.fromkeys(each.location for each, _ in sources.values()))
        staged = [
            stage(workspace, *sources[name], number, choices, identity, chosen.keep_ids)
            for number, name in enumerate(choices.tables)
        ]
        return _Assembly(workspace, staged, choices, identity, chosen).finish(tables, locations)


class _Assembly:
    """The staged tables of one import on their way to a split."""

    def __init__(
        self, workspace: Workspace, staged: list[Staged], choices: Choices, identity: EntityTypes, options: ImportOptions
    ) -> None:
        self._workspace, self._staged, self._choices = workspace, staged, choices
        self._identity, self._entity_types, self._options = identity, identity.types, options
        self._null_is_value = options.null == "value"

    def finish(self, tables: dict[str, SourceTable], locations: list[str]) -> Imported:
        """Return the import."""
        related = [(number, each) for number, each in enumerate(self._staged) if not self._why_not(each)]
        if not related:
            reasons = "; ".join(f"{each.table.name}: {self._why_not(each)}" for each in self._staged[:3])
            raise DataError(f"no table gives a relation ({reasons}); keep columns that were left out")
        schema, names = self._schema([each for _, each in related])
        roles = [(each, self._roles(each, number)) for number, each in related]
        entities = number_entities(self._workspace, roles, self._null_is_value)
        blocks, read = self._blocks(schema, roles, names)
        with progress("arranging facts", 3) as advance:
            graph = Hypergraph.sort(entities, schema, blocks)
            if not len(graph):
                raise DataError("no row has a value in every column; drop columns, or set null to value")
            advance(1)
            distinct = graph.distinct()
            advance(1)
            facts = {each.table.name: len(distinct.table(names[each.table.name])) for each, _ in roles}
            wanted = self._options
            split = hold_out(distinct, wanted.valid, wanted.test, wanted.split, wanted.seed, " ".join(locations))
            split = replace(split, column_types={names[each.table.name]: self._column_types(each) for _, each in related})
            advance(1)
        looked = {each.table.name: each for each in self._staged}
        records = [
            self._table_record(name, looked.get(name), names.get(name), read.get(name, 0), facts.get(name, 0))
            for name in tables
        ]
        notes = missing_targets(self._workspace, looked, self._identity)
        for each in self._staged:
            ids = {column: name for name, column in each.view_columns.items()}
            for column, counts in null_like(self._workspace, each.view, list(ids), each.table.name).items():
                ref = each.table.name, ids[column]
                notes[ref] = "; ".join(filter(None, (notes.get(ref), null_hint(counts))))
        columns = [record for each in self._staged for record in self._column_records(each, notes)]
        checksums = {location: sha256_of(Path(location)) if Path(location).is_file() else None for location in locations}
        return Imported(split, tuple(records), tuple(columns), checksums, self._options)

    def _why_not(self, staged: Staged) -> str:
        """Return why a table gives no relation, or nothing if it does."""
        taken = staged.taken()
        if not staged.rows:
            return "no rows"
        is_chosen = staged.table.name in self._choices.columns or staged.table.is_facts
        if len(taken) < (1 if is_chosen else _LEAST_ROLES):
            return f"{len(taken) or 'no'} column{'s' * (len(taken) != 1)} left to take, and a relation needs {_LEAST_ROLES}"
        present = staged.rows if self._null_is_value else min(staged.profiles[name].present for name in taken)
        return "" if present else "no row has a value in every column that is taken"

    def _schema(self, staged: list[Staged]) -> tuple[Schema, dict[str, str]]:
        """Return the relations, and which is which table's."""
        names: dict[str, str] = {}
        relations = []
        for each in staged:
            table = each.table.name
            names[table] = self._choices.relations.get(table, table)
            roles = each.taken(self._choices.columns.get(table))
            relations.append(RelationSchema(names[table], len(roles), None if each.table.is_positional else tuple(roles)))
        return Schema(sorted(relations, key=lambda relation: relation.name)), names

    def _roles(self, staged: Staged, number: int) -> list[Role]:
        table = staged.table
        entity_types = {
            column.name: self._entity_types[table.name, column.name]
            for column in table.columns
            if self._has_kind(table, column.name)
        }
        return roles_of(self._workspace, staged, entity_types, self._choices.columns.get(table.name), number)

    def _column_types(self, staged: Staged) -> tuple[ColumnType, ...]:
        """Return what the entities of a relation's positions are, by which they can be turned back into values."""
        table, found = staged.table, []
        for name in staged.taken(self._choices.columns.get(table.name)):
            kind = self._entity_types[table.name, name] if self._has_kind(table, name) else None
            found.append(ColumnType(kind, staged.form(name), self._null_is_value))
        return tuple(found)

    def _has_kind(self, table: SourceTable, column: str) -> bool:
        """Return whether the names of a column's entities begin with their kind: by default, or by a link."""
        return not (self._options.plain or table.is_facts) or (table.name, column) in self._choices.links

    def _blocks(
        self, schema: Schema, tables: list[tuple[Staged, list[Role]]], names: dict[str, str]
    ) -> tuple[list[tuple[Ids, Ids]], dict[str, int]]:
        """Return all facts, by arity, and how many each table gave."""
        blocks: dict[int, list[tuple[Ids, Ids]]] = {}
        counts: dict[str, int] = {}
        for staged, roles in tables:
            columns = read_facts(self._workspace, staged, roles, self._null_is_value)
            counts[staged.table.name] = columns.shape[1]
            relation = schema.id(names[staged.table.name])
            blocks.setdefault(len(roles), []).append((np.full(columns.shape[1], relation, np.int32), columns))
        joined = [
            (np.concatenate([ids for ids, _ in some]), np.concatenate([columns for _, columns in some], axis=1))
            for some in blocks.values()
        ]
        return joined, counts

    def _table_record(self, name: str, staged: Staged | None, relation: str | None, read: int, facts: int) -> TableRecord:
        if staged is None:
            return TableRecord(name, None, None, 0, 0, 0, "not read")
        if relation is None:
            return TableRecord(name, None, staged.rows, 0, 0, 0, self._why_not(staged))
        return TableRecord(name, relation, staged.rows, staged.rows - read, read - facts, facts, "")

    def _column_records(self, staged: Staged, notes: dict[ColumnRef, str]) -> list[ColumnRecord]:
        table, unused = staged.table, ColumnPlan("left out", "its table gives no relation")
        records = []
        for column in table.columns:
            plan, profile = staged.plans[column.name], staged.profiles.get(column.name)
            if plan.is_taken and self._why_not(staged):
                plan = unused
            shown = plan.is_taken and self._has_kind(table, column.name)
            records.append(
                ColumnRecord(
                    table=table.name,
                    column=column.name,
                    type=column.type or staged.types.get(column.name, "text").lower(),
                    outcome=plan.outcome,
                    kind=self._entity_types[table.name, column.name] if shown else None,
                    nulls=profile.nulls if profile else None,
                    distinct=profile.distinct if profile else None,
                    why="; ".join(filter(None, (plan.why, notes.get((table.name, column.name))))),
                )
            )
        return records
