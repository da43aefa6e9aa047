"""Values of the columns of a result: what stored rows hold of an entity, and the entity that a stored value is."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from relatum.arrays import Int64
from relatum.data.row_store import RowTable, TableColumn
from relatum.data.stored_values import StoredColumn, shown_value
from relatum.runs.shown_values import beside
from relatum.runs.trained import Trained
from relatum.sql.catalog import ShownColumn
from relatum.tables.values import restored, value_of

_SHOWN = str.maketrans({"\t": "␉", "\n": "␊", "\r": "␍", "\0": "␀"})  # as the names of entities have them


class SqlColumn:
    """A column of a result, between entities and values."""

    def __init__(self, run: Trained, shown: ShownColumn) -> None:
        self._run, self._shown = run, shown
        self._prefix = "" if shown.column_type is None else shown.column_type.prefix

    @property
    def is_exact(self) -> bool:
        """Whether a stored value tells which entity it is."""
        return self._shown.looked_up is None and (self._column is None or self._column.bins is None)

    def value(self, entity: int) -> Any:
        """Return the value of an entity: as a stored row has it; of a group of numbers or dates, the one in its middle."""
        name = self._run.entities[entity]
        if self._stored is not None and (self._shown.looked_up is not None or self.is_exact):
            row = self._rows.get(name)
            if row is not None:
                return self._stored.value(row)
        text, kind = self._run.shown_values.entity_shown(name)[0].removeprefix(self._prefix), self._shown.column_type
        if self._column is not None and self._column.bins is not None and self._column.value_type != "date":
            return value_of(text, "number")
        return restored(text) if kind is None else value_of(text, kind.value_type)

    def text(self, entity: int) -> str:
        """Return the value of an entity as people read it: with what it is called, or the interval of its group."""
        name, value = self._run.entities[entity], shown_value(self.value(entity))
        if self._shown.looked_up is not None:
            return value
        interval = self._run.shown_values.entity_shown(name)[1]
        return self.labelled(name, value) if interval is None else beside(value, interval)

    def labelled(self, name: str, value: str) -> str:
        """Return a value with what people call the entity that it is."""
        label = self._run.labels.of(name)
        return value if label is None or label == value else f"{label} ({value})"

    def name(self, value: Any) -> str | None:
        """Return the name of the entity that a stored value is, None where there is none."""
        if value is None or not self.is_exact:
            return None
        text = shown_value(value)
        if isinstance(value, Decimal) and "." in text:
            text = text.rstrip("0").rstrip(".")
        name = self._prefix + (text.translate(_SHOWN) if isinstance(value, str) else text)
        return name if name in self._run.entities else None

    @cached_property
    def _table(self) -> RowTable | None:
        rows, table = self._run.split.rows, self._shown.table
        return None if rows is None or table is None else rows.tables.get(table)

    @cached_property
    def _column(self) -> TableColumn | None:
        table = self._table
        if table is None or not table.schema.has(self._shown.column):
            return None
        return table.schema.column(self._shown.column)

    @cached_property
    def _stored(self) -> StoredColumn | None:
        rows, wanted = self._run.split.rows, self._shown.looked_up or self._shown.column
        values = None if rows is None or self._shown.table is None else rows.values.get(self._shown.table)
        return values[wanted] if values is not None and wanted in values else None

    @cached_property
    def _rows(self) -> dict[str, int]:
        """The first row that holds each entity."""
        rows, table = self._run.split.rows, self._table
        if rows is None or table is None or not table.schema.has(self._shown.column):
            return {}
        found, first = np.unique(table.column(self._shown.column), return_index=True)
        there: Int64 = np.flatnonzero(found >= 0)
        return {rows.names[int(found[one])]: int(first[one]) for one in there.tolist()}


def sql_columns(run: Trained, shown: Sequence[ShownColumn]) -> tuple[SqlColumn, ...]:
    """Return the columns of a result."""
    return tuple(SqlColumn(run, one) for one in shown)
