"""Empty cells of a database filled in place: all in one transaction, with a log of every change, and undo."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from relatum.datasets.file_types import database_in, is_mysql, is_postgres
from relatum.errors import DataError
from relatum.files import atomic_path
from relatum.tables.cell_updates import RowCells, RowGroup, stage_groups
from relatum.tables.change_log import LOG, ChangeBatch, ChangeLog, LoggedChange
from relatum.tables.duckdb import copy_duckdb, open_duckdb
from relatum.tables.mysql_target import open_mysql
from relatum.tables.postgres import open_postgres
from relatum.tables.sqlite import copy_sqlite, open_sqlite
from relatum.tables.table import Database, Value, free_name

Opened = Callable[[], AbstractContextManager[Database]]

_STAGED = "relatum_given"


@dataclass(frozen=True, slots=True)
class Change:
    """A value for an empty cell."""

    table: str  # as the database calls it; its schema stands before it where that is not the usual one
    # what identifies the row: its primary key or, where there is none, every column with its value, NULL or not
    row: Mapping[str, Value]
    column: str
    value: Value  # what to write; the database takes it as a value of the column's type
    probability: float  # that the value is right
    reason: str = ""  # why, for the log

    def __post_init__(self) -> None:
        cell = f"table {self.table!r}, column {self.column!r}"
        for name, value in (*self.row.items(), (self.column, self.value)):
            if not isinstance(value, (str, int, float)) and value is not None:
                raise DataError(
                    "not-a-value",
                    f"{type(value).__name__} is no text or number, as the value of {name!r} has to be",
                    place=cell,
                )
        if self.value is None or (isinstance(self.value, float) and not math.isfinite(self.value)):
            raise DataError("not-a-value", f"{self.value} is no value to write", place=cell)
        if not 0 <= self.probability <= 1:
            raise DataError("not-a-value", f"probability {self.probability} is not between 0 and 1", place=cell)


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of changes."""

    batch: int | None  # the number under which the log has them; None if none was applied
    applied: int  # cells that were written
    filled: int  # cells that were not NULL any more, and were left
    missing: int  # changes for which there is no row
    ambiguous: int  # changes for which there are several rows, or that could not be told from others
    # columns, as `table.column`, whose changes were left out for what the database says of them
    refused: Mapping[str, str] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class Undone:
    """What became of a batch: cells that are NULL again, cells that hold another value by now, and rows not found."""

    batch: int
    restored: int
    changed: int
    missing: int


def apply_changes(
    to: str | os.PathLike[str],
    changes: Sequence[Change],
    *,
    log: str = LOG,
    source: str = "",
    skip_refused: bool = False,
) -> Applied:
    """Fill empty cells of a database in one transaction, and return what became of the changes.

    Only a cell that is NULL, in a row that alone has its key, is written, and the log names it. Anything that the database
    refuses leaves it as it was.

    Args:
        to: a SQLite or DuckDB file, or a postgresql:// or mysql:// URL.
        changes: the cells with their values.
        log: the table that every change is written to; it is created if it is missing.
        source: what the log says the changes come from.
        skip_refused: leave a column out whose values the database refuses, and write the others.
    """
    return _apply(_opener(to), changes, log, source, skip_refused)


def undo_changes(to: str | os.PathLike[str], *, batch: int | None = None, log: str = LOG) -> Undone:
    """Set cells of a batch, by default the last one, back to NULL in one transaction, and return what became of it.

    A cell that holds anything but what was written, and a row that is not there once, are left.
    """
    with _opener(to)() as database:
        journal = ChangeLog(database, log)
        if journal.is_there():
            database.lock([log])
        chosen = journal.batch_to_undo(batch)
        entries = journal.entries(chosen)
        tables = sorted({entry.table for entry in entries})
        _check_tables(database, tables, log)
        database.lock(tables)
        try:
            cells = _cells_to_undo(database, entries)
        except ValueError:
            raise journal.damage(chosen) from None
        restored: list[int] = []
        changed = missing = 0
        for group in stage_groups(database, cells, _prefix([log, *tables])):
            found = group.match_equal()
            missing += found.missing + found.several
            changed += found.failed
            for number, columns in found.passed.items():
                restored += [entries[group.members[number].numbers[column]].number for column in columns]
            if found.passed:
                group.set_null(len(found.passed))
        if restored:
            journal.mark_undone(chosen, restored)
            database.commit()
    return Undone(chosen, len(restored), changed, missing)


