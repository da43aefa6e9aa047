"""What a model can be fitted to, as a split: a dataset, a file, a database, frames, or facts in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.row_store import RowStore
from relatum.data.schema import Schema
from relatum.datasets.file_types import holds_tables
from relatum.datasets.load import load
from relatum.tables import Imported, read
from relatum.tables.more_rows import facts_of_rows, read_more_rows

__all__ = ["facts_of", "more_facts"]


def facts_of(data: Any, *, use_cache: bool = True) -> Split:
    """Return the facts that `fit` takes, as a split: by name or path, from tables, from memory."""
    if isinstance(data, Split):
        return data
    if isinstance(data, Imported):
        return data.split
    if isinstance(data, Hypergraph):
        return _all_train(data)
    if isinstance(data, str | os.PathLike):
        return read(data).split if holds_tables(data) else load(data, use_cache=use_cache)
    if isinstance(data, Iterable) and not hasattr(data, "columns") and not isinstance(data, Mapping):
        facts = list(data)
        if facts and all(isinstance(one, tuple) and all(isinstance(name, str) for name in one) for one in facts):
            return _all_train(Hypergraph.of(facts))
        return read(facts).split
    return read(data).split


def more_facts(data: Any, rows: RowStore | None, schema: Schema) -> Split:
    """Return facts for a run: those of tables are read as its own were, in the same columns and groups."""
    if rows is None or not (isinstance(data, str | os.PathLike) and holds_tables(data)):
        return facts_of(data, use_cache=False)
    return facts_of_rows(read_more_rows(data, rows), schema)


def _all_train(graph: Hypergraph) -> Split:
    empty = Hypergraph(graph.entities, graph.schema, ())
    return Split(graph, empty, empty, source="memory")
