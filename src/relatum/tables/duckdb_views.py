"""Views of a DuckDB file, run where they reach nothing but the tables of that file."""

from __future__ import annotations

from collections.abc import Sequence

from relatum.errors import DataError
from relatum.tables.engine import Workspace, quoted
from relatum.tables.source import SourceColumn, SourceTable, kind_of

__all__ = ["USUAL", "DuckdbViews", "full_name"]

USUAL = "main"  # the schema that is not named

# A view may name a file of the machine, or a variable of Python, as if it were a table.
_CONFINED = "SET enable_external_access = false; SET python_enable_replacements = false; SET lock_configuration = true"


def full_name(schema: object, table: object) -> str:
    """Return what a table or view is called."""
    return str(table) if schema == USUAL else f"{schema}.{table}"


class DuckdbViews:
    """The views of one file; `attach` is the statement that opens it as `name`.

    They run in a workspace of their own: the one that the rows go to may read files.
    """

    def __init__(self, workspace: Workspace, attach: str, name: str, location: str) -> None:
        self._workspace, self._name, self._location = workspace, name, location
        self._sql_names: dict[str, str] = {}
        self._confined = Workspace()
        try:
            self._confined.run(attach, location)
            self._confined.run(_CONFINED, location)
        except BaseException:
            self.close()
            raise

    def tables(self) -> list[SourceTable]:
        """Return the views in the order of their names; one that cannot run is not readable."""
        query = "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = ? AND NOT internal ORDER BY ALL"
        return [self._table(schema, view) for schema, view in self._confined.rows(query, self._location, [self._name])]

    def stage(self, table: SourceTable, columns: Sequence[SourceColumn], target: str) -> None:
        """Copy what a view gives as text, and make a view of that in which it has its types again."""
        rows, what = self._sql_names[table.name], f"{self._location}, view {table.name!r}"
        total = self._confined.one(f"SELECT count(*) FROM {rows}", what)[0]  # noqa: S608
        chosen = ", ".join(f"CAST({quoted(column.name)} AS VARCHAR)" for column in columns) or "NULL"
        batches = self._confined.batches(f"SELECT {chosen} FROM {rows}", what)  # noqa: S608
        self._workspace.fill(f"{target}_text", max(len(columns), 1), batches, total, table.name)
        typed = (f"CAST(c{index} AS {_type(column)}) AS c{index}" for index, column in enumerate(columns))
        self._workspace.run(f"CREATE VIEW {target} AS SELECT {', '.join(typed) or 'c0'} FROM {target}_text")  # noqa: S608

    def close(self) -> None:
        """Close the file."""
        self._confined.close()

    def _table(self, schema: str, view: str) -> SourceTable:
        name = full_name(schema, view)
        self._sql_names[name] = f"{self._name}.{quoted(schema)}.{quoted(view)}"
        try:
            described = self._confined.describe(self._sql_names[name], name)
        except DataError:
            return SourceTable(name, (), is_readable=False)
        return SourceTable(name, tuple(SourceColumn(column, kind.lower(), kind_of(kind)) for column, kind in described))


def _type(column: SourceColumn) -> str:
    return column.type if column.kind in ("number", "date") else "VARCHAR"
