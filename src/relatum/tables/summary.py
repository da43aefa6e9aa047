"""What an import gives: the split, what became of every table and column, and both as a directory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from relatum.data.hypergraph import Split
from relatum.datasets.load import save
from relatum.files import document
from relatum.tables.options import ImportOptions
from relatum.version import __version__

__all__ = ["RECORD", "ColumnRecord", "Imported", "TableRecord"]

RECORD = "import.json"

_FORMAT, _VERSION = "relatum-import", 1


@dataclass(frozen=True, slots=True)
class TableRecord:
    """What became of the rows of a table: `rows` = `with_null` + `repeated` + `facts`, if it became a relation.

    Attributes:
        table: its name.
        relation: the relation it became, or None.
        rows: how many it has; None if it was not looked at.
        with_null: how many were skipped, for a value is missing in a column that was taken.
        repeated: how many say what another row says, and were left out.
        facts: how many are left.
        note: why there is no relation, if there is none.
    """

    table: str
    relation: str | None
    rows: int | None
    with_null: int
    repeated: int
    facts: int
    note: str


@dataclass(frozen=True, slots=True)
class ColumnRecord:
    """What became of a column: `entities`, `bins` or `left out`, and why.

    `kind` stands before the names of its entities; `nulls` and `distinct` are None if its values were not looked at.
    """

    table: str
    column: str
    type: str
    outcome: str
    kind: str | None
    nulls: int | None
    distinct: int | None
    why: str


@dataclass(frozen=True)
class Imported:
    """Facts made of tables, and what became of every table and column.

    Attributes:
        split: train, valid and test.
        tables: one record for each table.
        columns: one record for each column of a table that was looked at.
        locations: where the tables come from, without passwords; files with their SHA-256.
        options: what was chosen.
    """

    split: Split
    tables: tuple[TableRecord, ...]
    columns: tuple[ColumnRecord, ...]
    locations: Mapping[str, str | None]
    options: ImportOptions

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
        }

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write a new directory that `load` reads, with the record in `import.json`; all of it or nothing.

        The directory may exist if it is empty.
        """
        save(self.split, directory, extra_files={RECORD: document(_FORMAT, _VERSION, self.to_json())})
