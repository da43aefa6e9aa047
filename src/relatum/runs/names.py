"""Who can stand where: a column of a table that became a relation holds entities of one kind; a customer is never sold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from relatum.data.column_types import ColumnType
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.errors import DataError, nearest_names
from relatum.runs.answers import Question

if TYPE_CHECKING:
    from relatum.runs.trained import Run

__all__ = ["allowed_entities", "given_entities"]


def allowed_entities(run: Run, relation: str) -> list[Ids | None]:
    """Return for each position of a relation the entities that can stand there, ascending; None are all."""
    return [
        None if column_type is None else column_type.ids(run.model.graph.entities)
        for column_type in run.column_types(relation)
    ]


def given_entities(run: Run, question: Question) -> Ids:
    """Return the entities of a question, int32[arity, 1]; an open position holds 0, which is not looked at.

    An entity of another kind than its column's is refused.
    """
    names, schema, found = run.model.graph.entities, run.schema[question.relation], []
    if len(question.arguments) != schema.arity:
        raise DataError(f"{question}: {schema} takes {schema.arity} arguments, not {len(question.arguments)}")
    for position, (name, column_type) in enumerate(zip(question.arguments, run.column_types(schema.name), strict=True)):
        found.append([0 if name is None else names.id(name)])
        if name is not None and column_type is not None and not name.startswith(column_type.prefix):
            column = schema.roles[position] if schema.roles else f"position {position}"
            near = " or ".join(map(repr, _nearest(name, column_type, names)))
            hint = f"; did you mean {near}?" if near else ""
            raise DataError(
                f"{question}: {column} holds entities of kind {column_type.entity_type!r}, and {name!r} is none{hint}"
            )
    return np.array(found, np.int32)


def _nearest(name: str, column_type: ColumnType, names: Vocabulary) -> tuple[str, ...]:
    """Return the names of a kind that may have been meant: the same value above all."""
    same = column_type.prefix + name.partition(":")[2]
    if same in names:
        return (same,)
    return nearest_names(name, (other for other in names if other.startswith(column_type.prefix)))
