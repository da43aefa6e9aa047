"""Tables become a split: columns planned, values numbered, rows read as facts, and everything accounted for."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.quality import warn_of_near_names
from relatum.data.row_store import EMPTY, Dependency, RowStore, RowTable, TableReference, TableSchema
from relatum.data.row_store import Parts as CellParts
from relatum.data.splitting import Parts, hold_out
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.errors import DataError, RelatumWarning
from relatum.files import sha256_of
from relatum.progress import progress
from relatum.tables.cells import NumberedTable, cut_on_train, number_cells, planned_columns, read_labels
from relatum.tables.columns import ColumnPlan, labels_of, plan_columns
from relatum.tables.engine import Workspace
from relatum.tables.facts import HeldOutCells, TableFacts, facts_of, one_part_per_fact, relations_of, split_of
from relatum.tables.keys import find_codes, with_composite_key, with_found_key
from relatum.tables.links import LinkOffer, link_offers, missing_targets
from relatum.tables.open import open_sources, require_libraries
from relatum.tables.options import Choices, ColumnRef, EntityTypes, ImportOptions, full_name
from relatum.tables.shapes import MOST_ROLES, NO_SHAPE, TableShape, find_dependencies, shape_of
from relatum.tables.source import Source, SourceTable
from relatum.tables.staging import Staged, distinct_together, stage
from relatum.tables.stored import losses, read_values
from relatum.tables.summary import ColumnRecord, Imported, TableRecord, unread_table
from relatum.tables.time_split import latest, latest_of_each, parts_by_time, read_times, times_through
from relatum.tables.values import null_hint, null_like


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


@dataclass(kw_only=True)
class _Table(NumberedTable):
    """A table on its way to facts; what is known only later is filled in then."""

    plans: dict[str, ColumnPlan]  # what becomes of each column
    types: dict[str, str | None]  # what the entities of each are called, if anything
    labels: tuple[str, ...]  # the columns of what its rows are called
    dependencies: tuple[Dependency, ...] = ()  # which columns determine which
    shape: TableShape = NO_SHAPE  # what its rows become
    facts: list[TableFacts] = field(default_factory=list)  # the relations that it gives
    # int8[columns, rows], in which part of the split each cell is
    parts: CellParts = field(default_factory=lambda: np.zeros((0, 0), np.int8))

    @property
    def table(self) -> SourceTable:
        return self.staged.table

    @property
    def name(self) -> str:
        return self.table.name

    def column(self, name: str) -> Ids:
        """Return the cells of a column; all are empty if it did not become entities."""
        index = next((index for index, one in enumerate(self.columns) if one.name == name), None)
        return np.full(self.staged.rows, EMPTY, np.int32) if index is None else self.cells[index]

    def find_dependencies(self, seed: int) -> None:
        """Note which columns determine which, as the rows show."""
        if not self.table.is_facts:
            own = [index for index, one in enumerate(self.columns) if one.part_of is None]
            self.dependencies = find_dependencies(self.cells[own], [self.columns[index].name for index in own], seed)

    def schema(self, links: Mapping[ColumnRef, ColumnRef | str]) -> TableSchema:
        """Return what is known about it."""
        where = {column: (one.schema.name, at) for one in self.facts for at, column in enumerate(one.columns)}
        columns = []
        for one in self.columns:
            relation, position = where.get(one.name, (None, None))
            columns.append(replace(one, relation=relation, position=position))
        references = list(self.table.references)
        for (name, column), target in links.items():
            if name == self.name and isinstance(target, tuple):
                references.append(TableReference((column,), target[0], (target[1],)))
        nary = next((one.schema.name for one in self.facts if one.columns == self.shape.roles), None)
        return TableSchema(
            self.name,
            self.shape.shape,
            self.shape.why,
            tuple(columns),
            tuple(dict.fromkeys(key for key in (self.table.primary_key, *self.table.unique_keys) if key)),
            tuple(references),
            self.labels,
            self.dependencies,
            nary,
        )

    def record(self, counts: Mapping[str, int], distinct: Mapping[str, int]) -> TableRecord:
        """Return what became of its rows: `counts` gave facts of each relation, and `distinct` are these."""
        rows = self.staged.rows
        if not self.facts:
            return TableRecord(self.name, None, (), rows, 0, 0, 0, 0, self.why_no_facts())
        own = [index for index, one in enumerate(self.columns) if one.part_of is None]
        relations = tuple(one.schema.name for one in self.facts)
        several = next((one.schema.name for one in self.facts if one.columns == self.shape.roles), None)
        incomplete = repeated = 0
        if several is not None:
            incomplete, repeated = rows - counts[several], counts[several] - distinct[several]
        gaps, found = int(np.count_nonzero(self.cells[own] < 0)), sum(distinct[relation] for relation in relations)
        return TableRecord(self.name, self.shape.shape, relations, rows, gaps, incomplete, repeated, found, self.shape.why)

    def why_no_facts(self) -> str:
        """Return why it gives no relation."""
        if not self.staged.rows:
            return "no rows"
        if self.shape.shape == "entity":
            return "its rows are entities that no other column describes"
        if self.shape.roles:
            return "no row has a value in every column"
        return "fewer than two columns have values that make a fact"

    def column_records(self, notes: Mapping[ColumnRef, str], lost: Mapping[str, str]) -> Iterator[ColumnRecord]:
        """Yield what became of each of its columns."""
        for column in self.table.columns:
            name = column.name
            plan, profile = self.plans[name], self.staged.profiles.get(name)
            holding = [
                one.schema.name
                for one in self.facts
                if name in one.columns[1:] or (one.columns == self.shape.roles and name in one.columns)
            ]
            note = notes.get((self.name, name), "") if plan.is_taken else ""
            yield ColumnRecord(
                table=self.name,
                column=name,
                type=column.type or self.staged.types.get(name, "text").lower(),
                outcome=plan.outcome,
                kind=self.types[name] if plan.is_taken else None,
                relation=holding[0] if holding else None,
                nulls=profile.nulls if profile else None,
                distinct=profile.distinct if profile else None,
                why="; ".join(filter(None, (plan.why, self.shape.notes.get(name, ""), note))),
                lost=lost.get(name, ""),
            )


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

    def _plan(self, staged: Staged) -> _Table:
        table, options = staged.table, self._options
        labels: tuple[str, ...] = ()
        if not table.is_facts and table.name not in self._choices.columns:
            labels = labels_of(table, staged.profiles, lambda names: distinct_together(self._workspace, staged, names))
        seen = plan_columns(table, staged.profiles, self._choices, self._identity, options.keep_ids, labels)
        if not table.is_facts:
            seen = self._with_codes(staged, seen)
        either = seen | staged.unread
        plans = {column.name: either[column.name] for column in table.columns}
        types = {name: self._identity.types[table.name, name] if self._has_type(table, name) else None for name in plans}
        return _Table(
            staged=staged,
            columns=planned_columns(self._workspace, staged, plans, types) if staged.rows else [],
            groups={name: plan.bins for name, plan in plans.items()},
            plans=plans,
            types=types,
            labels=tuple(name for name in labels if plans[name].outcome == "label"),
        )

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
        names = number_cells(self._workspace, self._planned, self._choices.null_is_value)
        for each in self._planned:
            self._shape(each)
        self._require_relations()
        graph, counts = facts_of(names, [(one.facts, one.cells) for one in self._planned])
        with progress("arranging facts", 3) as advance:
            distinct = graph.distinct()
            advance(1)
            split = self._split(distinct, names)
            advance(1)
            self._part(split, names)
            del graph, distinct
            names, split = self._cut_on_train(names, split)
            store = self._rows(names)
            advance(1)
        checksums = {
            location: sha256_of(Path(location)) if Path(location).is_file() else None for location in self._locations
        }
        looked = {one.name: one for one in self._planned}
        sizes = {one.name: sum(len(part.table(one.name)) for part in split.parts.values()) for one in split.schema}
        records = [looked[name].record(counts, sizes) if name in looked else unread_table(name) for name in self._sources]
        notes = self._notes()
        values = store.values if store is not None else {}
        lost = {
            one.name: losses(self._sources[one.name][0], one.staged, values[one.name])
            for one in self._planned
            if one.name in values
        }
        columns = [record for one in self._planned for record in one.column_records(notes, lost.get(one.name, {}))]
        whole, near_names = replace(split, rows=store), warn_of_near_names(split)
        return Imported(whole, tuple(records), tuple(columns), checksums, self._options, tuple(self.offers), near_names)

    def _shape(self, one: _Table) -> None:
        """Find what the rows of a table become, and the relations that they give."""
        table, choices = one.table, self._choices
        one.find_dependencies(self._options.seed)
        shape = shape_of(table, one.plans, one.staged.profiles, self._identity, choices, one.dependencies)
        least = 1 if table.is_facts or table.name in choices.columns else 2
        if len(shape.roles) < least or not one.staged.rows:
            shape = replace(shape, roles=(), about=shape.about if one.staged.rows else ())
        if len(shape.roles) > MOST_ROLES and not table.is_facts:
            warnings.warn(
                f"{table.name}: a relation of {len(shape.roles)} roles trains slowly and mixes what does not belong"
                f" together; choose up to {MOST_ROLES} with --columns {table.name}=...",
                RelatumWarning,
                stacklevel=2,
            )
        relation = choices.relations.get(table.name, table.name)
        facts = relations_of(relation, shape, one.columns, choices.null_is_value, table.is_positional)
        one.shape, one.facts = shape, [each for each in facts if each.whole(one.cells).any()]

    def _require_relations(self) -> None:
        """Refuse tables that give no relation at all, or two of one name."""
        if not any(one.facts for one in self._planned):
            reasons = "; ".join(f"{one.name}: {one.why_no_facts()}" for one in self._planned[:3])
            raise DataError(
                "no-relations", f"no table gives a relation ({reasons})", remedy="keep columns that were left out"
            )
        seen: dict[str, str] = {}
        for one in self._planned:
            for facts in one.facts:
                if (other := seen.setdefault(facts.schema.name, one.name)) != one.name:
                    raise DataError(
                        "two-tables-one-relation",
                        f"tables {other!r} and {one.name!r} both give a relation {facts.schema.name!r}",
                        remedy="call one of them otherwise with --relation",
                    )

    def _parts_by_time(self, distinct: Hypergraph, names: Vocabulary) -> Parts:
        """Return in which part facts are by the time of their rows: those of a table, and of tables that refer to it."""
        table, column = self._choices.time or ("", "")
        dated = next((one for one in self._planned if one.name == table), None)
        if dated is None or column not in dated.staged.view_columns:
            raise DataError("bad-time-column", f"column {column!r} of table {table!r} is not read", place="time")
        moments, groups, at = read_times(self._workspace, dated.staged, column), self._groups(dated), self._planned.index
        own = None if groups is None else latest_of_each(moments, groups, self._options.valid, self._options.test)
        times, parts = {at(dated): moments}, {} if own is None else {at(dated): own}
        key = dated.table.primary_key
        for number, one in enumerate(self._planned):
            for reference in one.table.references:
                if one is not dated and reference.table == table and reference.targets == key and len(key) == 1:
                    through = one.column(reference.columns[0]), dated.column(key[0])
                    times[number] = times_through(*through, moments)
                    if own is not None:
                        theirs = times_through(*through, own.astype(np.float64))
                        parts[number] = np.nan_to_num(theirs, nan=-1).astype(np.int32)
        if not parts:
            parts = dict(zip(times, latest(list(times.values()), self._options.valid, self._options.test), strict=True))
        return parts_by_time(distinct, names, [(one.facts, one.cells) for one in self._planned], times, parts)

    def _groups(self, dated: _Table) -> Ids | None:
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

    def _split(self, distinct: Hypergraph, names: Vocabulary) -> Split:
        wanted = self._options
        settled = None if self._choices.time is None else self._parts_by_time(distinct, names)
        source = " ".join(self._locations)
        split = hold_out(distinct, wanted.valid, wanted.test, wanted.split, wanted.seed, source, settled)
        types = {facts.schema.name: facts.column_types for one in self._planned for facts in one.facts}
        return replace(split, column_types=types)

    def _part(self, split: Split, names: Vocabulary) -> None:
        """Find in which part of the split each cell is."""
        held_out, shares = HeldOutCells(split, names), (self._options.valid, self._options.test)
        for number, one in enumerate(self._planned):
            if one.table.is_facts and not self._has_bins:
                one.parts = np.zeros(one.cells.shape, np.int8)  # it has no rows that are kept
                continue
            rng = np.random.default_rng([self._options.seed, number])
            one.parts = held_out.parts_of(one.facts, one.columns, one.cells, one.table.primary_key, shares, rng)

    @property
    def _has_bins(self) -> bool:
        return any(column.bins is not None for one in self._planned for column in one.columns)

    def _cut_on_train(self, names: Vocabulary, split: Split) -> tuple[Vocabulary, Split]:
        """Cut groups of values by train alone, now that it is known; return the names and facts that follow."""
        if not self._has_bins:
            return names, split
        seen = []
        for one in self._planned:
            mask = (one.parts == 0) & (one.cells >= 0)
            for facts in one.facts:
                if not facts.is_about_rows:  # a row that gives no fact would give a group that train does not know
                    mask[facts.indices] &= facts.whole(one.cells)
            seen.append(mask)
        before = [one.columns for one in self._planned]
        names = cut_on_train(self._workspace, names, self._planned, seen)
        for one, columns in zip(self._planned, before, strict=True):
            if one.columns != columns:
                one.find_dependencies(self._options.seed)
            one.parts = one_part_per_fact(one.facts, one.cells, one.parts)
        cut = split_of(names, [(one.facts, one.cells, one.parts) for one in self._planned], split.source)
        return names, replace(cut, column_types=split.column_types)

    def _rows(self, names: Vocabulary) -> RowStore | None:
        """Return the rows of the tables, with their gaps; None if there are only facts."""
        tables = {}
        for one in self._planned:
            if one.columns and not one.table.is_facts:
                labels = read_labels(self._workspace, one.staged, one.labels) if one.labels else None
                tables[one.name] = RowTable(one.schema(self._choices.links), one.cells, one.parts, labels)
        options = self._options.to_dict()
        if self._choices.time is not None:
            options["time"] = full_name(self._choices.time)  # whose table is known even if the column is left out
        if not tables:
            return None
        kept = (one for one in self._planned if not one.table.is_facts and one.staged.view_columns)
        values = {one.name: read_values(self._workspace, self._sources[one.name][0], one.staged) for one in kept}
        return RowStore(names, tables, options, tuple(self._locations), values=values)

    def _notes(self) -> dict[ColumnRef, str]:
        """Return what else there is to say about columns: values without a target, and texts that may stand for none."""
        notes = missing_targets(self._workspace, [one.staged for one in self._planned], self._identity)
        for each in (one.staged for one in self._planned):
            ids = {column: name for name, column in each.view_columns.items()}
            for column, texts in null_like(self._workspace, each.view, list(ids), each.table.name).items():
                ref = each.table.name, ids[column]
                notes[ref] = "; ".join(filter(None, (notes.get(ref), null_hint(texts))))
        return notes
