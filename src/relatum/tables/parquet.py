"""Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from glob import escape
from pathlib import Path

from relatum.tables.engine import Workspace, listed, literal
from relatum.tables.source import SourceColumn, SourceTable, kind_of

__all__ = ["ParquetSource"]


class ParquetSource:
    """One Parquet file, which is never held in memory: every question to it is a scan of the columns in question."""

    def __init__(self, workspace: Workspace, path: Path, name: str) -> None:
        self.origin = str(path)
        self._workspace, self._name = workspace, name
        self._rows = f"read_parquet({literal(escape(str(path.resolve())))}, hive_partitioning = false)"

    def tables(self) -> list[SourceTable]:
        """Return the only table."""
        described = self._workspace.describe(f"SELECT * FROM {self._rows}", self.origin)  # noqa: S608
        return [SourceTable(self._name, tuple(SourceColumn(name, kind.lower(), kind_of(kind)) for name, kind in described))]

    def stage(self, table: SourceTable, columns: Sequence[SourceColumn], target: str) -> None:
        """Make a view of the file."""
        chosen = listed(column.name for column in columns)
        self._workspace.run(f"CREATE VIEW {target} AS SELECT {chosen} FROM {self._rows}", self.origin)  # noqa: S608

    def close(self) -> None:
        """Nothing is held open."""
