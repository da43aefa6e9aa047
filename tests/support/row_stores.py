"""Small stores of rows, written as columns of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relatum.data.row_store import EMPTY, RowStore, RowTable, TableColumn, TableReference, TableSchema
from relatum.data.vocabulary import Vocabulary

Columns = Mapping[str, Sequence[str | None]]


def store_of(
    tables: Mapping[str, Columns],
    *,
    keys: Mapping[str, Sequence[tuple[str, ...]]] | None = None,
    references: Mapping[str, Sequence[tuple[str, str, str]]] | None = None,
    whole: Sequence[str] = (),
    parts_of: Mapping[str, str] | None = None,
    hidden: Mapping[tuple[str, str], Mapping[int, int]] | None = None,
) -> RowStore:
    """Return a store; a reference is (column, table, target), `hidden` has the part of single cells.

    Values are named `type:text`; the type of a column that refers to another is that of the other.
    """
    keys, references, hidden = keys or {}, references or {}, hidden or {}

    def entity_type(table: str, column: str) -> str:
        for own, other, target in references.get(table, ()):
            if own == column and (other, target) != (table, column):
                return entity_type(other, target)
        return f"{table}.{column}"

    texts: dict[str, list[list[str | None]]] = {
        table: [
            [None if value is None else f"{entity_type(table, name)}:{value}" for value in values]
            for name, values in columns.items()
        ]
        for table, columns in tables.items()
    }
    names = Vocabulary(
        sorted({one for columns in texts.values() for column in columns for one in column if one is not None})
    )
    built: dict[str, RowTable] = {}
    for table, columns in tables.items():
        schema = TableSchema(
            table,
            "entity",
            "a test",
            tuple(
                TableColumn(name, entity_type(table, name), _type(name, whole), part_of=(parts_of or {}).get(name))
                for name in columns
            ),
            tuple(tuple(key) for key in keys.get(table, ())),
            tuple(TableReference((own,), other, (target,)) for own, other, target in references.get(table, ())),
        )
        cells = np.array([[EMPTY if one is None else names.id(one) for one in column] for column in texts[table]], np.int32)
        parts = np.zeros(cells.shape, np.int8)
        for (of, column), which in hidden.items():
            if of == table:
                for row, part in which.items():
                    parts[schema.index(column), row] = part
        built[table] = RowTable(schema, cells, parts)
    return RowStore(names, built)


def _type(name: str, whole: Sequence[str]) -> Any:
    return "whole" if name in whole else "text"


def id_of(store: RowStore, name: str) -> int:
    """Return the id of a value by its full name."""
    return store.names.id(name)
