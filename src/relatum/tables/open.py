"""A path, URL or frame opened as a source of tables, and queries over all of them as more tables."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from relatum.datasets.file_types import database_in, is_mysql, is_parquet, is_postgres
from relatum.errors import DataError
from relatum.extras import require
from relatum.files import temporary_prefix
from relatum.tables.duckdb import ConfinedDuckdb, DuckdbSource, frame_source, is_frame, parquet_source
from relatum.tables.engine import Workspace, WorkspaceError, literal, quoted
from relatum.tables.mysql import MysqlSource
from relatum.tables.options import ImportOptions
from relatum.tables.postgres import PostgresSource
from relatum.tables.source import Source, SourceColumn, SourceTable, query_name
from relatum.tables.sqlite import SqliteSource
from relatum.tables.text_files import DelimitedSource, JsonFactsSource
from relatum.tables.values import cleaned
from relatum.tables.workbook import WorkbookSource

Tables = Mapping[str, tuple[Source, SourceTable]]

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

    What is given is a path, a URL, a frame, several of these in a list, or tables by name in a mapping.
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
                        "two-tables-one-name",
                        f"two tables are called {table.name!r}: in {found[table.name][0].location} and {source.location}",
                    )
                found[table.name] = source, table
        yield found | _open_queries(options.sql, opened, found, workspace, stack)


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
    if isinstance(given, Mapping):
        pairs: list[tuple[str | None, Any]] = [(str(name), each) for name, each in given.items()]
    else:
        pairs = [(None, each) for each in (given if isinstance(given, (list, tuple)) else [given])]
    if not pairs:
        raise DataError("not-importable", "nothing to import was given")
    return pairs


def _open(given: Any, name: str | None, workspace: Workspace, options: ImportOptions, number: int) -> Source:
    if is_frame(given):
        return frame_source(workspace, given, name or "table", number)
    if not isinstance(given, (str, os.PathLike)):
        raise DataError(
            "not-importable", f"{type(given).__name__} is nothing that can be imported: give a path, a URL or a frame"
        )
    if isinstance(given, str) and is_postgres(given):
        return PostgresSource(workspace, given, options.views)
    if isinstance(given, str) and is_mysql(given):
        return MysqlSource(workspace, given, options.views)
    if isinstance(given, str) and "://" in given:
        raise DataError(
            "unknown-server",
            f"{given.partition('://')[0]}://...: only files, postgresql:// and mysql:// URLs can be imported",
        )
    return _open_file(Path(given), name, workspace, options, number)


def _open_file(path: Path, name: str | None, workspace: Workspace, options: ImportOptions, number: int) -> Source:
    if not path.exists():
        raise DataError("no-such-file", "no such file", place=path)
    if not path.is_file():
        remedy = "name the files in it one by one" if path.is_dir() else ""
        raise DataError("not-a-file", "not a file", place=path, remedy=remedy)
    # What says what it is by its first bytes is believed before its name.
    database = database_in(path)
    if database == "sqlite":
        return SqliteSource(workspace, path, options.views)
    if database is not None:
        return DuckdbSource(workspace, path, number, options.views)
    unpacked = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    ending, table = unpacked.suffix.lower(), name or unpacked.stem
    if is_parquet(path) or ending in (".parquet", ".pq"):
        return parquet_source(workspace, path, table)
    if ending in _JSON:
        return JsonFactsSource(workspace, path, options.relation_key, number)
    if ending in (".db", ".sqlite", ".sqlite3", ".duckdb"):
        raise DataError("not-a-database", "neither a SQLite nor a DuckDB database", place=path)
    if ending in _WORKBOOK:
        return WorkbookSource(workspace, path, table, options.header)
    if ending in _DELIMITED or (options.delimiter is not None and ending not in (".xls", ".xlsb", ".ods")):
        return DelimitedSource(workspace, path, table, options.text_form)
    hint = _HINTS.get(
        ending, "known are .csv, .tsv, .xlsx, .parquet, .jsonl, SQLite and DuckDB files; set delimiter for other text"
    )
    raise DataError("unknown-file-type", f"cannot tell what kind of file this is ({hint})", place=path)


def _open_queries(
    queries: Mapping[str, str], sources: Sequence[Source], tables: Tables, workspace: Workspace, stack: ExitStack
) -> dict[str, tuple[Source, SourceTable]]:
    """Return each query as a table, with the source that runs it."""
    for name in queries:
        if name in tables:
            raise DataError(
                "bad-query",
                f"a table of {tables[name][0].location} is called so",
                place=query_name(name),
                remedy="give it another name",
            )
    if not queries:
        return {}
    source = sources[0]
    if len(sources) > 1 or not isinstance(source, (PostgresSource, SqliteSource, DuckdbSource)):
        prefix = temporary_prefix()
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True))
        path = Path(folder) / "tables.duckdb"
        _copy_tables(workspace, queries, tables, path)
        source = ConfinedDuckdb(workspace, path, source.location)
        stack.callback(source.close)
    return {name: (source, source.query(name, sql)) for name, sql in queries.items()}


def _copy_tables(workspace: Workspace, queries: Mapping[str, str], tables: Tables, path: Path) -> None:
    """Make a DuckDB file of the tables that the queries name."""
    workspace.run(f"ATTACH {literal(str(path))} AS query_tables")
    try:
        named = {each.lower() for name, sql in queries.items() for each in workspace.table_names(sql, query_name(name))}
    except WorkspaceError:  # DuckDB cannot tell without the tables
        named = {name.lower() for name in tables}
    for number, (name, (source, table)) in enumerate(tables.items()):
        columns = [column for column in table.columns if column.kind != "unreadable"]
        if name.lower() in named and table.is_readable and columns:
            source.stage(table, columns, f"query_table_{number}")
            _copy(workspace, f"query_table_{number}", table.name, columns)
    workspace.run("DETACH query_tables")


def _copy(workspace: Workspace, staged: str, table: str, columns: Sequence[SourceColumn]) -> None:
    chosen = ", ".join(
        f"{cleaned(name, kind, workspace.null_text)} AS {quoted(column.name)}"
        for column, (name, kind) in zip(columns, workspace.describe(staged, table), strict=True)
    )
    targets = {"main": table}
    schema, dot, name = table.partition(".")
    if dot:  # whether that is a schema or part of a name, a query may write it as either
        workspace.run(f"CREATE SCHEMA IF NOT EXISTS query_tables.{quoted(schema)}", table)
        targets[schema] = name
    for schema, name in targets.items():
        target = f"query_tables.{quoted(schema)}.{quoted(name)}"
        workspace.run(f"CREATE TABLE {target} AS SELECT {chosen} FROM {staged}", table)  # noqa: S608
