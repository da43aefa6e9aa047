"""Tables as text: CSV, TSV and JSON lines, all in UTF-8."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

from relatum.tables.table import Table, free_name

__all__ = ["write_csv", "write_json_lines", "write_tsv"]


def write_csv(tables: Sequence[Table], path: Path) -> None:
    """Write one table with a header; no value is an empty field."""
    _write_delimited(tables, path, ",")


def write_tsv(tables: Sequence[Table], path: Path) -> None:
    """Write one table as `write_csv` does, with tabs for commas."""
    _write_delimited(tables, path, "\t")


def write_json_lines(tables: Sequence[Table], path: Path) -> None:
    """Write tables as one object a row, which says what relation it is of."""
    with path.open("x", encoding="utf-8", newline="\n") as file:
        for table in tables:
            names = [free_name("relation", table.names), *table.names]
            for row in table.rows():
                file.write(json.dumps(dict(zip(names, (table.relation, *row), strict=True)), ensure_ascii=False) + "\n")


def _write_delimited(tables: Sequence[Table], path: Path, delimiter: str) -> None:
    (table,) = tables
    with path.open("x", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(table.names)
        writer.writerows(table.rows())
