"""The log of changes: a table in the database that was changed, one row for each cell."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from relatum.errors import DataError
from relatum.tables.engine import literal
from relatum.tables.table import Column, Database, Table, Value, free_name

LOG = "relatum_changes"  # what the table is called, unless chosen otherwise

_FORMS = {"batch": "whole", "number": "whole", "probability": "number"}  # all else is text
_NAMES = "batch number changed_at source table_name column_name row_key old_value new_value value_type probability reason"
_COLUMNS = {name: _FORMS.get(name, "text") for name in (*_NAMES.split(), "undone_at")}
_EMPTY = ("old_value", "undone_at")  # only cells that are NULL are changed, and none is undone at first


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """One cell that was written: what identifies its row, and its value as text, with the type that it has there."""

    table: str
    column: str
    row: Mapping[str, Value]
    new_value: str
    value_type: str
    probability: float = 0.0
    reason: str = ""
    number: int = 0  # in its batch


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """Changes of one transaction: when, from what, in which tables, how many cells, how many of them undone, and when."""

    batch: int
    changed_at: str
    source: str
    tables: tuple[str, ...]
    cells: int
    undone: int
    undone_at: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name."""
        return {**asdict(self), "tables": list(self.tables)}


class ChangeLog:
    """The log called `name` in an open database."""

    def __init__(self, database: Database, name: str) -> None:
        self._database, self._name = database, name

    def is_there(self) -> bool:
        """Return whether there is a log; another table of its name is refused."""
        columns = self._database.columns(self._name)
        if columns is None:
            return False
        if lacking := [column for column in _COLUMNS if column not in columns]:
            raise self._database.refusal(
                "not-a-change-log",
                f"table {self._name!r} is no log of changes: it lacks {', '.join(lacking)}",
                "choose another name for the log",
            )
        return True

    def batches(self) -> list[ChangeBatch]:
        """Return all batches in their order."""
        if not self.is_there():
            return []
        rows = self._database.ask(
            "SELECT batch, table_name, min(changed_at), min(source), count(*), count(undone_at), max(undone_at) "  # noqa: S608
            f"FROM {self._sql_name} WHERE batch IS NOT NULL GROUP BY batch, table_name ORDER BY batch, table_name"
        )
        found: dict[int, list[tuple[Any, ...]]] = {}
        for number, *rest in rows:
            found.setdefault(int(number), []).append(tuple(rest))
        return [
            ChangeBatch(
                number,
                parts[0][1],
                parts[0][2],
                tuple(table for table, *_ in parts),
                sum(int(part[3]) for part in parts),
                sum(int(part[4]) for part in parts),
                max((part[5] for part in parts if part[5] is not None), default=None),
            )
            for number, parts in found.items()
        ]

    def create(self) -> bool:
        """Make the log if it is missing; return whether the transaction is still under way, or was rolled back for that."""
        if self.is_there():
            return True
        empty = Table(self._name, tuple(Column(name, form, ()) for name, form in _COLUMNS.items()), "changes")
        return self._database.create_log(empty)

    def add(self, changes: Sequence[LoggedChange], source: str) -> int:
        """Write changes to the log and return the number of their batch."""
        batch = int(self._database.ask(f"SELECT coalesce(max(batch), 0) FROM {self._sql_name}")[0][0]) + 1  # noqa: S608
        now, size = _now(), len(changes)
        values: dict[str, Sequence[Value]] = {
            "batch": [batch] * size,
            "number": range(size),
            "changed_at": [now] * size,
            "source": [source] * size,
            "table_name": [change.table for change in changes],
            "column_name": [change.column for change in changes],
            "row_key": [json.dumps(change.row, ensure_ascii=False) for change in changes],
            "new_value": [change.new_value for change in changes],
            "value_type": [change.value_type for change in changes],
            "probability": [float(change.probability) for change in changes],
            "reason": [change.reason for change in changes],
        }
        columns = tuple(Column(name, form, values[name]) for name, form in _COLUMNS.items() if name not in _EMPTY)
        self._database.insert(Table(self._name, columns, "changes"))
        return batch

    def batch_to_undo(self, wanted: int | None) -> int:
        """Return the number of a batch, by default of the last one, or refuse one that is not there or undone already."""
        batches = {each.batch: each for each in self.batches()}
        where = f"{self._database.location}, log {self._name!r}"
        if not batches:
            raise DataError("no-change-log", "no changes are logged, so there is nothing to undo", place=where)
        chosen = max(batches) if wanted is None else wanted
        if chosen not in batches:
            raise DataError("no-such-batch", f"no batch {chosen}; there are {', '.join(map(str, batches))}", place=where)
        if batches[chosen].undone:
            others = ", ".join(str(each.batch) for each in batches.values() if not each.undone)
            hint = f"; not undone yet: {others}" if others else ""
            raise DataError("already-undone", f"batch {chosen} was undone at {batches[chosen].undone_at}{hint}", place=where)
        return chosen

    def entries(self, batch: int) -> list[LoggedChange]:
        """Return the changes of a batch in their order."""
        rows = self._database.ask(
            "SELECT number, table_name, column_name, row_key, new_value, value_type "  # noqa: S608
            f"FROM {self._sql_name} WHERE batch = {batch} ORDER BY number"
        )
        if not all(isinstance(number, int) and all(isinstance(text, str) for text in texts) for number, *texts in rows):
            raise self.damage(batch)
        return [
            LoggedChange(table, column, self._row(key, batch), text, kind, number=number)
            for number, table, column, key, text, kind in rows
        ]

    def mark_undone(self, batch: int, numbers: Sequence[int]) -> None:
        """Note that some changes of a batch are undone."""
        name = free_name("relatum_undone", [self._name])
        query = f"SELECT {self._database.whole} AS n FROM {self._database.rows_of(self._name)} AS t WHERE 1 = 0"  # noqa: S608
        self._database.stage(name, query, ((number,) for number in numbers), ["n"])
        chosen = f"SELECT n FROM {self._database.temporary(name)}"  # noqa: S608
        self._database.change(
            f"UPDATE {self._database.rows_of(self._name)} SET undone_at = {literal(_now())} "  # noqa: S608
            f"WHERE batch = {batch} AND number IN ({chosen})"
        )

    def damage(self, batch: int) -> DataError:
        """Return the refusal of a batch whose rows are not as they were written."""
        return DataError(
            "damaged-file", f"{self._database.location}, log {self._name!r}: batch {batch} is damaged, so nothing is undone"
        )

    def _row(self, text: str, batch: int) -> dict[str, Value]:
        try:
            row = json.loads(text)
        except (ValueError, RecursionError):
            row = None
        if (
            not isinstance(row, dict)
            or not row
            or not all(value is None or isinstance(value, (str, int, float)) for value in row.values())
        ):
            raise self.damage(batch)
        return row

    @property
    def _sql_name(self) -> str:
        return self._database.sql_name(self._name)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
