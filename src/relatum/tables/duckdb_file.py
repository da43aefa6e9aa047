"""DuckDB files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from relatum.tables.engine import Workspace, listed, literal, quoted
from relatum.tables.source import Reference, SourceColumn, SourceTable, kind_of

__all__ = ["DuckdbSource"]

_USUAL = "main"


class DuckdbSource:
    """One DuckDB database; its views, which are programs, are not run."""

    def __init__(self, workspace: Workspace, path: Path, number: int) -> None:
        self.origin = str(path)
        self._workspace, self._name = workspace, f"attached_{number}"
        workspace.run(f"ATTACH {literal(str(path.resolve()))} AS {self._name} (READ_ONLY)", self.origin)
        self._places: dict[str, str] = {}

    def tables(self) -> list[SourceTable]:
        """Return the tables in the order of their names."""
        found = self._ask("SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ? ORDER BY ALL")
        self._places = {_full(*row): f"{self._name}.{quoted(row[0])}.{quoted(row[1])}" for row in found}
        columns = self._ask(
            "SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() "
            "WHERE database_name = ? ORDER BY schema_name, table_name, column_index"
        )
        constraints = self._ask(
            "SELECT schema_name, table_name, constraint_type, constraint_column_names, referenced_table, "
            "referenced_column_names FROM duckdb_constraints() WHERE database_name = ? ORDER BY ALL"
        )
        tables = []
        for schema, table in found:
            mine = [row[2:] for row in constraints if row[:2] == (schema, table)]
            keys: list[tuple[str, ...]] = [tuple(names) for kind, names, *_ in mine if kind == "PRIMARY KEY"]
            references = [
                Reference(tuple(names), _full(schema, other), tuple(targets))
                for kind, names, other, targets in mine
                if kind == "FOREIGN KEY"
            ]
            own = (
                SourceColumn(name, kind.lower(), kind_of(kind)) for *place, name, kind in columns if place == [schema, table]
            )
            tables.append(SourceTable(_full(schema, table), tuple(own), keys[0] if keys else (), tuple(references)))
        return tables

    def stage(self, table: SourceTable, columns: Sequence[SourceColumn], target: str) -> None:
        """Make a view of a table."""
        chosen = listed(column.name for column in columns)
        self._workspace.run(f"CREATE VIEW {target} AS SELECT {chosen} FROM {self._places[table.name]}")  # noqa: S608

    def close(self) -> None:
        """The workspace closes the file with itself."""

    def _ask(self, sql: str) -> list[tuple[Any, ...]]:
        return self._workspace.rows(sql, self.origin, [self._name])


def _full(schema: object, table: object) -> str:
    return str(table) if schema == _USUAL else f"{schema}.{table}"
