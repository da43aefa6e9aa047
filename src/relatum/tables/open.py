"""A path, URL or frame opened as a source of tables."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from relatum.datasets.file_types import database_in, is_mysql, is_parquet, is_postgres
from relatum.errors import DataError
from relatum.extras import require
from relatum.tables.duckdb import DuckdbSource, FrameSource, ParquetSource, is_frame
from relatum.tables.engine import Workspace
from relatum.tables.mysql import MysqlSource
from relatum.tables.options import ImportOptions
from relatum.tables.postgres import PostgresSource
from relatum.tables.query_source import open_queries
from relatum.tables.source import Source, SourceTable
from relatum.tables.sqlite import SqliteSource
from relatum.tables.text_files import DelimitedSource, JsonFactsSource
from relatum.tables.workbook import WorkbookSource

__all__ = ["open_sources", "require_libraries"]


_DELIMITED, _JSON, _WORKBOOK = (".csv", ".tsv", ".tab"), (".jsonl", ".ndjson"), (".xlsx", ".xlsm")
_HINTS = {
    ".xls": "save it as .xlsx or CSV",
    ".xlsb": "save it as .xlsx or CSV",
    ".ods": "save it as .xlsx or CSV",
    ".json": "JSON lines, one fact a line, end in .jsonl",
    ".txt": "facts in relatum's own format need no import; a table ends in .csv or .tsv, or set delimiter",
}


@contextmanager
def open_sources(
    given: Any, workspace: Workspace, options: ImportOptions
) -> Iterator[dict[str, tuple[Source, SourceTable]]]:
    """Yield every table by its name, with the source that holds it.

    Args:
        given: a path, a URL, a frame, several of these in a list, or tables by name in a mapping.
        workspace: where the tables will be brought.
        options: how files are read, and whether views are tables as well.
    """
    workspace.null_text = tuple(options.null_text)
    with ExitStack() as stack:
        found: dict[str, tuple[Source, SourceTable]] = {}
        opened: list[Source] = []
        for number, (name, each) in enumerate(_listed(given)):
            source = _open(each, name, workspace, options, number)
            stack.callback(source.close)
            opened.append(source)
            for table in source.tables():
                if table.name in found:
                    raise DataError(
                        f"two tables are called {table.name!r}: in {found[table.name][0].location} and {source.location}"
                    )
                found[table.name] = source, table
        yield found | open_queries(options.sql, opened, found, workspace, stack)


def require_libraries(given: Any) -> None:
    """Refuse what needs a library that is missing, before DuckDB is missed, which every import needs: its extra has both."""
    for _, each in _listed(given):
        if isinstance(each, str) and is_postgres(each):
            require("psycopg", extra="postgres")
        elif isinstance(each, str) and is_mysql(each):
            require("pymysql", extra="mysql")
        elif isinstance(each, (str, os.PathLike)) and Path(each).suffix.lower() in _WORKBOOK:
            require("python_calamine", extra="excel")


def _listed(given: Any) -> list[tuple[str | None, Any]]:
    pairs: list[tuple[str | None, Any]]
    if isinstance(given, Mapping):
        pairs = [(str(name), each) for name, each in given.items()]
    elif isinstance(given, (list, tuple)):
        pairs = [(None, each) for each in given]
    else:
        pairs = [(None, given)]
    if not pairs:
        raise DataError("nothing to import was given")
    return pairs


def _open(given: Any, name: str | None, workspace: Workspace, options: ImportOptions, number: int) -> Source:
    if is_frame(given):
        return FrameSource(workspace, given, name or "table", number)
    if not isinstance(given, (str, os.PathLike)):
        raise DataError(f"{type(given).__name__} is nothing that can be imported: give a path, a URL or a frame")
    if isinstance(given, str) and is_postgres(given):
        return PostgresSource(workspace, given, options.views)
    if isinstance(given, str) and is_mysql(given):
        return MysqlSource(workspace, given, options.views)
    if isinstance(given, str) and "://" in given:
        raise DataError(f"{given.partition('://')[0]}://...: only files, postgresql:// and mysql:// URLs can be imported")
    return _open_file(Path(given), name, workspace, options, number)


def _open_file(path: Path, name: str | None, workspace: Workspace, options: ImportOptions, number: int) -> Source:
    if not path.exists():
        raise DataError(f"{path}: no such file")
    if not path.is_file():
        raise DataError(f"{path}: not a file; name the files in it one by one" if path.is_dir() else f"{path}: not a file")
    # What says what it is by its first bytes is believed before its name.
    database = database_in(path)
    if database is not None:
        is_sqlite = database == "sqlite"
        return (
            SqliteSource(workspace, path, options.views)
            if is_sqlite
            else DuckdbSource(workspace, path, number, options.views)
        )
    unpacked = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    ending, table = unpacked.suffix.lower(), name or unpacked.stem
    if is_parquet(path) or ending in (".parquet", ".pq"):
        return ParquetSource(workspace, path, table)
    if ending in _JSON:
        return JsonFactsSource(workspace, path, options.relation_key, number)
    if ending in (".db", ".sqlite", ".sqlite3", ".duckdb"):
        raise DataError(f"{path}: neither a SQLite nor a DuckDB database")
    if ending in _WORKBOOK:
        return WorkbookSource(workspace, path, table, options.header)
    if ending in _DELIMITED or (options.delimiter is not None and ending not in (".xls", ".xlsb", ".ods")):
        return DelimitedSource(workspace, path, table, options.text_form)
    hint = _HINTS.get(
        ending, "known are .csv, .tsv, .xlsx, .parquet, .jsonl, SQLite and DuckDB files; set delimiter for other text"
    )
    raise DataError(f"{path}: cannot tell what kind of file this is ({hint})")
