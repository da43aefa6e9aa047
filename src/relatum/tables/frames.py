"""Frames in memory: pandas, polars, Arrow, and whatever else gives an Arrow stream."""

from __future__ import annotations

from collections.abc import Sequence

from relatum.tables.engine import Workspace, listed
from relatum.tables.source import SourceColumn, SourceTable, kind_of

__all__ = ["FrameSource", "is_frame"]


def is_frame(value: object) -> bool:
    """Return whether a value is a frame that can be read."""
    return hasattr(value, "__arrow_c_stream__") or type(value).__module__.partition(".")[0] == "pandas"


class FrameSource:
    """One frame; it is copied, since a stream can be read only once."""

    def __init__(self, workspace: Workspace, frame: object, name: str, number: int) -> None:
        self.origin = f"{type(frame).__module__.partition('.')[0]} frame"
        self._workspace, self._name, self._copy = workspace, name, f"frame_{number}"
        workspace.copy(frame, f"CREATE TABLE {self._copy} AS", name)

    def tables(self) -> list[SourceTable]:
        """Return the only table."""
        described = self._workspace.describe(self._copy)
        return [SourceTable(self._name, tuple(SourceColumn(name, kind.lower(), kind_of(kind)) for name, kind in described))]

    def stage(self, table: SourceTable, columns: Sequence[SourceColumn], target: str) -> None:
        """Make a view of the copy."""
        chosen = listed(column.name for column in columns)
        self._workspace.run(f"CREATE VIEW {target} AS SELECT {chosen} FROM {self._copy}")  # noqa: S608

    def close(self) -> None:
        """Nothing is held open."""
