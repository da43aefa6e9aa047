"""Relations that a person has defined on a run: a file of their own, which never touches what was trained."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from relatum.algebra import Expression, expanded, parse
from relatum.algebra.expression import OPERATIONS
from relatum.data.schema import RelationSchema, Schema
from relatum.errors import DataError, RelatumError
from relatum.files import atomic_file
from relatum.version import __version__

__all__ = ["defined_schema", "load_definitions", "save_definitions", "with_definition"]


_FILE = "definitions.json"
_FORMAT, _VERSION = "relatum-definitions", 1


def load_definitions(folder: Path, schema: Schema) -> dict[str, Expression]:
    """Return the defined relations of a run, by name and in the order of definition, over those of its schema."""
    path = folder / _FILE
    if not path.exists():
        return {}
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
        if (whole["format"], whole["version"]) != (_FORMAT, _VERSION):
            raise DataError(f"not definitions of version {_VERSION}")
        found: dict[str, Expression] = {}
        for one in whole["definitions"]:
            found = with_definition(found, one["name"], parse(one["expression"], schema), schema)
        return found
    except (ValueError, KeyError, TypeError, RelatumError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{path}: damaged or foreign definitions ({type(error).__name__}: {reason})") from None


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
    whole = {"format": _FORMAT, "version": _VERSION, "relatum": __version__, "definitions": listed}
    with atomic_file(folder / _FILE) as file:
        file.write((json.dumps(whole, indent=1, ensure_ascii=False) + "\n").encode())
