"""What the entities of a relation's columns are, where it was made from tables: JSON beside the data, `column_types.json`.

An imported entity's name begins with what it is, as in `items:17`. With its column type it can be told from a customer, and
turned back into the 17 of the table that it came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypedDict

from relatum.artefacts import read
from relatum.data.schema import Schema
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.errors import DataError
from relatum.files import read_document, read_whole, write_document

COLUMN_TYPES = "column_types.json"

_FORMAT, _VERSION = "relatum-column-types", 1


@dataclass(frozen=True, slots=True)
class ColumnType:
    """What the entities of a column are."""

    # what stands before the colon in their names; None if their names are the values alone
    entity_type: str | None = None
    # what the values are: `whole` numbers, any `number`, or `text`
    value_type: Literal["whole", "number", "text"] = "text"
    nullable: bool = False  # whether NULL was taken for a value, which is then called so

    @property
    def prefix(self) -> str:
        """What the names of its entities begin with."""
        return "" if self.entity_type is None else f"{self.entity_type}:"

    def ids(self, entities: Vocabulary) -> Ids | None:
        """Return the ids of the entities that belong here, ascending; None if all do."""
        return None if self.entity_type is None else entities.beginning_with(self.prefix)


class _File(TypedDict):
    relations: dict[str, tuple[ColumnType, ...]]


ColumnTypes = Mapping[str, tuple[ColumnType, ...]]  # by relation, one for each position


def entity_types(column_types: ColumnTypes) -> tuple[str, ...]:
    """Return the types that entities have, the longest first: one that begins another is the last resort."""
    found = {one.entity_type for columns in column_types.values() for one in columns if one is not None}
    return tuple(sorted((one for one in found if one is not None), key=lambda name: (-len(name), name)))


def save_column_types(folder: Path, column_types: ColumnTypes) -> None:
    """Write `column_types.json` into a dataset's folder, atomically."""
    relations = {name: [asdict(one) for one in columns] for name, columns in column_types.items()}
    write_document(folder / COLUMN_TYPES, _FORMAT, _VERSION, {"relations": relations})


def read_column_types(path: Path, schema: Schema) -> ColumnTypes:
    """Return the column types in `column_types.json`; nothing if it is somebody else's of that name."""
    if _FORMAT.encode() not in read_whole(path):
        return {}

    def build(content: object) -> ColumnTypes:
        found: ColumnTypes = read(_File, content)["relations"]
        for name, columns in found.items():
            if name in schema and len(columns) != schema[name].arity:
                raise DataError("mismatched-parts", f"{len(columns)} columns of {schema[name]}")
        return found

    return read_document(path, _FORMAT, _VERSION, build)