def list_batches(to: str | os.PathLike[str], *, log: str = LOG) -> list[ChangeBatch]:
    """Return the batches that the log of a database holds, the first one first."""
    with _opener(to)() as database:
        return ChangeLog(database, log).batches()


def copy_filled(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    changes: Sequence[Change],
    *,
    log: str = LOG,
    skip_refused: bool = False,
) -> Applied:
    """Copy a SQLite or DuckDB file to a new one, which is whole or absent, and fill empty cells there; return what was."""
    path, new = Path(source), Path(target)
    kind = _kind_of(path)
    try:
        if new.exists():
            raise FileExistsError
        with atomic_path(new, new=True) as temporary:
            return _fill_copy(path, kind, temporary, new, changes, log, skip_refused)
    except FileExistsError:
        raise DataError("already-exists", "already exists", place=new, remedy="name a new file") from None


def _fill_copy(
    path: Path, kind: str, copy: Path, location: Path, changes: Sequence[Change], log: str, skip_refused: bool
) -> Applied:
    """Copy a database, fill cells of the copy, and return what was done; `location` is what messages call the copy."""
    beside = [copy.with_name(copy.name + ending) for ending in (".wal", "-wal", "-shm", "-journal")]
    try:
        make_copy, opened = (copy_sqlite, open_sqlite) if kind == "sqlite" else (copy_duckdb, open_duckdb)
        make_copy(path, copy)
        applied = _apply(partial(opened, copy, location), changes, log, str(path), skip_refused)
        if any(file.exists() for file in beside):
            raise DataError("not-written", "could not be written as a whole", place=location)
    finally:
        for file in beside:
            file.unlink(missing_ok=True)
    return applied


def _opener(to: str | os.PathLike[str]) -> Opened:
    """Return what opens a database that is there."""
    if isinstance(to, str) and is_postgres(to):
        return partial(open_postgres, to)
    if isinstance(to, str) and is_mysql(to):
        return partial(open_mysql, to)
    if isinstance(to, str) and "://" in to:
        known = "postgresql:// and mysql:// URLs"
        raise DataError(
            "cells-not-changeable", f"{to.partition('://')[0]}://...: only cells of files and of {known} can be changed"
        )
    path = Path(to)
    return partial(open_sqlite if _kind_of(path) == "sqlite" else open_duckdb, path, path)


def _kind_of(path: Path) -> str:
    if not path.is_file():
        if path.exists():
            raise DataError("not-a-file", "not a file", place=path)
        raise DataError("no-such-file", "no such file", place=path)
    if (kind := database_in(path)) is None:
        raise DataError(
            "not-a-database",
            "neither a SQLite nor a DuckDB database; cells of other files cannot be changed, only copied",
            place=path,
        )
    return kind


def _apply(opened: Opened, changes: Sequence[Change], log: str, source: str, skip_refused: bool) -> Applied:
    left_out: set[int] = set()
    refused: dict[str, str] = {}
    by_column = False
    while True:  # ends: each time more is left out, or there is a log, or columns are written one by one from then on
        attempt: _Attempt | None = None
        try:
            with opened() as database:
                attempt = _Attempt(database, changes, left_out, log)
                if clashing := attempt.run(by_column=by_column):
                    left_out |= clashing
                    continue  # what was written is rolled back
                batch = None
                if attempt.written:
                    journal = ChangeLog(database, log)
                    if not journal.create():
                        continue  # with a log that is there
                    batch = journal.add(attempt.written, source)
                    database.commit()
                ambiguous = attempt.ambiguous + len(left_out - _of(changes, refused))
                return Applied(batch, len(attempt.written), attempt.filled, attempt.missing, ambiguous, refused=refused)
        except DataError as error:
            if not skip_refused or attempt is None or (by_column and attempt.setting is None):
                raise
            if attempt.setting is not None:
                refused[".".join(attempt.setting)] = error.reason
                left_out |= _of(changes, refused)
            by_column = True


def _of(changes: Sequence[Change], columns: Container[str]) -> set[int]:
    """Return the changes of some columns, as `table.column`."""
    return {number for number, change in enumerate(changes) if f"{change.table}.{change.column}" in columns}


