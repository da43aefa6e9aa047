"""What SQL can name of a run: its tables, relations, definitions and entities."""

from __future__ import annotations

from relatum.data.column_types import ColumnType
from relatum.runs.trained import Trained
from relatum.sql.catalog import Catalog, catalog_of
from relatum.sql.statement import Statement

__all__ = ["catalog_of_run", "result_types"]


def catalog_of_run(run: Trained) -> Catalog:
    """Return what queries can name of a run; what was defined is a view."""
    split = run.split
    return catalog_of(
        run.model.schema, run.entities, column_types=split.column_types, rows=split.rows, views=run.definitions
    )


def result_types(statement: Statement, catalog: Catalog) -> tuple[ColumnType | None, ...]:
    """Return what the entities in each column of a statement's result are, by which they become values again."""
    types = catalog.types_of(statement.expression)
    return tuple(types[position] for position in statement.positions)
