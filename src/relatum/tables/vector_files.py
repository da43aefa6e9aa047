"""Vectors of one's own for the rows of imported tables, read from a file of names and numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from relatum.arrays import Float32
from relatum.data.row_store import RowStore, Vectors
from relatum.errors import DataError, UnknownNameError
from relatum.tables.engine import Workspace
from relatum.tables.open import open_sources
from relatum.tables.options import ImportOptions
from relatum.tables.source import kind_of
from relatum.tables.values import text_of

_MOST = 1 << 28  # numbers in all: 1 GB
_VectorsError = partial(DataError, place="vectors")


@dataclass(frozen=True, slots=True)
class VectorRecord:
    """What became of a file of vectors."""

    source: str  # the file
    table: str  # the table whose rows they are of
    rows: int  # how many rows have one
    length: int  # how many numbers each has
    unknown: int  # how many names in the file no row has

    def __str__(self) -> str:
        unknown = f"; {self.unknown:,} names in {self.source} are in no row" if self.unknown else ""
        return f"vectors of {self.length:,} numbers for {self.rows:,} rows of {self.table}{unknown}"


def read_vectors(given: Iterable[str], rows: RowStore) -> tuple[RowStore, tuple[VectorRecord, ...]]:
    """Return rows with vectors from files, and what became of each file.

    A file has a column of keys, and beside it one column of lists of numbers, or columns of numbers. The column of keys is
    called as in the table (`Track.TrackId`), or is the first one if the table is named.

    Each of those given is `FILE` or `TABLE=FILE`: whatever an import reads as a table.
    """
    found, records = dict(rows.vectors), []
    for text in given:
        table, path = _named(text)
        if table is not None and table not in rows.tables:
            raise UnknownNameError("table", table, rows.tables)
        with Workspace() as workspace, open_sources(path, workspace, ImportOptions()) as sources:
            if len(sources) != 1:
                raise _VectorsError("bad-vectors", f"{path} holds {len(sources)} tables, not one")
            ((source, described),) = sources.values()
            heads = [column.name for column in described.columns]
            table, key = _table_and_key(path, heads, rows, table)
            source.stage(described, described.columns, "vectors")
            types = dict(workspace.describe("vectors", str(path)))
            schema = rows[table].schema
            kind = schema.column(str(schema.row_key)).entity_type
            names, values = _read(workspace, path, heads, types, key, f"{kind}:" if kind else "")
        known = np.array([name in rows.names for name in names], np.bool_)
        ids = rows.names.ids([name for name, there in zip(names, known, strict=True) if there])
        has = np.isin(ids, rows[table].column(str(schema.row_key)))
        if not has.any():
            raise _VectorsError("bad-vectors", f"{path}: none of its names is in {table}.{schema.row_key}")
        if table in found:
            raise _VectorsError("bad-vectors", f"there are two files for table {table!r}")
        found[table] = Vectors.of(ids[has], values[known][has])
        unknown = len(names) - len(found[table])
        records.append(VectorRecord(str(path), table, len(found[table]), values.shape[1], unknown))
    return RowStore(rows.names, rows.tables, rows.options, rows.sources, found), tuple(records)


def _named(text: str) -> tuple[str | None, Path]:
    """Return the table and the file of `TABLE=FILE`; a file may hold an equals sign itself."""
    name, equals, path = text.partition("=")
    return (None, Path(text)) if not equals or Path(text).exists() else (name, Path(path))


def _table_and_key(path: Path, heads: Sequence[str], rows: RowStore, table: str | None) -> tuple[str, int]:
    """Return the table that vectors are of, and which column has its keys."""
    for name in [table] if table is not None else list(rows.tables):
        key = rows[name].schema.row_key
        if key is None:
            continue
        headings = [f"{name}.{key}", name, *([key] if table is not None else [])]
        if index := next((heads.index(heading) for heading in headings if heading in heads), -1) + 1:
            return name, index - 1
    if table is None:
        reason = f"{path}: no column is called by table and key, such as Track.TrackId"
        raise _VectorsError("bad-vectors", reason, remedy=f"or write TABLE={path.name}")
    if rows[table].schema.row_key is None:
        raise _VectorsError("bad-vectors", f"table {table!r} has no key of one column that its rows are known by")
    return table, 0


def _read(
    workspace: Workspace, path: Path, heads: Sequence[str], types: dict[str, str], key: int, prefix: str
) -> tuple[list[str], Float32]:
    """Return the names of a file, and its numbers, float32[n, d]."""
    columns = [f"c{index}" for index in range(len(heads)) if index != key]
    lists = [column for column in columns if types[column].endswith("]")]
    if not columns or (lists and len(columns) > 1):
        raise _VectorsError(
            "bad-vectors", f"{path}: beside the names there must be one column of lists, or columns of numbers"
        )
    for column in columns if not lists else ():
        if kind_of(types[column]) != "number":
            raise _VectorsError("bad-vectors", f"{path}: column {heads[int(column[1:])]!r} holds no numbers")
    # A column of lists as it is, or one list of the columns; a number that is missing is found below.
    numbers = ", ".join(f"coalesce(CAST({column} AS FLOAT), 'nan'::FLOAT)" for column in columns)
    vector = f"CAST({lists[0]} AS FLOAT[])" if lists else f"[{numbers}]"
    vectors = f"SELECT {vector} AS v FROM vectors"  # noqa: S608
    least, length, absent, count = workspace.one(
        f"SELECT min(len(v)), max(len(v)), count(*) - count(v), count(*) FROM ({vectors})",  # noqa: S608
        str(path),
    )
    if least != length or absent:
        raise _VectorsError(
            "bad-vectors", f"{path}: its lists have {(0 if absent else least)} to {length} numbers, not one length"
        )
    if not count or not length or count * length > _MOST:
        reason = f"{path}: {count:,} vectors of {length or 0:,} numbers; there may be {_MOST:,} in all"
        raise _VectorsError("over-limit", reason)
    text = f"SELECT {text_of(f'c{key}', types[f'c{key}'])} AS name FROM vectors"  # noqa: S608
    names = workspace.arrays(text, str(path))["name"].tolist()
    if None in names:
        raise _VectorsError("bad-vectors", f"{path}: a row has no name")
    twice = [name for name, often in Counter(names).items() if often > 1]
    if twice:
        raise _VectorsError("bad-vectors", f"{path}: {twice[0]!r} is there twice")
    values = np.empty((count, length), np.float32)
    values[:] = np.stack(workspace.arrays(vectors, str(path))["v"].tolist())
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
        raise _VectorsError(
            "bad-vectors", f"{path}: the vector of {names[row]!r} has a number that is missing or not finite"
        )
    return [f"{prefix}{name}" for name in names], values
