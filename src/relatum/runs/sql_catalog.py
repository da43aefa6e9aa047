"""What SQL can name of a run: its tables, relations, definitions and entities."""

from __future__ import annotations

from relatum.runs.trained import Trained
from relatum.sql.catalog import Catalog, catalog_of

__all__ = ["catalog_of_run"]


def catalog_of_run(run: Trained) -> Catalog:
    """Return what queries can name of a run; what was defined is a view."""
    split = run.split
    return catalog_of(
        run.model.schema, run.entities, column_types=split.column_types, rows=split.rows, views=run.definitions
    )
