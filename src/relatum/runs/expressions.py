"""Expressions bound to a run, and the relations that it defines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from relatum.algebra import Expression, expanded, parse
from relatum.algebra.expression import OPERATIONS
from relatum.algebra.node import PositionOrRole
from relatum.data.schema import RelationSchema, Schema
from relatum.errors import DataError, RelatumError
from relatum.files import atomic_file
from relatum.reasoning.query import Query, QueryAnswer, QueryResult
from relatum.version import __version__

if TYPE_CHECKING:
    from relatum.runs.trained import Run

__all__ = ["BoundExpression", "defined_schema", "load_definitions", "save_definitions", "with_definition"]


@dataclass(frozen=True)
class BoundExpression:
    """An expression over the relations of a run; the methods of expressions make others, and it can be asked."""

    run: Run
    expression: Expression

    def permute(self, *positions: PositionOrRole) -> BoundExpression:
        """Return the same columns in another order."""
        return replace(self, expression=self.expression.permute(*positions))

    def project(self, *positions: PositionOrRole) -> BoundExpression:
        """Return only the given columns, in the given order."""
        return replace(self, expression=self.expression.project(*positions))

    def select(self, position: PositionOrRole, entity: str) -> BoundExpression:
        """Return the tuples that hold `entity` at `position`; the column is dropped."""
        return replace(self, expression=self.expression.select(position, entity))

    def select_equal(self, dropped: PositionOrRole, kept: PositionOrRole) -> BoundExpression:
        """Return the tuples that hold the same entity at both positions; the first of the two columns is dropped."""
        return replace(self, expression=self.expression.select_equal(dropped, kept))

    # The paper's own words.
    rename, where, where_equal = permute, select, select_equal

    def __or__(self, other: BoundExpression) -> BoundExpression:
        return replace(self, expression=self.expression | other.expression)

    def __sub__(self, other: BoundExpression) -> BoundExpression:
        return replace(self, expression=self.expression - other.expression)

    def complete(
        self,
        *arguments: str | None,
        k: int = 10,
        mode: str = "exact",
        new_only: bool = False,
        seconds: float | None = 5.0,
    ) -> QueryResult:
        """Return the k best known and new answers; an argument for each column, None where it is open, or none at all."""
        given = arguments or (None,) * self.expression.arity
        return self.run.query(Query(self.expression, given), k, mode, new_only=new_only, seconds=seconds)

    def score(self, *entities: str) -> QueryAnswer:
        """Return how true one tuple is."""
        (answer,) = self.run.query(Query(self.expression, entities)).answers
        return answer

    def define(self, name: str) -> None:
        """Give the expression a name, under which the run knows it from now on."""
        self.run.define(name, self.expression)


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
