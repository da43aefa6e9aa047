"""Tables become a split: columns planned, values numbered, rows read as facts, and everything accounted for."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.row_store import EMPTY, Dependency, RowStore, RowTable, TableColumn, TableReference, TableSchema
from relatum.data.row_store import Parts as CellParts
from relatum.data.splitting import Parts, hold_out
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.errors import DataError, RelatumWarning
from relatum.files import sha256_of
from relatum.progress import progress
from relatum.tables.cells import CellColumn, NumberedTable, cell_columns, cut_on_train, number_cells, read_labels
from relatum.tables.codes import find_codes
from relatum.tables.columns import ColumnPlan, labels_of, plan_columns
from relatum.tables.engine import Workspace
from relatum.tables.facts import HeldOutCells, TableFacts, facts_of, one_part_per_fact, relations_of, split_of
from relatum.tables.keys import LinkOffer, link_offers, missing_targets, with_composite_key, with_found_key
from relatum.tables.open import open_sources, require_libraries
from relatum.tables.options import Choices, EntityTypes, ImportOptions, full_name
from relatum.tables.shapes import MOST_ROLES, TableShape, find_dependencies, shape_of
from relatum.tables.source import Source, SourceTable
from relatum.tables.staging import Staged, distinct_together, stage
from relatum.tables.summary import Imported, TableRecord, column_records, table_record
from relatum.tables.time_split import latest, latest_of_each, parts_by_time, read_times, times_through
from relatum.tables.values import null_hint, null_like
from relatum.tables.vector_files import VectorRecord, read_vectors


def read(source: Any, **options: Any) -> Imported:
    """Return the facts in tables, split into train, valid and test, with a record of what became of every column and row.

    Foreign keys are followed: a column holds the entities of the column that it refers to, and an entity's name begins with
    what it is, as in `items:17`. A table whose key others refer to describes entities: each of its columns is a relation,
    `items.category(id, category)`. A table of events or links is a relation of its own, `sold(item, buyer)`. Rows are kept
    beside the facts, with their gaps.

    Args:
        source: the path of a CSV, TSV, Excel, Parquet, JSON lines, SQLite or DuckDB file, a postgresql:// or mysql:// URL,
            or a frame of pandas, polars or Arrow; several of these in a list, or tables by name in a mapping.
        **options: the fields of `ImportOptions`.
    """
    chosen = ImportOptions.of(options)
    require_libraries(source)
    with Workspace() as workspace, open_sources(source, workspace, chosen) as sources:
        if not sources:
            raise DataError("no-tables", "there are no tables to import")
        return _Import(workspace, sources, chosen).finish()


@dataclass(frozen=True)
class _Planned:
    """A table with what becomes of it."""

    staged: Staged
    plans: dict[str, ColumnPlan]
    types: dict[str, str | None]
    columns: list[CellColumn]
    labels: tuple[str, ...]


@dataclass(frozen=True)
class _Shaped:
    """A planned table with its cells, and what its rows become."""

    planned: _Planned
    cells: Ids
    dependencies: tuple[Dependency, ...]
    shape: TableShape
    facts: list[TableFacts]

    @property
    def name(self) -> str:
        return self.planned.staged.table.name

    def column(self, name: str) -> Ids:
        """Return the cells of a column; all are empty if it did not become entities."""
        for one, cells in zip(self.planned.columns, self.cells, strict=True):
            if one.name == name:
                found: Ids = cells
                return found
        return np.full(self.planned.staged.rows, EMPTY, np.int32)

    def record(self, counts: Mapping[str, int], distinct: Mapping[str, int]) -> TableRecord:
        """Return what became of its rows."""
        planned = self.planned
        return table_record(self.name, planned.staged, self.shape, self.facts, planned.columns, self.cells, counts, distinct)


class _Import:
    """The tables of one import on their way to a split."""

    def __init__(
        self, workspace: Workspace, sources: Mapping[str, tuple[Source, SourceTable]], options: ImportOptions
    ) -> None:
        self._workspace, self._sources, self._options = workspace, sources, options
        self._locations = list(dict.fromkeys(source.location for source, _ in sources.values()))
        tables = {name: table for name, (_, table) in sources.items()}
        self._choices = Choices(tables, options)
        EntityTypes(tables, self._choices)  # refuses foreign keys that lead nowhere before anything is read
        staged = [self._stage(number, name) for number, name in enumerate(self._choices.tables)]
        self._tables = {**tables, **{one.table.name: one.table for one in staged}}
        self._identity = EntityTypes(self._tables, self._choices)
        self.offers = self._link(staged)
        self._planned = [self._plan(one) for one in staged]

    def _stage(self, number: int, name: str) -> Staged:
        """Return a table brought into the workspace, with a key that is declared or found, if there is any."""
        staged = stage(self._workspace, *self._sources[name], number, self._choices)
        staged = with_found_key(staged, self._choices.links, self._choices.keep)
        if name in self._choices.columns:
            return staged
        return with_composite_key(self._workspace, staged, self._choices.links)

    def _link(self, staged: list[Staged]) -> list[LinkOffer]:
        """Return which columns could be linked; by option those that surely can be are, and are no offers any more."""
        if self._options.plain:
            return []
        offers = link_offers(self._workspace, [one for one in staged if not one.table.is_facts], self._identity)
        if not self._options.auto_links:
            return offers
        sure = [offer for offer in offers if offer.is_sure]
        self._choices.links.update({offer.column: offer.target for offer in sure})
        self._identity = EntityTypes(self._tables, self._choices)
        return [offer for offer in offers if offer not in sure]

    def _plan(self, staged: Staged) -> _Planned:
        table, options = staged.table, self._options
        labels: tuple[str, ...] = ()
        if not table.is_facts and table.name not in self._choices.columns:
            labels = labels_of(table, staged.profiles, lambda names: distinct_together(self._workspace, staged, names))
        seen = plan_columns(table, staged.profiles, self._choices, self._identity, options.keep_ids, labels)
        if not table.is_facts:
            seen = self._with_codes(staged, seen)
        either = seen | staged.unread
        plans = {column.name: either[column.name] for column in table.columns}
        types = {
            column.name: self._identity.types[table.name, column.name] if self._has_type(table, column.name) else None
            for column in table.columns
        }
        prefixes = {name: f"{kind}:" if kind is not None else "" for name, kind in types.items()}
        columns = cell_columns(self._workspace, staged, plans, prefixes, self._choices.null_is_value) if staged.rows else []
        called = tuple(name for name in labels if plans[name].outcome == "label")
        return _Planned(staged, plans, types, columns, called)

    def _with_codes(self, staged: Staged, plans: dict[str, ColumnPlan]) -> dict[str, ColumnPlan]:
        """Return what becomes of columns, with numbers that are codes as entities instead of groups."""
        taken = [name for name, plan in plans.items() if plan.is_taken and plan.outcome != "key"]
        ordered = [name for name in taken if plans[name].bins and (staged.table.name, name) not in self._choices.bins]
        codes = find_codes(self._workspace, staged, ordered, taken)
        return {
            name: ColumnPlan("entities", f"{codes[name]}; --bins takes it in groups") if name in codes else plan
            for name, plan in plans.items()
        }

    def _has_type(self, table: SourceTable, column: str) -> bool:
        """Return whether the names of a column's entities begin with their type: by default, or by a link."""
        return not (self._options.plain or table.is_facts) or (table.name, column) in self._choices.links

    def finish(self) -> Imported:
        """Return the import."""
        names, cells = number_cells(self._workspace, [(one.staged, one.columns) for one in self._planned])
        shaped = [self._shape(one, each) for one, each in zip(self._planned, cells, strict=True)]
        self._require_relations(shaped)
        graph, counts = facts_of(names, [(one.facts, one.planned.columns, one.cells) for one in shaped])
        with progress("arranging facts", 3) as advance:
            distinct = graph.distinct()
            advance(1)
            split = self._split(distinct, names, shaped)
            advance(1)
            parts = self._parts(split, names, shaped)
            del graph, distinct
            names, shaped, parts, split = self._cut_on_train(names, shaped, parts, split)
            store = self._rows(names, shaped, parts)
            advance(1)
        vectors: tuple[VectorRecord, ...] = ()
        if self._options.vectors:
            if store is None:
                raise DataError("bad-vectors", "there are no rows of tables that they could be of", place="vectors")
            store, vectors = read_vectors(self._options.vectors, store, plain=self._options.plain)
        checksums = {
            location: sha256_of(Path(location)) if Path(location).is_file() else None for location in self._locations
        }
        looked = {one.name: one for one in shaped}
        sizes = {one.name: sum(len(part.table(one.name)) for part in split.parts.values()) for one in split.schema}
        records = [looked[name].record(counts, sizes) if name in looked else table_record(name) for name in self._sources]
        notes = missing_targets(self._workspace, {one.name: one.planned.staged for one in shaped}, self._identity)
        for each in (one.planned.staged for one in shaped):
            ids = {column: name for name, column in each.view_columns.items()}
            for column, texts in null_like(self._workspace, each.view, list(ids), each.table.name).items():
                ref = each.table.name, ids[column]
                notes[ref] = "; ".join(filter(None, (notes.get(ref), null_hint(texts))))
        columns = [
            record
            for one in shaped
            for record in column_records(
                one.planned.staged, one.planned.plans, one.planned.types, one.shape, one.facts, notes
            )
        ]
        return Imported(
            replace(split, rows=store), tuple(records), tuple(columns), checksums, self._options, tuple(self.offers), vectors
        )

    def _shape(self, planned: _Planned, cells: Ids) -> _Shaped:
        table = planned.staged.table
        dependencies = self._dependencies(planned, cells)
        shape = shape_of(table, planned.plans, planned.staged.profiles, self._identity, self._choices, dependencies)
        relation = self._choices.relations.get(table.name, table.name)
        least = 1 if table.is_facts or table.name in self._choices.columns else 2
        if len(shape.roles) < least or not planned.staged.rows:
            shape = replace(shape, roles=(), about=shape.about if planned.staged.rows else ())
        facts = relations_of(
            relation, shape, planned.columns, planned.types, self._choices.null_is_value, table.is_positional
        )
        if len(shape.roles) > MOST_ROLES and not table.is_facts:
            warnings.warn(
                f"{table.name}: a relation of {len(shape.roles)} roles trains slowly and mixes what does not belong"
                f" together; choose up to {MOST_ROLES} with --columns {table.name}=...",
                RelatumWarning,
                stacklevel=2,
            )
        facts = [one for one in facts if (cells[one.indices(planned.columns)] >= 0).all(axis=0).any()]
        return _Shaped(planned, cells, dependencies, shape, facts)

    def _require_relations(self, shaped: list[_Shaped]) -> None:
        """Refuse tables that give no relation at all, or two of one name."""
        if not any(one.facts for one in shaped):
            records = [table_record(one.name, one.planned.staged, one.shape) for one in shaped[:3]]
            reasons = "; ".join(f"{record.table}: {record.note}" for record in records)
            raise DataError(
                "no-relations", f"no table gives a relation ({reasons})", remedy="keep columns that were left out"
            )
        seen: dict[str, str] = {}
        for one in shaped:
            for facts in one.facts:
                if facts.schema.name in seen:
                    raise DataError(
                        "two-tables-one-relation",
                        f"tables {seen[facts.schema.name]!r} and {one.name!r} both give a relation {facts.schema.name!r}",
                        remedy="call one of them otherwise with --relation",
                    )
                seen[facts.schema.name] = one.name

    def _parts_by_time(self, distinct: Hypergraph, names: Vocabulary, shaped: list[_Shaped]) -> Parts:
        """Return in which part facts are by the time of their rows: those of a table, and of tables that refer to it."""
        table, column = self._choices.time or ("", "")
        dated = next((one for one in shaped if one.name == table), None)
        if dated is None or column not in dated.planned.staged.view_columns:
            raise DataError("bad-time-column", f"column {column!r} of table {table!r} is not read", place="time")
        moments = read_times(self._workspace, dated.planned.staged, column)
        times, groups = {shaped.index(dated): moments}, self._groups(dated)
        own = None if groups is None else latest_of_each(moments, groups, self._options.valid, self._options.test)
        parts = {} if own is None else {shaped.index(dated): own}
        key = dated.planned.staged.table.primary_key
        for number, one in enumerate(shaped):
            for reference in one.planned.staged.table.references:
                if one is not dated and reference.table == table and reference.targets == key and len(key) == 1:
                    through = one.column(reference.columns[0]), dated.column(key[0])
                    times[number] = times_through(*through, moments)
                    if own is not None:
                        parts[number] = np.nan_to_num(times_through(*through, own.astype(np.float64)), nan=-1).astype(
                            np.int32
                        )
        if not parts:
            parts = dict(zip(times, latest(list(times.values()), self._options.valid, self._options.test), strict=True))
        tables = [(one.facts, one.planned.columns, one.cells) for one in shaped]
        return parts_by_time(distinct, names, tables, times, parts)

    def _groups(self, dated: _Shaped) -> Ids | None:
        """Return whose the rows of the dated table are, of each of whom the last are held out; None for those of all."""
        if self._choices.time_per is None:
            return None
        table, column = self._choices.time_per
        groups = dated.column(column) if table == dated.name else np.empty(0, np.int32)
        if not (groups >= 0).any():
            raise DataError(
                "bad-time-column",
                f"{table}.{column} must be a column of entities of table {dated.name!r}, which has the times",
                place="time_per",
            )
        return groups

    def _split(self, distinct: Hypergraph, names: Vocabulary, shaped: list[_Shaped]) -> Split:
        wanted = self._options
        settled = None if self._choices.time is None else self._parts_by_time(distinct, names, shaped)
        source = " ".join(self._locations)
        split = hold_out(distinct, wanted.valid, wanted.test, wanted.split, wanted.seed, source, settled)
        return replace(split, column_types={facts.schema.name: facts.column_types for one in shaped for facts in one.facts})

    def _parts(self, split: Split, names: Vocabulary, shaped: list[_Shaped]) -> list[CellParts]:
        """Return in which part of the split each cell is, int8[columns, rows] for each table."""
        held_out, shares = HeldOutCells(split, names), (self._options.valid, self._options.test)
        found = []
        for number, one in enumerate(shaped):
            if one.planned.staged.table.is_facts and not self._has_bins:
                found.append(np.zeros(one.cells.shape, np.int8))  # it has no rows that are kept
                continue
            rng, key = np.random.default_rng([self._options.seed, number]), one.planned.staged.table.primary_key
            found.append(held_out.parts_of(one.facts, one.planned.columns, one.cells, key, shares, rng))
        return found

    @property
    def _has_bins(self) -> bool:
        return any(column.bins is not None for one in self._planned for column in one.columns)

    def _cut_on_train(
        self, names: Vocabulary, shaped: list[_Shaped], parts: list[CellParts], split: Split
    ) -> tuple[Vocabulary, list[_Shaped], list[CellParts], Split]:
        """Return all of it with groups of values that are cut by train alone; who is in train is known by now."""
        if not self._has_bins:
            return names, shaped, parts, split
        tables, seen = [], []
        for one, each in zip(shaped, parts, strict=True):
            groups = {name: plan.bins for name, plan in one.planned.plans.items()}
            tables.append(NumberedTable(one.planned.staged, one.planned.columns, one.cells, groups))
            mask = (each == 0) & (one.cells >= 0)
            for facts in one.facts:
                if not facts.is_about_rows:  # a row that gives no fact would give a group that train does not know
                    indices = facts.indices(one.planned.columns)
                    mask[indices] &= (one.cells[indices] >= 0).all(axis=0)
            seen.append(mask)
        names, cut = cut_on_train(self._workspace, names, tables, seen)
        found = []
        for one, table in zip(shaped, cut, strict=True):
            planned, dependencies = one.planned, one.dependencies
            if table.columns != planned.columns:
                planned = replace(planned, columns=table.columns)
                dependencies = self._dependencies(planned, table.cells)
            found.append(replace(one, planned=planned, cells=table.cells, dependencies=dependencies))
        parts = [
            one_part_per_fact(one.facts, one.planned.columns, one.cells, each)
            for one, each in zip(found, parts, strict=True)
        ]
        together = [(one.facts, one.planned.columns, one.cells, each) for one, each in zip(found, parts, strict=True)]
        cut_split = split_of(names, together, split.source)
        return names, found, parts, replace(cut_split, column_types=split.column_types)

    def _dependencies(self, planned: _Planned, cells: Ids) -> tuple[Dependency, ...]:
        if planned.staged.table.is_facts:
            return ()
        own = [index for index, one in enumerate(planned.columns) if one.part_of is None]
        return find_dependencies(cells[own], [planned.columns[index].name for index in own], self._options.seed)

    def _rows(self, names: Vocabulary, shaped: list[_Shaped], parts: list[CellParts]) -> RowStore | None:
        """Return the rows of the tables, with their gaps; None if there are only facts."""
        tables = {
            one.name: RowTable(self._schema_of(one), one.cells, each, self._labels(one.planned))
            for one, each in zip(shaped, parts, strict=True)
            if one.planned.columns and not one.planned.staged.table.is_facts
        }
        options = self._options.to_dict()
        if self._choices.time is not None:
            options["time"] = full_name(self._choices.time)  # whose table is known even if the column is left out
        return RowStore(names, tables, options, tuple(self._locations)) if tables else None

    def _schema_of(self, shaped: _Shaped) -> TableSchema:
        table, where = shaped.planned.staged.table, {}
        for facts in shaped.facts:
            where.update({name: (facts.schema.name, position) for position, name in enumerate(facts.columns)})
        columns = []
        for one in shaped.planned.columns:
            relation, position = where.get(one.name, (None, None))
            kind = shaped.planned.types[one.column] if one.part_of is None else one.name.rpartition(".")[2]
            columns.append(TableColumn(one.name, kind or "", one.value_type, relation, position, one.bins, one.part_of))
        references = list(table.references)
        for (name, column), target in self._choices.links.items():
            if name == table.name and isinstance(target, tuple):
                references.append(TableReference((column,), target[0], (target[1],)))
        nary = next((facts.schema.name for facts in shaped.facts if facts.columns == shaped.shape.roles), None)
        keys = [key for key in (table.primary_key, *table.unique_keys) if key]
        return TableSchema(
            table.name,
            shaped.shape.shape,
            shaped.shape.why,
            tuple(columns),
            tuple(dict.fromkeys(keys)),
            tuple(references),
            shaped.planned.labels,
            shaped.dependencies,
            nary,
        )

    def _labels(self, planned: _Planned) -> tuple[str, ...] | None:
        """Return what people call the rows."""
        return read_labels(self._workspace, planned.staged, planned.labels) if planned.labels else None
