"""Views that a person has made of a run by SQL: queries under a name, with any operation, joins included."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from relatum.algebra import parse
from relatum.data.schema import RelationSchema, Schema
from relatum.errors import DataError
from relatum.files import is_there, read_document, write_document
from relatum.sql.catalog import View
from relatum.version import __version__

__all__ = ["VIEWS", "load_views", "save_views"]

VIEWS = "views.json"

_FORMAT, _VERSION = "relatum-views", 1


def load_views(folder: Path | None, schema: Schema) -> dict[str, View]:
    """Return the views in a run directory, by name and in the order in which they were made."""
    if folder is None or not is_there(folder / VIEWS):
        return {}

    def build(content: dict[str, Any]) -> dict[str, View]:
        found = {}
        for one in content["views"]:
            view = View(parse(one["expression"], schema), tuple(one["columns"]))
            RelationSchema(one["name"], view.expression.arity, view.columns)  # refuses what cannot be a name
            if one["name"] in schema or one["name"] in found:
                raise DataError(f"there is a relation {one['name']!r} already")
            found[one["name"]] = view
        return found

    return read_document(folder / VIEWS, _FORMAT, _VERSION, build)


def save_views(folder: Path, views: Mapping[str, View]) -> None:
    """Write the views of a run, atomically."""
    listed = [{"name": name, "columns": list(one.columns), "expression": str(one.expression)} for name, one in views.items()]
    write_document(folder / VIEWS, _FORMAT, _VERSION, {"relatum": __version__, "views": listed})
