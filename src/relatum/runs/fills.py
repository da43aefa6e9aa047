"""Empty cells with what they most probably hold, and their way into a database and out of it again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, overload

from relatum.errors import SettingError
from relatum.records import Record, Records
from relatum.tables.change_log import ChangeBatch
from relatum.tables.changes import Applied, Change, apply_changes, copy_filled, list_batches
from relatum.tables.table import Value

SURE = 0.9  # the least probability of a cell that goes into a database, unless chosen otherwise


@dataclass(frozen=True, slots=True)
class Fill:
    """What an empty cell most probably holds.

    Attributes:
        table: its table.
        row: the row, by its key; by its number from 0 as `row` where it has none.
        column: its column.
        value: as it would stand in the table; of a group of numbers or dates, the one in the middle.
        label: what people call the value, or None.
        interval: the least and the greatest value of the group, or None.
        probability: that the value is right; of a group, that the value is in it.
        reason: what speaks for it most, in words.
        is_key: whether `row` is a key, by which the row can be found in a database.
    """

    table: str
    row: Mapping[str, Value]
    column: str
    value: Value
    label: str | None
    interval: tuple[str, str] | None
    probability: float
    reason: str
    is_key: bool

    @property
    def is_group(self) -> bool:
        """Whether only a group of several numbers or dates is known, of which the value is the middle."""
        return self.interval is not None and self.interval[0] != self.interval[1]

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name, the row as text."""
        return {
            "table": self.table,
            "row": row_text(self.row),
            "column": self.column,
            "value": self.value if self.value is None else str(self.value),
            "label": self.label,
            "interval": None if self.interval is None else " to ".join(self.interval),
            "probability": self.probability,
            "reason": self.reason,
        }


def row_text(row: Mapping[str, Value]) -> str:
    """Return what a row is known by as text."""
    return ", ".join(f"{name}={value}" for name, value in row.items())


@dataclass(frozen=True, slots=True)
class AppliedFills(Applied, Record):
    """What became of cells that were to be written into a database.

    Attributes:
        without_key: cells that were left out, for their tables have no key to find their rows by.
        groups: cells that were left out, for only a group of numbers or dates is known.
        unsure: cells that were left out, for they are less probable than wanted.
    """

    without_key: int
    groups: int
    unsure: int


class Fills(Records[Fill]):
    """Empty cells with what they most probably hold, table by table, column by column, in the order of their rows."""

    def __init__(self, fills: Iterable[Fill], source: str = "") -> None:
        texts = ("table", "row", "column", "value", "label", "interval")
        super().__init__(fills, {**dict.fromkeys(texts, str), "probability": float, "reason": str}, "empty cells")
        self._source = source  # the run, for the log of changes

    @overload
    def __getitem__(self, index: int) -> Fill: ...
    @overload
    def __getitem__(self, index: slice) -> Fills: ...
    def __getitem__(self, index: int | slice) -> Fill | Fills:
        return Fills(self._rows[index], self._source) if isinstance(index, slice) else self._rows[index]

    def apply(
        self, to: str | os.PathLike[str], *, min_probability: float = SURE, skip_refused: bool = False
    ) -> AppliedFills:
        """Write the cells into a database in one transaction, with a log of every change, and return what became of them.

        Only a cell that is still empty, in a row that alone has its key, is written. `relatum.undo_fill` takes it back.

        Args:
            to: a SQLite or DuckDB file, or the URL of a database.
            min_probability: leave cells empty that are less sure.
            skip_refused: leave a column out whose values the database refuses, by a constraint, a trigger or its type, and
                write the others; by default nothing is written then.
        """
        changes, left = self._changes(min_probability)
        applied = apply_changes(to, changes, source=self._source, skip_refused=skip_refused)
        return AppliedFills(**asdict(applied), **left)

    def copy(
        self,
        database: str | os.PathLike[str],
        target: str | os.PathLike[str],
        *,
        min_probability: float = SURE,
        skip_refused: bool = False,
    ) -> AppliedFills:
        """Write a copy of a SQLite or DuckDB file in which the cells are filled, and return what became of them.

        Args:
            database: the file, which stays as it is.
            target: the copy, which must not be there yet.
            min_probability: leave cells empty that are less sure.
            skip_refused: as of `apply`.
        """
        changes, left = self._changes(min_probability)
        return AppliedFills(**asdict(copy_filled(database, target, changes, skip_refused=skip_refused)), **left)

    def _changes(self, least: float) -> tuple[list[Change], dict[str, Any]]:
        """Return what can be written into a database, and how many cells are left out and why.

        A group of several numbers or dates is left out: its probability is that of the group, not of the middle value.
        """
        if not 0 <= least <= 1:
            raise SettingError("setting-out-of-range", f"min_probability {least}: must be from 0 to 1")
        changes, left = [], {"without_key": 0, "groups": 0, "unsure": 0}
        for one in self:
            if one.probability < least:
                left["unsure"] += 1
            elif one.is_group:
                left["groups"] += 1
            elif not one.is_key:
                left["without_key"] += 1
            else:
                changes.append(Change(one.table, dict(one.row), one.column, one.value, one.probability, one.reason))
        return changes, left


def list_fills(database: str | os.PathLike[str]) -> Records[ChangeBatch]:
    """Return what a database was filled with, the first time first."""
    columns = {"batch": int, "changed_at": str, "source": str, "tables": str, "cells": int, "undone": int, "undone_at": str}
    return Records(list_batches(database), columns, "fills", plain=_batch_row)


def _batch_row(batch: ChangeBatch) -> dict[str, Any]:
    return {**batch.to_dict(), "tables": ", ".join(batch.tables)}
