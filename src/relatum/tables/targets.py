"""Where tables can be written to: files, which are whole or absent, and databases."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from relatum.datasets.file_types import database_in, is_mysql, is_postgres
from relatum.errors import DataError, SettingError
from relatum.extras import require
from relatum.files import atomic_path
from relatum.tables.duckdb import open_duckdb, write_parquet
from relatum.tables.mysql_target import open_mysql
from relatum.tables.postgres import open_postgres
from relatum.tables.servers import without_password
from relatum.tables.sqlite import open_sqlite
from relatum.tables.table import Database, DatabaseTarget, Mode, Table, check_distinct
from relatum.tables.text_files import write_delimited, write_json_lines

Opener = Callable[[Path, Path], AbstractContextManager[Database]]

Writer = Callable[[Iterable[Table], Path], None]

_DELIMITED = {".csv": partial(write_delimited, delimiter=","), ".tsv": partial(write_delimited, delimiter="\t")}
_WRITERS: dict[str, Writer] = {**_DELIMITED, ".jsonl": write_json_lines, ".parquet": write_parquet}
_DATABASES: dict[str, Opener] = {".db": open_sqlite, ".sqlite": open_sqlite, ".sqlite3": open_sqlite, ".duckdb": open_duckdb}


def write(
    tables: Table | Sequence[Table],
    to: str | os.PathLike[str],
    *,
    append: bool = False,
    replace: bool = False,
    escape_formulas: bool = False,
) -> None:
    """Write tables to a file or a database: all of them or nothing.

    Args:
        tables: one table, or several for a database or JSON lines.
        to: a `.csv`, `.tsv`, `.jsonl` or `.parquet` file, a SQLite or DuckDB file, or the URL of a PostgreSQL or
            MySQL database.
        append: add the rows to a table that has these columns already.
        replace: put the rows in the place of those of a table with just these columns, or of what a file holds.
        escape_formulas: in a .csv or .tsv file, put an apostrophe before text that a spreadsheet would take for a formula.
    """
    listed = [tables] if isinstance(tables, Table) else list(tables)
    target = target_of(to, append=append, replace=replace, escape_formulas=escape_formulas)
    target.check(listed)
    target.write(listed)


def target_of(
    to: str | os.PathLike[str], *, append: bool = False, replace: bool = False, escape_formulas: bool = False
) -> Target:
    """Return what a path or URL names."""
    if escape_formulas and Path(to).suffix.lower() not in _DELIMITED:
        raise SettingError(
            "formulas-not-csv", "is for .csv and .tsv files, which spreadsheets open", place="escape_formulas"
        )
    if append and replace:
        raise SettingError("contradictory-options", "append and replace: choose one of the two")
    mode: Mode = "append" if append else "replace" if replace else "new"
    if isinstance(to, str) and is_postgres(to):
        require("psycopg", extra="postgres")
        return DatabaseTarget(partial(open_postgres, to), without_password(to), mode)
    if isinstance(to, str) and is_mysql(to):
        require("pymysql", extra="mysql")
        return DatabaseTarget(partial(open_mysql, to), without_password(to), mode)
    if isinstance(to, str) and "://" in to:
        raise DataError(
            "unknown-server",
            f"{to.partition('://')[0]}://...: only files, postgresql:// and mysql:// URLs can be written to",
        )
    path = Path(to)
    if path.exists() and not path.is_file():
        raise DataError("not-a-file", "not a file", place=path)
    ending, kind = path.suffix.lower(), database_in(path) if path.is_file() else None
    if kind == "duckdb" or (kind is None and ending in (".duckdb", ".parquet")):
        require("duckdb", extra="io")
    if kind is not None:
        return DatabaseTarget(partial(open_sqlite if kind == "sqlite" else open_duckdb, path, path), str(path), mode)
    if ending in _DATABASES:
        if path.is_file() and (path.stat().st_size or ending == ".duckdb"):
            raise DataError("not-a-database", "neither a SQLite nor a DuckDB database", place=path)
        if path.is_file():  # an empty file is an empty database of SQLite
            return DatabaseTarget(partial(open_sqlite, path, path), str(path), mode)
        return _NewDatabase(path, _DATABASES[ending])
    if ending not in _WRITERS:
        known = ", ".join([*_WRITERS, *_DATABASES])
        raise DataError(
            "unknown-target",
            f"the ending says what to write: {known}",
            place=path,
            remedy="or give a postgresql:// or mysql:// URL",
        )
    escaped = partial(_DELIMITED[ending], escape_formulas=True) if escape_formulas else None
    return _FileTarget(path, escaped or _WRITERS[ending], mode)


@dataclass(frozen=True)
class _Path:
    path: Path

    @property
    def location(self) -> str:
        return str(self.path)

    def _check_folder(self) -> None:
        folder = self.path.parent
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            raise DataError("no-such-directory", "no such directory, or nothing can be written there", place=folder)


@dataclass(frozen=True)
class _NewDatabase(_Path):
    """A file that becomes a database once that is whole; what others make there meanwhile is not replaced."""

    opened: Opener
    is_database: bool = True

    def check(self, tables: Sequence[Table]) -> None:
        check_distinct(tables)
        self._check_folder()

    def write(self, tables: Sequence[Table]) -> None:
        try:
            self._fill(lambda target: target.write(tables))
        except FileExistsError:
            target_of(self.path).write(tables)  # beside what is there now

    def write_parts(self, parts: Iterable[Table], tables: Sequence[Table] = ()) -> None:
        try:
            self._fill(lambda target: target.write_parts(parts, tables))
        except FileExistsError:
            raise DataError(
                "written-meanwhile",
                "another program has written this file meanwhile",
                place=self.path,
                remedy="write to it once more",
            ) from None

    def _fill(self, write: Callable[[DatabaseTarget], None]) -> None:
        """Make the file of what is written to the database in it."""
        with atomic_path(self.path, new=True) as temporary:
            log = temporary.with_name(f"{temporary.name}.wal")  # DuckDB's, which is gone once all is in its place
            try:
                write(DatabaseTarget(partial(self.opened, temporary, self.path), self.location, "new"))
                if log.exists():
                    raise DataError("not-written", "could not be written as a whole", place=self.path)
            finally:
                log.unlink(missing_ok=True)


@dataclass(frozen=True)
class _FileTarget(_Path):
    writer: Writer
    mode: Mode
    is_database: bool = False

    def check(self, tables: Sequence[Table]) -> None:
        if self.mode == "append":
            raise SettingError(
                "append-to-file", "rows can be appended to a table of a database, not to a file", place=self.path
            )
        if self.mode == "new" and self.path.exists():
            raise self._taken()
        if len(tables) != 1 and self.writer is not write_json_lines:
            raise DataError(
                "one-relation-per-file",
                f"holds one relation; for {len(tables)} of them write .jsonl or to a database",
                place=self.path,
            )
        self._check_folder()

    def write(self, tables: Sequence[Table]) -> None:
        self.check(tables)
        self.write_parts(tables)

    def write_parts(self, parts: Iterable[Table], tables: Sequence[Table] = ()) -> None:
        try:
            with atomic_path(self.path, new=self.mode == "new") as temporary:
                self.writer(parts, temporary)
        except FileExistsError:
            raise self._taken() from None

    def _taken(self) -> DataError:
        return DataError("table-exists", "already exists", place=self.path, remedy="set replace to overwrite it")


Target = DatabaseTarget | _NewDatabase | _FileTarget  # what tables are written to; `location` has no password
