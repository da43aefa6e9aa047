"""Names that people give, as entities: in a column of a table a value alone will do, as it stands there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from relatum.algebra import Expression, SelectConstant
from relatum.algebra.column_types import column_types_of
from relatum.algebra.expression import rebuilt
from relatum.data.column_types import ColumnType, ColumnTypes
from relatum.data.schema import RelationSchema
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.errors import DataError, UnknownNameError

__all__ = ["find_entities", "find_entity", "with_entities_found"]


def find_entity(name: str, column_type: ColumnType | None, entities: Vocabulary, column: str) -> int:
    """Return the id of the entity that a name means in a column, or refuse a name that means none there.

    Where the column's entities are of one type, the value alone will do, as it stands in the table: 1 for `Track:1`.
    """
    prefix = "" if column_type is None else column_type.prefix
    if name in entities and name.startswith(prefix):
        return entities.id(name)
    if prefix and prefix + name in entities:
        return entities.id(prefix + name)
    if name in entities and column_type is not None:
        value = name.partition(":")[2]
        hint = f"; did you mean {prefix + value!r}?" if prefix + value in entities else ""
        raise DataError(f"{column} holds entities of type {column_type.entity_type!r}, and {name!r} is not one{hint}")
    if not prefix:
        raise UnknownNameError("entity", name, entities)
    values = (entities[one].removeprefix(prefix) for one in entities.beginning_with(prefix).tolist())
    raise UnknownNameError(f"value of {column}", name, values)


def find_entities(
    arguments: tuple[str | None, ...],
    relation: RelationSchema,
    column_types: tuple[ColumnType | None, ...],
    entities: Vocabulary,
) -> Ids:
    """Return the entities of arguments, int32[arity, 1]; where there is none it holds 0, which is not looked at."""
    if len(arguments) != relation.arity:
        raise DataError(f"{relation} takes {relation.arity} arguments, not {len(arguments)}")
    found = [
        0 if name is None else find_entity(name, column_type, entities, column)
        for name, column_type, column in zip(arguments, column_types, _columns(relation), strict=True)
    ]
    return np.array(found, np.int32)[:, None]


def with_entities_found(expression: Expression, column_types: ColumnTypes, entities: Vocabulary) -> Expression:
    """Return an expression whose constants are names of entities, where they were values as they stand in a table."""

    def found(node: Expression) -> Expression:
        if not isinstance(node, SelectConstant) or node.entity in entities:
            return node
        column_type = column_types_of(node.child, column_types)[node.dropped]
        column = _columns(node.child.schema)[node.dropped]
        return replace(node, entity=entities[find_entity(node.entity, column_type, entities, column)])

    return rebuilt(expression, found)


def _columns(relation: RelationSchema) -> list[str]:
    return list(relation.roles or (f"position {position}" for position in range(relation.arity)))
