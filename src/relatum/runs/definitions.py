"""Relations that a person has defined on a run: a file of their own, which never touches what was trained."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from relatum.algebra import Expression, expanded, parse
from relatum.algebra.expression import OPERATIONS
from relatum.data.schema import RelationSchema, Schema
from relatum.errors import DataError
from relatum.files import read_document, write_document
from relatum.version import __version__

__all__ = ["DEFINITIONS", "defined_schema", "load_definitions", "save_definitions", "with_definition"]

DEFINITIONS = "definitions.json"

_FORMAT, _VERSION = "relatum-definitions", 1


def load_definitions(path: Path, schema: Schema) -> dict[str, Expression]:
    """Return the defined relations in a file, by name and in the order of definition, over those of a run's schema."""

    def build(content: dict[str, Any]) -> dict[str, Expression]:
        found: dict[str, Expression] = {}
        for one in content["definitions"]:
            found = with_definition(found, one["name"], parse(one["expression"], schema), schema)
        return found

    return read_document(path, _FORMAT, _VERSION, build)


def with_definition(
    definitions: Mapping[str, Expression], name: str, expression: Expression, schema: Schema
) -> dict[str, Expression]:
    """Return the definitions with one more, which may be made from those before it; its name must be free."""
    if name in schema or name in definitions:
        raise DataError(f"there is a relation {name!r} already")
    if name in OPERATIONS:
        raise DataError(f"{name!r} is the name of an operation")
    found = {**definitions, name: expanded(expression, definitions)}
    defined_schema(schema, found)  # refuses a name that no relation can have
    return found


def defined_schema(schema: Schema, definitions: Mapping[str, Expression]) -> Schema:
    """Return the schema of the stored relations and, behind them, of the defined ones."""
    derived = (RelationSchema(name, one.arity, one.roles) for name, one in definitions.items())
    return Schema([*schema, *derived])


def save_definitions(folder: Path, definitions: Mapping[str, Expression]) -> None:
    """Write the definitions of a run, atomically, each over stored relations alone."""
    listed = [{"name": name, "expression": str(one)} for name, one in definitions.items()]
    write_document(folder / DEFINITIONS, _FORMAT, _VERSION, {"relatum": __version__, "definitions": listed})
