"""From tables to a split: which tables and columns, which entities, which facts, which part."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from relatum.data.column_types import Domain
from relatum.data.hypergraph import Hypergraph
from relatum.data.schema import RelationSchema, Schema
from relatum.data.splitting import hold_out
from relatum.data.vocabulary import Ids
from relatum.errors import DataError
from relatum.files import sha256_of
from relatum.progress import progress
from relatum.tables.choices import Choices, Place
from relatum.tables.dangling import dangling
from relatum.tables.engine import Workspace
from relatum.tables.foreign_keys import Identity
from relatum.tables.numbering import Role, number_entities, read_facts, roles_of
from relatum.tables.opening import open_sources
from relatum.tables.options import ImportOptions
from relatum.tables.source import SourceTable
from relatum.tables.staging import Staged, stage
from relatum.tables.summary import ColumnRecord, Imported, TableRecord
from relatum.tables.treatment import Treatment

__all__ = ["read"]

_LEAST_ROLES = 2  # of a relation that nobody asked for


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
    with Workspace() as workspace, open_sources(source, workspace, chosen.relation_key) as sources:
        tables = {name: table for name, (_, table) in sources.items()}
        if not tables:
            raise DataError("there are no tables to import")
        choices = Choices(tables, chosen)
        identity = Identity(tables, choices)
        origins = list(dict.fromkeys(each.origin for each, _ in sources.values()))
        staged = [
            stage(workspace, *sources[name], number, choices, identity, chosen.keep_ids)
            for number, name in enumerate(choices.tables)
        ]
        return _Assembly(workspace, staged, choices, identity, chosen).finish(tables, origins)


class _Assembly:
    """The staged tables of one import on their way to a split."""

    def __init__(
        self, workspace: Workspace, staged: list[Staged], choices: Choices, identity: Identity, options: ImportOptions
    ) -> None:
        self._workspace, self._staged, self._choices = workspace, staged, choices
        self._identity, self._kinds, self._options = identity, identity.kinds, options
        self._null_is_value = options.null == "value"

    def finish(self, tables: dict[str, SourceTable], origins: list[str]) -> Imported:
        """Return the import."""
        related = [(number, each) for number, each in enumerate(self._staged) if not self._why_not(each)]
        if not related:
            reasons = "; ".join(f"{each.table.name}: {self._why_not(each)}" for each in self._staged[:3])
            raise DataError(f"no table gives a relation ({reasons}); --keep takes columns that are left out")
        schema, names = self._schema([each for _, each in related])
        roles = [(each, self._roles(each, number)) for number, each in related]
        entities = number_entities(self._workspace, roles, self._null_is_value)
        blocks, read = self._blocks(schema, roles, names)
        with progress("arranging facts", 3) as advance:
            graph = Hypergraph.sort(entities, schema, blocks)
            if not len(graph):
                raise DataError("no row has a value in every column that is taken (--drop leaves out, --null value keeps)")
            advance(1)
            distinct = graph.distinct()
            advance(1)
            facts = {each.table.name: len(distinct.table(names[each.table.name])) for each, _ in roles}
            wanted = self._options
            split = hold_out(distinct, wanted.valid, wanted.test, wanted.split, wanted.seed, " ".join(origins))
            split = replace(split, domains={names[each.table.name]: self._domains(each) for _, each in related})
            advance(1)
        looked = {each.table.name: each for each in self._staged}
        records = [
            self._table_record(name, looked.get(name), names.get(name), read.get(name, 0), facts.get(name, 0))
            for name in tables
        ]
        notes = dangling(self._workspace, looked, self._identity)
        columns = [record for each in self._staged for record in self._column_records(each, notes)]
        checksums = {origin: sha256_of(Path(origin)) if Path(origin).is_file() else None for origin in origins}
        return Imported(split, tuple(records), tuple(columns), checksums, self._options)

    def _why_not(self, staged: Staged) -> str:
        """Return why a table gives no relation, or nothing if it does."""
        taken = staged.taken()
        if not staged.rows:
            return "no rows"
        asked = staged.table.name in self._choices.columns or staged.table.is_facts
        if len(taken) < (1 if asked else _LEAST_ROLES):
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
        kinds = {
            column.name: self._kinds[table.name, column.name]
            for column in table.columns
            if self._has_kind(table, column.name)
        }
        return roles_of(self._workspace, staged, kinds, self._choices.columns.get(table.name), number)

    def _domains(self, staged: Staged) -> tuple[Domain, ...]:
        """Return what the entities of a relation's positions are, by which they can be turned back into values."""
        table, found = staged.table, []
        for name in staged.taken(self._choices.columns.get(table.name)):
            kind = self._kinds[table.name, name] if self._has_kind(table, name) else None
            found.append(Domain(kind, staged.form(name), self._null_is_value))
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

    def _column_records(self, staged: Staged, notes: dict[Place, str]) -> list[ColumnRecord]:
        table, unused = staged.table, Treatment("left out", "its table gives no relation")
        records = []
        for column in table.columns:
            treatment, profile = staged.treatments[column.name], staged.profiles.get(column.name)
            if treatment.is_taken and self._why_not(staged):
                treatment = unused
            shown = treatment.is_taken and self._has_kind(table, column.name)
            records.append(
                ColumnRecord(
                    table=table.name,
                    column=column.name,
                    type=column.type or staged.types.get(column.name, "text").lower(),
                    outcome=treatment.outcome,
                    kind=self._kinds[table.name, column.name] if shown else None,
                    nulls=profile.nulls if profile else None,
                    distinct=profile.distinct if profile else None,
                    why="; ".join(filter(None, (treatment.why, notes.get((table.name, column.name))))),
                )
            )
        return records
