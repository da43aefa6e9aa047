"""Queries in SQL as tables: run in the one database that is given, or by DuckDB over all tables that are."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from relatum.errors import DataError
from relatum.files import temporary_prefix
from relatum.tables.duckdb import ConfinedDuckdb, DuckdbSource
from relatum.tables.engine import Workspace, WorkspaceError, literal, quoted
from relatum.tables.postgres import PostgresSource
from relatum.tables.source import Source, SourceColumn, SourceTable, query_name
from relatum.tables.sqlite import SqliteSource
from relatum.tables.values import cleaned

__all__ = ["open_queries"]

Tables = Mapping[str, tuple[Source, SourceTable]]


def open_queries(
    queries: Mapping[str, str], sources: Sequence[Source], tables: Tables, workspace: Workspace, stack: ExitStack
) -> dict[str, tuple[Source, SourceTable]]:
    """Return each query as a table, with the source that runs it.

    Args:
        queries: each is called as its table will be.
        sources: all that was opened.
        tables: what these hold.
        workspace: where the tables will be brought.
        stack: closes what is opened here.
    """
    for name in queries:
        if name in tables:
            raise DataError(f"{query_name(name)}: a table of {tables[name][0].location} is called so; give it another name")
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
