"""Queries in SQL as tables: run in the one database that is given, or by DuckDB over all tables that are."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from relatum.errors import DataError
from relatum.files import temporary_prefix
from relatum.tables.duckdb import DuckdbSource
from relatum.tables.engine import Workspace, WorkspaceError, listed, literal, quoted
from relatum.tables.postgres import PostgresSource
from relatum.tables.source import Source, SourceColumn, SourceTable, kind_of
from relatum.tables.sql_text import query_name, query_table, subquery
from relatum.tables.sqlite import SqliteSource
from relatum.tables.sqlite_query import SqliteQueries
from relatum.tables.values import cleaned

__all__ = ["DuckdbQueries", "open_queries"]

Tables = Mapping[str, tuple[Source, SourceTable]]

# From here on no statement reaches a file or the network, nor a variable of this program, nor changes that.
_LOCKED = (
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


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
    only = sources[0] if len(sources) == 1 else None
    if isinstance(only, PostgresSource):
        return {name: (only, only.query(name, sql)) for name, sql in queries.items()}
    source: Source
    if isinstance(only, SqliteSource):
        source = SqliteQueries(workspace, Path(only.location), queries)
    elif isinstance(only, DuckdbSource):
        source = DuckdbQueries(workspace, only.location, queries, Path(only.location))
    else:
        source = DuckdbQueries(workspace, sources[0].location, queries, tables)
    stack.callback(source.close)
    return {table.name: (source, table) for table in source.tables()}


class DuckdbQueries:
    """Queries that DuckDB runs in a second database in memory, which can do nothing but read the tables given.

    `given` is a DuckDB file, or tables of any sources: those that a query names are copied.
    """

    def __init__(self, workspace: Workspace, location: str, queries: Mapping[str, str], given: Path | Tables) -> None:
        self.location = location
        self._workspace, self._queries = workspace, queries
        self._folder = tempfile.TemporaryDirectory(prefix=temporary_prefix(), ignore_cleanup_errors=True)
        self._tables: dict[str, SourceTable] = {}
        try:
            with Workspace("querying") as reader:
                for name, sql in queries.items():
                    _check_single(reader, name, sql)
                path = given if isinstance(given, Path) else self._copied(reader, given)
                self._run(reader, path)
            answers = literal(str(Path(self._folder.name) / "answers.duckdb"))
            workspace.run(f"ATTACH {answers} AS query_answers (READ_ONLY)")
        except BaseException:
            self._folder.cleanup()
            raise

    def tables(self) -> list[SourceTable]:
        """Return a table for each query."""
        return list(self._tables.values())

    def stage(self, table: SourceTable, columns: Sequence[SourceColumn], target: str) -> None:
        """Make a view of what a query gave."""
        answer = f"query_answers.main.answer_{list(self._queries).index(table.name)}"
        self._workspace.run(f"CREATE VIEW {target} AS SELECT {listed(each.name for each in columns)} FROM {answer}")  # noqa: S608

    def close(self) -> None:
        """Remove what the queries gave."""
        with suppress(DataError):
            self._workspace.run("DETACH query_answers")
        self._folder.cleanup()

    def _run(self, reader: Workspace, path: Path) -> None:
        """Run every query over the tables of a database, and keep what it gives in a file."""
        reader.run(f"ATTACH {literal(str(path.resolve()))} AS source (READ_ONLY)", self.location)
        reader.run(f"ATTACH {literal(str(Path(self._folder.name) / 'answers.duckdb'))} AS answers")
        reader.run("USE source")
        for statement in _LOCKED:
            reader.run(statement)
        for number, (name, sql) in enumerate(self._queries.items()):
            what = query_name(name)
            columns = [SourceColumn(column, kind.lower(), kind_of(kind)) for column, kind in reader.describe(sql, what)]
            self._tables[name] = query_table(name, columns)
            reader.run(f"CREATE TABLE answers.main.answer_{number} AS SELECT * FROM {subquery(sql)}", what)  # noqa: S608

    def _copied(self, reader: Workspace, tables: Tables) -> Path:
        """Return a database of the tables that the queries name."""
        path = Path(self._folder.name) / "tables.duckdb"
        self._workspace.run(f"ATTACH {literal(str(path))} AS query_tables")
        used = self._used(reader, tables)
        for number, (name, (source, table)) in enumerate(tables.items()):
            columns = [column for column in table.columns if column.kind != "unreadable"]
            if name.lower() in used and table.is_readable and columns:
                staged = f"query_table_{number}"
                source.stage(table, columns, staged)
                self._copy(staged, table, columns)
        self._workspace.run("DETACH query_tables")
        return path

    def _used(self, reader: Workspace, tables: Tables) -> set[str]:
        """Return the tables that the queries name, in lower case: all where DuckDB cannot tell without the tables."""
        try:
            found = {each for name, sql in self._queries.items() for each in reader.table_names(sql, query_name(name))}
        except WorkspaceError:
            found = set(tables)
        return {name.lower() for name in found}

    def _copy(self, staged: str, table: SourceTable, columns: Sequence[SourceColumn]) -> None:
        described = self._workspace.describe(staged, table.name)
        chosen = ", ".join(
            f"{cleaned(name, kind, self._workspace.null_text)} AS {quoted(column.name)}"
            for column, (name, kind) in zip(columns, described, strict=True)
        )
        targets = {"main": table.name}
        schema, dot, name = table.name.partition(".")
        if dot:  # whether that is a schema or part of a name, a query may write it as either
            self._workspace.run(f"CREATE SCHEMA IF NOT EXISTS query_tables.{quoted(schema)}", table.name)
            targets[schema] = name
        for schema, name in targets.items():
            target = f"query_tables.{quoted(schema)}.{quoted(name)}"
            self._workspace.run(f"CREATE TABLE {target} AS SELECT {chosen} FROM {staged}", table.name)  # noqa: S608


def _check_single(reader: Workspace, name: str, sql: str) -> None:
    types = reader.statement_types(sql, query_name(name))
    if len(types) != 1:
        raise DataError(f"{query_name(name)}: must be one statement")
    if types != ["SELECT"]:
        raise DataError(f"{query_name(name)}: must be a SELECT: a query cannot write")