class _Attempt:
    """Changes written in a transaction that is under way, and what became of them."""

    def __init__(self, database: Database, changes: Sequence[Change], left_out: set[int], log: str) -> None:
        self._database, self._changes, self._log = database, changes, log
        self.filled = self.missing = self.ambiguous = 0
        self.written: list[LoggedChange] = []
        self.setting: tuple[str, str] | None = None  # the table and column that are written just now
        self._cells = self._merged(left_out)

    def run(self, *, by_column: bool = False) -> set[int]:
        """Write what can be written; return the changes that would leave rows that cannot be told apart, and so no undo."""
        tables = sorted({change.table for change in self._changes})
        _check_tables(self._database, tables, self._log)
        has_log = ChangeLog(self._database, self._log).is_there()
        self._database.lock([self._log, *tables] if has_log else tables)
        # All rows are found before any is written: a key may hold cells that are.
        groups = stage_groups(self._database, self._cells, _prefix([self._log, *tables]))
        found = [group.match_empty() for group in groups]
        self.filled += sum(each.failed for each in found)
        self.missing += sum(each.missing for each in found)
        self.ambiguous += sum(each.several for each in found)
        chosen = [(group, each.passed) for group, each in zip(groups, found, strict=True) if each.passed]
        for group, passed in chosen:
            if not by_column:
                group.set_values(len(passed))
                continue
            for column in group.columns:
                self.setting = group.table, column
                if wanted := sum(column in columns for columns in passed.values()):
                    group.set_values(wanted, column)
            self.setting = None
        return set().union(*(self._read_back(group, passed) for group, passed in chosen))

    def _merged(self, left_out: set[int]) -> list[RowCells]:
        """Return the cells of each row together; two changes of one cell stand for rows that are the same."""
        rows: dict[tuple[str, tuple[tuple[str, Value], ...]], dict[str, list[int]]] = {}
        for number, change in enumerate(self._changes):
            if number not in left_out:
                key = change.table, tuple(sorted(change.row.items(), key=lambda pair: pair[0]))
                rows.setdefault(key, {}).setdefault(change.column, []).append(number)
        cells = []
        for (table, row), columns in rows.items():
            single = {column: numbers[0] for column, numbers in columns.items() if len(numbers) == 1 and row}
            self.ambiguous += sum(map(len, columns.values())) - len(single)
            if single:
                values = {column: self._changes[number].value for column, number in single.items()}
                cells.append(RowCells(table, dict(row), values, single))
        return cells

    def _read_back(self, group: RowGroup, chosen: Mapping[int, list[str]]) -> set[int]:
        """Note for the log what cells hold now, which a type or trigger of the table has its part in."""
        clashing: set[int] = set()
        now = group.read_back()
        for number, columns in chosen.items():
            count, cells = now.get(number, (0, {}))
            numbers = group.members[number].numbers
            if count > 1:
                clashing |= {numbers[column] for column in columns}
                continue
            for column in columns:
                text, kind = cells.get(column, (None, ""))
                if text is None:
                    self.setting = group.table, column
                    raise self._database.refusal(
                        "change-miscounted",
                        f"table {group.table!r}: a value written to {column!r} is not there afterwards, so nothing is kept",
                        "look for a trigger of the table",
                    )
                change = self._changes[numbers[column]]
                self.written.append(
                    LoggedChange(group.table, column, dict(change.row), text, kind, change.probability, change.reason)
                )
        return clashing


def _check_tables(database: Database, tables: Sequence[str], log: str) -> None:
    for table in tables:
        if table.casefold() == log.casefold():
            raise database.refusal("not-a-change-log", f"{table!r} is the log of changes and is not changed itself")
        if database.columns(table) is None:
            raise database.refusal("cells-not-changeable", f"no table is called {table!r}")


def _prefix(tables: Sequence[str]) -> str:
    """Return what the names of temporary tables start with, and no table's name does."""
    prefix = _STAGED
    while any(table.rpartition(".")[2].casefold().startswith(prefix) for table in tables):
        prefix = free_name(prefix, [prefix])
    return prefix


def _cells_to_undo(database: Database, entries: Sequence[LoggedChange]) -> list[RowCells]:
    """Return the cells of a batch, row by row, numbered as the entries; rows are as the batch has left them."""
    rows: dict[tuple[str, tuple[tuple[str, Value], ...]], dict[str, int]] = {}
    for number, entry in enumerate(entries):
        rows.setdefault((entry.table, tuple(entry.row.items())), {})[entry.column] = number
    cells = []
    for (table, row), numbers in rows.items():
        values = {column: database.value(entries[n].new_value, entries[n].value_type) for column, n in numbers.items()}
        key = {column: values.get(column) if value is None else value for column, value in row}
        cells.append(RowCells(table, key, values, numbers))
    return cells
