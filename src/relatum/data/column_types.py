"""What the entities of a relation's columns are, where it was made from tables: plain text beside the data, `domains.json`.

An imported entity's name begins with what it is, as in `items:17`. With its column type it can be told from a customer, and
turned back into the 17 of the table that it came from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relatum.data.schema import Schema
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.errors import DataError, FormatError
from relatum.files import atomic_file

__all__ = [
    "DOMAINS",
    "ColumnType",
    "ColumnTypes",
    "column_types_from_json",
    "column_types_to_json",
    "find_column_types",
    "save_column_types",
]

DOMAINS = "domains.json"

_FORMAT, _VERSION = "relatum-domains", 1
_FORMS = ("whole", "number", "text")


@dataclass(frozen=True, slots=True)
class ColumnType:
    """What the entities of a column are.

    Attributes:
        entity_type: what stands before the colon in their names; None if their names are the values alone.
        value_type: what the values are: `whole` numbers, any `number`, or `text`.
        nullable: whether NULL was taken for a value, which is then called so.
    """

    entity_type: str | None = None
    value_type: str = "text"
    nullable: bool = False

    def __post_init__(self) -> None:
        if self.value_type not in _FORMS:
            raise DataError(f"form {self.value_type!r} is not one of {', '.join(_FORMS)}")
        if not (self.entity_type is None or isinstance(self.entity_type, str)) or not isinstance(self.nullable, bool):
            raise DataError(f"kind {self.entity_type!r} is not a text, or null {self.nullable!r} not a truth value")

    @property
    def prefix(self) -> str:
        """What the names of its entities begin with."""
        return "" if self.entity_type is None else f"{self.entity_type}:"

    def ids(self, entities: Vocabulary) -> Ids | None:
        """Return the ids of the entities that belong here, ascending; None if all do."""
        return None if self.entity_type is None else entities.beginning_with(self.prefix)


ColumnTypes = Mapping[str, tuple[ColumnType, ...]]  # by relation, one for each position


def save_column_types(folder: Path, column_types: ColumnTypes) -> None:
    """Write `domains.json` into a dataset's folder, atomically."""
    whole = {"format": _FORMAT, "version": _VERSION, "relations": column_types_to_json(column_types)}
    with atomic_file(folder / DOMAINS) as file:
        file.write((json.dumps(whole, indent=1, ensure_ascii=False) + "\n").encode())


def find_column_types(folder: Path, schema: Schema) -> ColumnTypes:
    """Return the column types of the relations of a dataset, or nothing where it does not have them."""
    path = folder / DOMAINS
    if not path.is_file() or _FORMAT.encode() not in path.read_bytes():
        return {}  # there is none, or it is somebody else's file of that name
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
        if (whole["format"], whole["version"]) != (_FORMAT, _VERSION):
            raise DataError(f"format {whole['format']!r}, version {whole['version']!r}")
        found = column_types_from_json(whole["relations"])
        for name, columns in found.items():
            if name in schema and len(columns) != schema[name].arity:
                raise DataError(f"{len(columns)} columns of {schema[name]}")
        return found
    except (DataError, KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise FormatError(path, None, f"not the column types of these facts: {reason}") from None


def column_types_to_json(column_types: ColumnTypes) -> dict[str, Any]:
    """Return column types as plain data."""
    return {
        name: [{"kind": one.entity_type, "form": one.value_type, "null": one.nullable} for one in columns]
        for name, columns in column_types.items()
    }


def column_types_from_json(data: Mapping[str, Any]) -> ColumnTypes:
    """Return column types from plain data; anything else is refused."""
    fields = {"kind": "entity_type", "form": "value_type", "null": "nullable"}
    return {
        name: tuple(ColumnType(**{fields[key]: value for key, value in one.items()}) for one in columns)
        for name, columns in data.items()
    }
