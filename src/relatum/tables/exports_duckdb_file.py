"""DuckDB files, and Parquet by way of DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from relatum.errors import DataError
from relatum.tables.database import declared, listed_columns, split_name
from relatum.tables.engine import Workspace, literal, quoted
from relatum.tables.table import Table

__all__ = ["DuckdbTarget", "open_duckdb", "write_parquet"]

_USUAL = "main"


@contextmanager
def open_duckdb(path: Path, origin: Path) -> Iterator[DuckdbTarget]:
    """Yield the database in a file, which is made if it is not there; `origin` is what messages call it."""
    with Workspace("writing") as workspace:
        workspace.run(f"ATTACH {literal(str(path.absolute()))} AS target", str(origin))
        workspace.run("BEGIN TRANSACTION", str(origin))
        yield DuckdbTarget(workspace, str(origin))
        # What was not committed is rolled back when the workspace closes.


class DuckdbTarget:
    """An open DuckDB database."""

    def __init__(self, workspace: Workspace, origin: str) -> None:
        self._workspace, self.origin = workspace, origin

    def place(self, table: str) -> str:
        """Return the name in quotes, with database and schema."""
        schema, name = split_name(table, _USUAL)
        return f"target.{quoted(schema or _USUAL)}.{quoted(name)}"

    def columns(self, table: str) -> list[str] | None:
        """Return the columns of a table, whatever the case of its name."""
        where = "WHERE database_name = 'target' AND lower(schema_name) = lower(?) AND lower({}_name) = lower(?)"
        place = split_name(table, _USUAL)
        if self._ask(f"SELECT 1 FROM duckdb_views() {where.format('view')}", place):  # noqa: S608
            raise DataError(f"{self.origin}: {table!r} is a view, not a table")
        query = f"SELECT column_name FROM duckdb_columns() {where.format('table')} ORDER BY column_index"  # noqa: S608
        return [str(row[0]) for row in self._ask(query, place)] or None

    def run(self, sql: str) -> None:
        """Run a statement."""
        self._workspace.run(sql, self.origin)

    def insert(self, table: Table) -> None:
        """Insert the rows, which are handed over as arrays."""
        self._workspace.copy(_arrays(table), f"INSERT INTO {self.place(table.name)} ({listed_columns(table)})", self.origin)

    def commit(self) -> None:
        """Make it last."""
        self._workspace.run("COMMIT", self.origin)

    def _ask(self, query: str, place: Sequence[str | None]) -> list[tuple[object, ...]]:
        return self._workspace.rows(query, self.origin, place)


def write_parquet(tables: Sequence[Table], path: Path) -> None:
    """Write one table as a Parquet file."""
    (table,) = tables
    with Workspace("writing") as workspace:
        workspace.run(f"CREATE TABLE rows ({declared(table)})", path.name)
        if len(table):
            workspace.copy(_arrays(table), "INSERT INTO rows", path.name)
        workspace.run(f"COPY rows TO {literal(str(path.absolute()))} (FORMAT parquet)", path.name)


def _arrays(table: Table) -> dict[str, npt.NDArray[np.object_]]:
    return {f"c{place}": np.array(column.values, object) for place, column in enumerate(table.columns)}
