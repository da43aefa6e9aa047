"""Rows of the same tables read again, today's or new ones: in the same columns and groups as at the import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.row_store import RowStore, RowTable, TableSchema
from relatum.data.schema import RelationSchema, Schema
from relatum.data.vocabulary import Vocabulary
from relatum.errors import DataError
from relatum.tables.cells import known_columns, number_cells, read_labels
from relatum.tables.engine import Workspace
from relatum.tables.facts import HeldOutCells, TableFacts, facts_of
from relatum.tables.open import open_sources
from relatum.tables.options import Choices, ImportOptions
from relatum.tables.staging import stage

__all__ = ["added_rows", "facts_of_rows", "joined_rows", "read_more_rows"]


def read_more_rows(source: Any, like: RowStore, tables: Sequence[str] = ()) -> RowStore:
    """Return the rows of tables that an import knows, over its names and those that are new.

    Args:
        source: what `read` takes.
        like: the rows of the import.
        tables: those that are wanted; by default all that are there.
    """
    options = ImportOptions.of(like.options)
    with Workspace() as workspace, open_sources(source, workspace, options) as sources:
        wanted = [name for name in tables or like.tables if name in sources and like[name] is not None]
        if not wanted:
            known = ", ".join(like.tables)
            raise DataError(f"none of the imported tables is there: {known}; give files and tables the names that they had")
        choices = Choices({name: sources[name][1] for name in wanted}, ImportOptions(tables=wanted))
        found, labels = [], {}
        for number, name in enumerate(wanted):
            staged = stage(workspace, *sources[name], number, choices)
            schema = like[name].schema
            columns = known_columns(staged, schema, plain=options.plain, null_is_value=options.null == "value")
            found.append((staged, columns))
            there = [one for one in schema.label if one in staged.view_columns]
            labels[name] = read_labels(workspace, staged, there) if there else None
        names, cells = number_cells(workspace, found)
        locations = tuple(dict.fromkeys(each.location for each, _ in sources.values()))
    every = like.names if set(names) <= set(like.names) else Vocabulary(sorted({*like.names, *names}))
    rows = {
        name: RowTable(like[name].schema, each, np.zeros(each.shape, np.int8), labels[name])
        for name, each in zip(wanted, cells, strict=True)
    }
    return replace(RowStore(names, rows).with_names(every), options=like.options, sources=locations)


def added_rows(old: RowStore, new: RowStore) -> RowStore:
    """Return the rows of an import behind those of some tables that were read since, over the names of the latter.

    The new ones come first, so that they keep their numbers. An old row that is among them, by its key or, where there is
    none, by all of its cells, is left out: it counts once, as it is now.
    """
    kept = old.with_names(new.names)
    tables = {name: _behind(table, kept[name]) for name, table in new.tables.items()}
    return replace(new, tables={**kept.tables, **tables})


def _behind(new: RowTable, old: RowTable) -> RowTable:
    """Return the rows of a table followed by those of an older state of it that are not among them."""
    schema = new.schema
    key = next((one for one in schema.keys if all(map(schema.has, one))), tuple(one.name for one in schema.columns))
    indexes = [schema.index(name) for name in key]
    identities = np.concatenate([new.cells[indexes], old.cells[indexes]], axis=1)
    _, groups = np.unique(identities, axis=1, return_inverse=True)
    groups = groups.reshape(-1)
    rest = np.flatnonzero(~np.isin(groups[len(new) :], groups[: len(new)]))
    labels = None
    if new.labels is not None or old.labels is not None:
        known = old.labels or ("",) * len(old)
        labels = (*(new.labels or ("",) * len(new)), *(known[row] for row in rest.tolist()))
    cells = np.concatenate([new.cells, old.cells[:, rest]], axis=1)
    return RowTable(schema, cells, np.concatenate([new.parts, old.parts[:, rest]], axis=1), labels)


def facts_of_rows(rows: RowStore, schema: Schema) -> Split:
    """Return the facts in rows, all of them as train: of the relations of a schema that their tables gave."""
    tables = [(_relations(table.schema, schema), table.schema.columns, table.cells) for table in rows.tables.values()]
    graph, _ = facts_of(rows.names, tables)
    distinct = graph.distinct()
    nothing = Hypergraph(distinct.entities, distinct.schema, ())
    return Split(distinct, nothing, nothing, source=" ".join(rows.sources), rows=rows)


def joined_rows(old: RowStore, new: RowStore, split: Split) -> RowStore:
    """Return the rows of an import with those of some tables that were read since; a cell of a held-out fact is held out."""
    names = new.names if set(old.names) <= set(new.names) else Vocabulary(sorted({*old.names, *new.names}))
    kept, read = old.with_names(names), new.with_names(names)
    tables, held_out = dict(kept.tables), HeldOutCells(split, names)
    for name, table in read.tables.items():
        facts = _relations(table.schema, split.schema)
        key = table.schema.keys[0] if table.schema.keys else ()
        parts = held_out.parts_of(facts, table.schema.columns, table.cells, key, (0.0, 0.0), np.random.default_rng(0))
        tables[name] = _behind(replace(table, parts=parts), kept[name])
    return replace(kept, tables=tables, sources=new.sources)


def _relations(table: TableSchema, schema: Schema) -> list[TableFacts]:
    """Return the relations that a table gives."""
    by_relation: dict[str, dict[int, str]] = {}
    for column in table.columns:
        if column.relation is not None and column.position is not None and column.relation in schema:
            by_relation.setdefault(column.relation, {})[column.position] = column.name
    found = []
    for relation, columns in by_relation.items():
        if relation != table.relation and table.row_key is not None:
            columns[0] = table.row_key
        roles = tuple(columns[position] for position in sorted(columns))
        if len(roles) == schema[relation].arity:
            own = RelationSchema(relation, len(roles), schema[relation].roles)
            found.append(TableFacts(own, roles, (), is_about_rows=relation != table.relation))
    return found
