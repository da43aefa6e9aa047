"""What an import gives: the split, what became of every table and column, and both as a directory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from relatum.data.hypergraph import Split
from relatum.data.near_names import NearNames
from relatum.datasets.load import save
from relatum.files import document
from relatum.tables.links import LinkOffer
from relatum.tables.options import ImportOptions, full_name
from relatum.version import __version__

RECORD = "import.json"

_FORMAT, _VERSION = "relatum-import", 2


@dataclass(frozen=True, slots=True)
class TableRecord:
    """What became of the rows of a table.

    If its rows are facts over several entities, `rows` = `incomplete` + `repeated` + `facts` of that relation. No row is
    lost for a gap: all are kept, and what they lack can be filled.

    Attributes:
        table: its name.
        shape: what its rows became: facts about an `entity`, `fact`s over several, or `both`; None if it gave none.
        relations: those that it gave.
        rows: how many rows it has; None if it was not looked at.
        gaps: how many cells are empty, in columns that became entities.
        incomplete: how many rows lack a value in a column of the relation over several entities.
        repeated: how many rows are the same as another one in the columns of that relation.
        facts: how many facts it gave, of all its relations.
        note: why it has this shape, or gave nothing.
    """

    table: str
    shape: str | None
    relations: tuple[str, ...]
    rows: int | None
    gaps: int
    incomplete: int
    repeated: int
    facts: int
    note: str


def unread_table(name: str) -> TableRecord:
    """Return the record of a table that was not looked at."""
    return TableRecord(name, None, (), None, 0, 0, 0, 0, "not read")


@dataclass(frozen=True, slots=True)
class ColumnRecord:
    """What became of a column: the `key` of its rows, their `label`, `entities`, `bins` or `left out`, and why.

    `kind` stands before the names of its entities; `relation` is the one whose facts hold them, None where they are kept in
    the rows alone; `nulls` and `distinct` are None if its values were not looked at. `lost` says what of its values is not
    kept as its source has them; it is empty where all come back.
    """

    table: str
    column: str
    type: str
    outcome: str
    kind: str | None
    relation: str | None
    nulls: int | None
    distinct: int | None
    why: str
    lost: str = ""


@dataclass(frozen=True)
class Imported:
    """Facts made of tables, and what became of every table and column.

    Attributes:
        split: train, valid and test.
        tables: one record for each table.
        columns: one record for each column of a table that was looked at.
        locations: where the tables come from, without passwords; files with their SHA-256.
        options: what was chosen.
        offers: which columns could be linked to which.
        near_names: of entities and of relations, names that differ only in what people overlook.
    """

    split: Split
    tables: tuple[TableRecord, ...]
    columns: tuple[ColumnRecord, ...]
    locations: Mapping[str, str | None]
    options: ImportOptions
    offers: tuple[LinkOffer, ...] = ()
    near_names: Mapping[str, NearNames] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the record as it stands in `import.json`."""
        parts = {part: len(graph) for part, graph in self.split.parts.items()}
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "relatum": __version__,
            "sources": [{"source": location, "sha256": checksum} for location, checksum in self.locations.items()],
            "options": self.options.to_dict(),
            "entities": len(self.split.entities),
            "relations": len(self.split.schema),
            **parts,
            "tables": [asdict(table) for table in self.tables],
            "columns": [asdict(column) for column in self.columns],
            "links": [
                {**asdict(offer), "column": full_name(offer.column), "target": full_name(offer.target)}
                for offer in self.offers
            ],
            "near_names": {what: near.to_json() for what, near in self.near_names.items()},
        }

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write a new directory that `load` reads, with the record in `import.json`; all of it or nothing.

        The directory may exist if it is empty.
        """
        save(self.split, directory, extra_files={RECORD: document(_FORMAT, _VERSION, self.to_json())})
