"""The rows of tables as safetensors files beside the facts.

`rows.safetensors` holds what is learned from: cells, parts and labels of every table. `values.safetensors` holds what stands
in the source, and is mapped: what nobody asks for is not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from relatum.artefacts import read
from relatum.data.row_store import RowStore, RowTable, TableSchema
from relatum.data.stored_values import StoredColumn, StoredTable, Texts
from relatum.data.vocabulary import Vocabulary
from relatum.errors import DataError
from relatum.files import is_there
from relatum.tensor_files import map_arrays, read_tensors, write_tensors

ROWS, VALUES = "rows.safetensors", "values.safetensors"

_FORMAT, _VALUES_FORMAT, _VERSION = "relatum-rows", "relatum-values", 1


class RowsAbout(TypedDict):
    """What a file of rows says about itself."""

    tables: list[TableSchema]
    options: dict[str, Any]  # checked by what reads them, `ImportOptions`
    sources: list[str]


def save_rows(folder: Path, rows: RowStore) -> None:
    """Write the rows of tables into a folder, atomically."""
    arrays: dict[str, npt.NDArray[Any]] = {"names": _packed(rows.names.names)}
    for number, table in enumerate(rows.tables.values()):
        arrays[f"{number}/cells"], arrays[f"{number}/parts"] = table.cells, table.parts
        if table.labels is not None:
            arrays[f"{number}/labels"] = _packed(table.labels)
    about = {
        "tables": [table.schema.to_json() for table in rows.tables.values()],
        "options": dict(rows.options),
        "sources": list(rows.sources),
    }
    if rows.values:
        _save_values(folder / VALUES, rows.values)
    write_tensors(folder / ROWS, arrays, _FORMAT, _VERSION, about)


def load_rows(folder: Path) -> RowStore | None:
    """Return the rows that are kept in a folder, or None if there are none; damaged ones are refused."""
    path = folder / ROWS
    if not is_there(path):
        return None
    stored = read_tensors(path, _FORMAT, _VERSION)
    if stored is None:
        raise DataError("damaged-rows", "damaged, or of another version", place=path, remedy="import the tables again")
    try:
        arrays = stored.arrays
        about = read(RowsAbout, stored.about)
        schemas = about["tables"]
        tables = {schema.name: _table(schema, number, arrays) for number, schema in enumerate(schemas)}
        names, sources = Vocabulary(_unpacked(arrays["names"])), tuple(about["sources"])
        return RowStore(names, tables, about["options"], sources, _load_values(folder / VALUES))
    except (DataError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise DataError(
            "damaged-rows", f"not the rows of tables ({error})", place=path, remedy="import the tables again"
        ) from None


class _ColumnAbout(TypedDict):
    name: str
    type: str
    read_as: str | None
    own_type: str | None


class _TableAbout(TypedDict):
    name: str
    columns: list[_ColumnAbout]


class ValuesAbout(TypedDict):
    """What a file of values says about itself."""

    tables: list[_TableAbout]


def _save_values(path: Path, values: Mapping[str, StoredTable]) -> None:
    arrays: dict[str, npt.NDArray[Any]] = {}
    tables = []
    for number, table in enumerate(values.values()):
        columns = []
        for index, one in enumerate(table.columns):
            columns.append({"name": one.name, "type": one.type, "read_as": one.read_as, "own_type": one.own_type})
            arrays[f"{number}/{index}"] = one.data
            if one.missing is not None:
                arrays[f"{number}/{index}/missing"] = one.missing
            if one.texts is not None:
                arrays[f"{number}/{index}/texts"], arrays[f"{number}/{index}/starts"] = one.texts.data, one.texts.starts
        tables.append({"name": table.name, "columns": columns})
    write_tensors(path, arrays, _VALUES_FORMAT, _VERSION, {"tables": tables})


def _load_values(path: Path) -> dict[str, StoredTable]:
    if not is_there(path):
        return {}
    stored = map_arrays(path, _VALUES_FORMAT, _VERSION, None)
    if stored is None:
        raise DataError("damaged-rows", "damaged, or of another version", place=path, remedy="import the tables again")
    found = {}
    for number, table in enumerate(read(ValuesAbout, stored.about)["tables"]):
        columns = tuple(_column(one, f"{number}/{index}", stored.arrays) for index, one in enumerate(table["columns"]))
        found[table["name"]] = StoredTable(table["name"], columns)
    return found


def _column(about: _ColumnAbout, name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> StoredColumn:
    texts = Texts(arrays[f"{name}/texts"], arrays[f"{name}/starts"]) if f"{name}/texts" in arrays else None
    words = about["read_as"], about["own_type"]
    column = StoredColumn(about["name"], about["type"], arrays[name], arrays.get(f"{name}/missing"), texts, *words)
    column.check_texts()
    return column


def _table(schema: TableSchema, number: int, arrays: dict[str, npt.NDArray[Any]]) -> RowTable:
    cells, parts, labels = (arrays.get(f"{number}/{name}") for name in ("cells", "parts", "labels"))
    if cells is None or parts is None or cells.dtype != np.int32 or parts.dtype != np.int8:
        raise DataError("damaged-rows", f"the cells of {schema.name!r} are missing")
    return RowTable(schema, cells, parts, None if labels is None else tuple(_unpacked(labels)))


def _packed(texts: Iterable[str]) -> npt.NDArray[np.uint8]:
    """Return texts, none of which holds a line end, as bytes: one a line."""
    return np.frombuffer("".join(f"{text}\n" for text in texts).encode(), np.uint8)


def _unpacked(lines: npt.NDArray[np.uint8]) -> list[str]:
    return lines.tobytes().decode().split("\n")[:-1]
