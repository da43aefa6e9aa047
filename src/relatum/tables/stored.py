"""Values between DuckDB and the columns that a run keeps: every value comes back as it was, type for type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from relatum.data.stored_values import StoredColumn, StoredTable, Texts, encoding_of, is_value_type
from relatum.errors import DataError
from relatum.tables.engine import Workspace, WorkspaceError, literal, quoted
from relatum.tables.source import Source
from relatum.tables.staging import Staged
from relatum.tables.table import Column, Table
from relatum.tables.value_types import ANY_DECIMAL, own_type

_FORMS = {"whole": "whole", "truth": "whole", "real": "number"}
_PIECE = 1 << 16  # texts that come as one, which has less than 4 GiB
_EPOCH = "DATE '1970-01-01'"
_DAY = 86_400_000_000  # microseconds
# How numbers of days and ticks are read and made, by type.
_READ = {
    "DATE": f"CAST({{}} - {_EPOCH} AS INTEGER)",
    "TIME": "epoch_us({})",
    "TIMESTAMP": "epoch_us({})",
    "TIMESTAMP_S": "CAST(epoch({}) AS BIGINT)",
    "TIMESTAMP_MS": "epoch_ms({})",
    "TIMESTAMP_NS": "epoch_ns({})",
    "TIMESTAMP WITH TIME ZONE": "epoch_us({})",
}
_MAKE = {
    "DATE": f"{_EPOCH} + CAST({{}} AS INTEGER)",
    "TIME": f"CASE WHEN {{0}} = {_DAY} THEN TIME '24:00:00' ELSE CAST(make_timestamp(CAST({{0}} AS BIGINT)) AS TIME) END",
    "TIMESTAMP": "make_timestamp(CAST({} AS BIGINT))",
    "TIMESTAMP_S": "CAST(make_timestamp(CAST({} AS BIGINT) * 1000000) AS TIMESTAMP_S)",
    "TIMESTAMP_MS": "CAST(make_timestamp(CAST({} AS BIGINT) * 1000) AS TIMESTAMP_MS)",
    "TIMESTAMP_NS": "make_timestamp_ns(CAST({} AS BIGINT))",
    "TIMESTAMP WITH TIME ZONE": "make_timestamptz(CAST({} AS BIGINT))",
}


def read_values(workspace: Workspace, source: Source, staged: Staged) -> StoredTable:
    """Return the values of a table that is staged, as its source has them."""
    what, stated = staged.table.name, source.value_types(staged.table)
    known = dict(workspace.describe(staged.raw, what))
    texts = f"{staged.raw}_text"  # where values came as text, the view has what was found in it
    came_as_text = workspace.one("SELECT count(*) FROM duckdb_tables() WHERE table_name = ?", what, [texts])[0]
    columns = []
    for name, column in staged.view_columns.items():
        if came_as_text:
            kept = read_text_column(workspace, name, column, texts, stated.get(name), known[column], what)
        else:
            kept = read_column(workspace, name, column, staged.raw, known[column], what)
        word = staged.table.column(name).type
        own = own_type(source.database, word) if source.database is not None else None
        columns.append(replace(kept, own_type=own))
    return StoredTable(what, tuple(columns))


def losses(source: Source, staged: Staged, kept: StoredTable) -> dict[str, str]:
    """Return what is lost of the values of columns, and which are kept as another type, in a few words by name."""
    stated, found = source.value_types(staged.table), dict(source.losses(staged.table))
    for column in staged.table.columns:
        if column.name not in kept:
            found[column.name] = f"values of type {column.type} are not kept" if column.kind == "unreadable" else "not kept"
        elif kept[column.name].type == "VARCHAR" and stated.get(column.name, "VARCHAR") not in ("VARCHAR", ANY_DECIMAL):
            found.setdefault(column.name, f"kept as text, for some values are no {stated[column.name]}")
    return found


def read_column(workspace: Workspace, name: str, expression: str, rows: str, value_type: str, what: str) -> StoredColumn:
    """Return a column of DuckDB: an expression over `rows`, what stands after FROM, of a type, as it is kept."""
    value_type = "INTEGER" if value_type == '"NULL"' else value_type if is_value_type(value_type) else "VARCHAR"
    encoding = encoding_of(value_type)
    if encoding in ("days", "ticks") and value_type != "TIME":
        endless = f"SELECT count(*) FILTER (NOT isfinite({expression})) FROM {rows}"  # noqa: S608
        encoding = "text" if workspace.one(endless, what)[0] else encoding
    if encoding == "text":
        return _read_text(workspace, name, expression, rows, value_type, what)
    chosen = expression
    if encoding in ("days", "ticks"):
        chosen = _READ[value_type].format(expression)
    elif encoding == "scaled":
        chosen = f"CAST(replace(CAST({expression} AS VARCHAR), '.', '') AS BIGINT)"
    found = workspace.arrays(f"SELECT {chosen} AS v FROM {rows}", what)["v"]  # noqa: S608
    missing = None
    if isinstance(found, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(found)
        missing, found = (mask if mask.any() else None), found.filled(0)
    if encoding in ("whole", "days", "ticks", "scaled"):
        if found.dtype == np.uint64 and len(found) and found.max() > np.iinfo(np.int64).max:
            return _read_text(workspace, name, expression, rows, value_type, what)
        found = _narrow(found)
    return StoredColumn(name, value_type, np.ascontiguousarray(found), missing)


def read_text_column(
    workspace: Workspace, name: str, column: str, rows: str, stated: str | None, found: str, what: str
) -> StoredColumn:
    """Return a column that came as text: of the type that its source states, or that was found in it if no text is lost.

    Args:
        workspace: where it is.
        name: of the column.
        column: what holds the texts.
        rows: what stands after FROM.
        stated: the type of the values at their source, as DuckDB calls it; None where the source does not know.
        found: the type that all of the texts fit.
        what: what is read, for messages.
    """
    wanted = _decimal_of(workspace, column, rows, what) if stated == ANY_DECIMAL else stated or found
    if wanted != "VARCHAR":
        text = f"replace({column}, '+', '')" if wanted == "INTERVAL" else column  # PostgreSQL writes -1 days +02:00:00
        typed = f"TRY_CAST({text} AS {wanted})"
        same = f"{typed} IS NOT NULL" if stated else f"CAST({typed} AS VARCHAR) IS NOT DISTINCT FROM {column}"
        if wanted == "DOUBLE":  # which does not hold every whole number
            same += f" AND (abs({typed}) < {1 << 53} OR NOT regexp_full_match({column}, '-?[0-9]+'))"
        test = f"SELECT coalesce(bool_and({same}) FILTER ({column} IS NOT NULL), true) FROM {rows}"  # noqa: S608
        if workspace.one(test, what)[0]:
            return read_column(workspace, name, typed, rows, wanted, what)
    kept = _read_text(workspace, name, column, rows, "VARCHAR", what)
    return kept if found == "VARCHAR" or not kept.texts else replace(kept, read_as=found)


def _decimal_of(workspace: Workspace, column: str, rows: str, what: str) -> str:
    """Return the type of decimal numbers that came as text; VARCHAR where none keeps all as they are written."""
    fraction = f"length(regexp_extract({column}, '\\.([0-9]+)$', 1))"
    whole = f"length(regexp_extract({column}, '^-?0*([0-9]*)', 1))"
    plain = f"regexp_full_match({column}, '-?[0-9]+(\\.[0-9]+)?')"
    found = workspace.one(
        f"SELECT bool_and({plain}), min({fraction}), max({fraction}), max({whole}) "  # noqa: S608
        f"FROM {rows} WHERE {column} IS NOT NULL",
        what,
    )
    is_plain, least, scale, digits = found
    if is_plain is None:
        return "DECIMAL(18,0)"
    fits = is_plain and least == scale and digits + scale <= 38
    return f"DECIMAL({max(digits + scale, 18)},{scale})" if fits else "VARCHAR"


def _read_text(workspace: Workspace, name: str, expression: str, rows: str, value_type: str, what: str) -> StoredColumn:
    """Return a column as the codes of its different texts; of no value an object of Python is made."""
    text = f"CAST({expression} AS VARCHAR) COLLATE C"
    counts = f"SELECT count(DISTINCT {text}), count({text}) FROM {rows}"  # noqa: S608
    distinct, present = workspace.one(counts, what)
    texts = f"SELECT DISTINCT {text} AS t FROM {rows} WHERE {expression} IS NOT NULL ORDER BY t"  # noqa: S608
    if distinct == present:  # all differ, and are kept in the order of rows: to sort them takes long
        texts = f"SELECT {text} AS t FROM {rows} WHERE {expression} IS NOT NULL"  # noqa: S608
    numbered = f"SELECT t, row_number() OVER () - 1 AS number FROM ({texts})"  # noqa: S608
    workspace.run(f"CREATE TABLE stored_texts AS {numbered}", what)
    if distinct == present:
        missing = np.asarray(workspace.arrays(f"SELECT {expression} IS NULL AS v FROM {rows}", what)["v"], np.bool_)  # noqa: S608
        found = np.where(missing, -1, np.cumsum(~missing) - 1)
    else:
        workspace.run("CREATE TYPE stored_code AS ENUM (SELECT t FROM stored_texts ORDER BY number)", what)
        codes = f"coalesce(CAST(enum_code(CAST({text} AS stored_code)) AS INTEGER), -1)"
        found = np.asarray(workspace.arrays(f"SELECT {codes} AS v FROM {rows}", what)["v"], np.int64)  # noqa: S608
        workspace.run("DROP TYPE stored_code")
        missing = found < 0
    lengths = workspace.arrays("SELECT strlen(t) AS v FROM stored_texts ORDER BY number", what)["v"]
    pieces = []
    for first in range(0, distinct, _PIECE):
        some = f"SELECT t FROM stored_texts WHERE number BETWEEN {first} AND {first + _PIECE - 1} ORDER BY number"  # noqa: S608
        pieces.append(str(workspace.one(f"SELECT string_agg(t, '') FROM ({some})", what)[0]).encode())  # noqa: S608
    workspace.run("DROP TABLE stored_texts")
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
    kept = Texts(np.frombuffer(b"".join(pieces), np.uint8), starts)
    data = np.where(missing, 0, found).astype(np.int32)
    return StoredColumn(name, value_type, data, missing if missing.any() else None, kept)


def _narrow(numbers: npt.NDArray[np.integer]) -> npt.NDArray[np.signedinteger]:
    """Return whole numbers in the smallest type that holds them."""
    least, most = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)
    for kind in (np.int8, np.int16, np.int32):
        if np.iinfo(kind).min <= least and most <= np.iinfo(kind).max:
            return numbers.astype(kind)
    return numbers.astype(np.int64)


def write_table(
    workspace: Workspace, table: StoredTable, columns: Iterable[str], target: str, *, as_stored: bool = False
) -> None:
    """Make a table of the workspace of some columns, in the order of rows.

    Values are of the types that comparisons take them for, or, `as_stored`, of those that they have at their source.
    """
    wanted = [replace(table[name], read_as=None) if as_stored else table[name] for name in columns]
    arrays: dict[str, npt.NDArray[Any]] = {"row": np.arange(len(table))}
    for number, one in enumerate(wanted):
        arrays[f"c{number}"] = _array(one)
        if one.encoding == "real" and np.isnan(one.data).any():  # which DuckDB would take for no value
            arrays[f"n{number}"] = np.isnan(one.data) & ~one.gaps
    made = (_made(f"c{number}", one, f"n{number}" in arrays) for number, one in enumerate(wanted))
    chosen = ", ".join(f"{value} AS {quoted(one.name)}" for value, one in zip(made, wanted, strict=True)) or "row"
    try:
        workspace.copy(arrays, f"CREATE TABLE {target} AS", table.name, chosen)
    except WorkspaceError as error:
        raise DataError("damaged-rows", error.reason, place=table.name, remedy="import the tables again") from None


def head_of(workspace: Workspace, table: StoredTable, key: Sequence[str] = ()) -> Table:
    """Return a table as one to write, without its rows; a key that does not hold is left out."""
    own = tuple(key) if key and _is_key(workspace, table, key) else ()
    return _part(table, own, [()] * len(table.columns))


def parts_of(workspace: Workspace, table: StoredTable, head: Table) -> Iterator[Table]:
    """Yield the rows of a table part by part, at least one."""
    write_table(workspace, table, head.names, "exported", as_stored=True)
    yield head
    chosen = ", ".join(_spelled(one) for one in table.columns)
    for columns in workspace.batches(f"SELECT {chosen} FROM exported", table.name):  # noqa: S608
        yield _part(table, head.key, columns)
    workspace.run("DROP TABLE exported")


def _part(table: StoredTable, key: tuple[str, ...], columns: Sequence[Any]) -> Table:
    forms = [_FORMS.get(one.encoding, "text") for one in table.columns]
    made = (
        Column(one.name, form, values, one.type, one.own_type)
        for one, form, values in zip(table.columns, forms, columns, strict=True)
    )
    return Table(table.name, tuple(made), table.name, key)


def _spelled(column: StoredColumn) -> str:
    """Return the expression for values as they are handed over: numbers and truths as such, all else as text."""
    name = quoted(column.name)
    if (column.encoding == "text" and column.type == "UBIGINT") or column.encoding in _FORMS:
        return name
    return f"CAST({name} AS VARCHAR)"


def _is_key(workspace: Workspace, table: StoredTable, key: Sequence[str]) -> bool:
    """Return whether every row has values in some columns that no other row has."""
    if any(name not in table or table[name].missing is not None for name in key):
        return False
    write_table(workspace, table, key, "keys", as_stored=True)
    listed = ", ".join(map(quoted, key))
    alike = f"SELECT count(*) FROM (SELECT 1 FROM keys GROUP BY {listed} HAVING count(*) > 1)"  # noqa: S608
    found = workspace.one(alike, table.name)[0]
    workspace.run("DROP TABLE keys")
    return bool(found == 0)


def _array(column: StoredColumn) -> npt.NDArray[Any]:
    if column.texts is not None:
        return np.array([*column.texts.all(), None], object)[np.where(column.gaps, len(column.texts), column.data)]
    return column.data if column.missing is None else np.ma.array(column.data, mask=column.missing)


def _made(name: str, column: StoredColumn, has_nan: bool) -> str:
    """Return the expression that makes values of what is handed over for them."""
    if column.texts is not None:
        text = f"CAST({name} AS VARCHAR)"  # of a column without any value DuckDB knows no type
        if column.read_as is not None:
            return f"TRY_CAST(trim({text}) AS {column.read_as})"
        return text if column.type == "VARCHAR" else f"CAST({text} AS {column.type})"
    if column.encoding in ("days", "ticks"):
        return _MAKE[column.type].format(name)
    if column.encoding == "scaled":
        scale = int(column.type.rstrip(")").partition(",")[2])
        unit = f"CAST({literal('0.' + '0' * (scale - 1) + '1')} AS DECIMAL({scale + 1},{scale}))" if scale else "1"
        return f"CAST(CAST({name} AS DECIMAL(18,0)) * {unit} AS {column.type})"
    value = f"CASE WHEN n{name[1:]} THEN 'nan' ELSE {name} END" if has_nan else name
    return f"CAST({value} AS {column.type})"
