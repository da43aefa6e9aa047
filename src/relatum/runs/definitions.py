"""Relations that a person has defined on a run: a file of their own, which never touches what was trained.

A definition is kept as it is made from those before it, by their names, so a chain of definitions stays as short as it was
written; in memory what they share is one expression.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypedDict

from relatum.algebra import Expression, Relation, expanded, parse
from relatum.algebra.expression import OPERATIONS
from relatum.algebra.node import Node
from relatum.artefacts import read
from relatum.data.schema import RelationSchema, Schema
from relatum.errors import DataError, RelatumError
from relatum.file_locks import LockTakenError, locked
from relatum.files import is_there, read_document, write_document
from relatum.progress import announce
from relatum.runs.directory import LOCK
from relatum.version import __version__

_FILE = "definitions.json"
_FORMAT, _VERSION = "relatum-definitions", 2
_QUIET, _PATIENCE = 1.0, 30.0  # seconds that one waits for another process without a word, and then with one


class _Definition(TypedDict):
    name: str
    expression: str


class DefinitionsFile(TypedDict):
    """The file of definitions."""

    relatum: str
    definitions: list[_Definition]


def load_definitions(folder: Path, schema: Schema) -> dict[str, Expression]:
    """Return the relations that are defined on a run, by name and in the order of definition, over those of its schema."""
    path = folder / _FILE
    if not is_there(path):
        return {}

    def build(content: object) -> dict[str, Expression]:
        found: dict[str, Expression] = {}
        for one in read(DefinitionsFile, content)["definitions"]:
            found = with_definition(found, one["name"], parse(one["expression"], defined_schema(schema, found)), schema)
        return found

    return read_document(path, _FORMAT, _VERSION, build)


@contextmanager
def definitions_held(folder: Path) -> Iterator[None]:
    """Keep other processes from defining relations on a run, so that none is lost between reading and writing."""
    with ExitStack() as stack:
        try:
            try:
                stack.enter_context(locked(folder / LOCK, _QUIET))
            except LockTakenError:
                announce(f"{folder}: waiting for another process ...")
                stack.enter_context(locked(folder / LOCK, _PATIENCE))
        except LockTakenError:
            why = "another process is training this run, or defining a relation"
            raise RelatumError("run-in-use", why, place=folder, remedy="try again") from None
        yield


def with_definition(
    definitions: Mapping[str, Expression], name: str, expression: Expression, schema: Schema
) -> dict[str, Expression]:
    """Return the definitions with one more, which may be made from those before it; its name must be free."""
    if name in schema or name in definitions:
        raise DataError("name-taken", f"there is a relation {name!r} already")
    if name in OPERATIONS:
        raise DataError("name-taken", f"{name!r} is the name of an operation")
    found = {**definitions, name: expanded(expression, definitions)}
    defined_schema(schema, found)  # refuses a name that no relation can have
    return found


def defined_schema(schema: Schema, definitions: Mapping[str, Expression]) -> Schema:
    """Return the schema of the stored relations and, behind them, of the defined ones."""
    derived = (RelationSchema(name, one.arity, one.roles) for name, one in definitions.items())
    return Schema([*schema, *derived])


def save_definitions(folder: Path, definitions: Mapping[str, Expression]) -> None:
    """Write the definitions of a run, atomically."""
    listed = [{"name": name, "expression": definition_text(definitions, name)} for name in definitions]
    write_document(folder / _FILE, _FORMAT, _VERSION, {"relatum": __version__, "definitions": listed})


def definition_text(definitions: Mapping[str, Expression], name: str, *, roles: bool = False) -> str:
    """Return what defines a relation, as one line, in which the relations that were defined before it have their names."""
    names: dict[Node, str] = {}
    for other, expression in definitions.items():
        if other == name:
            break
        if not isinstance(expression, Relation):
            names.setdefault(expression, other)
    return definitions[name].text(roles=roles, names=names)
