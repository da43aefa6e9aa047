"""Empty cells of tables filled: what each most probably holds, how probable that is, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from relatum.data.labels import Labels
from relatum.data.row_store import EMPTY, RowStore, RowTable, TableColumn
from relatum.errors import DataError, UnknownNameError
from relatum.formatting import percent
from relatum.imputation.answers import Imputed, Support
from relatum.imputation.later_rows import come_later
from relatum.imputation.models import ColumnModels
from relatum.progress import progress
from relatum.runs.column_scores import embedding_scores
from relatum.runs.fills import Fill, Fills
from relatum.runs.trained import Trained
from relatum.tables.more_rows import joined_rows, new_rows, read_more_rows
from relatum.tables.table import Value
from relatum.tables.values import value_of

_ALL_PARTS = 2


def fill(
    run: Trained,
    *,
    tables: Sequence[str] = (),
    columns: Sequence[str] = (),
    source: Any = None,
    min_probability: float = 0.0,
) -> Fills:
    """Return what the empty cells of tables most probably hold; arguments as of `Run.fill`."""
    rows = rows_of(run)
    models, read, before = models_of(run), rows, rows
    if source is not None:
        read = read_more_rows(source, rows, tables)
        rows = joined_rows(rows, read, run.split)
        models = ColumnModels(rows, models.models)
        tables = tables or list(read.tables)
    wanted = wanted_columns(rows, models, tables, columns)
    labels, scores = Labels(rows), embedding_scores(run.model, run.tables, rows)
    found: list[Fill] = []
    new = {}
    if source is not None:
        before = before.with_names(rows.names)
        new = {name: new_rows(table, before[name]) for name, table in read.with_names(rows.names).tables.items()}
    gaps = {one: np.flatnonzero(rows[one[0]].column(one[1])[: len(read[one[0]])] == EMPTY) for one in wanted}
    with progress("filling cells", sum(map(len, gaps.values()))) as advance:
        for (table, column), empty in gaps.items():
            if len(empty):
                later = come_later(rows, models.models[table, column], empty, new[table][empty] if table in new else None)
                imputed = models.answer(table, column, empty, most_part=_ALL_PARTS, scores=scores, reasons=1, later=later)
                found += _fills(rows, labels, table, column, empty, imputed, min_probability)
                advance(len(empty))
    return Fills(found, run.name)


def rows_of(run: Trained) -> RowStore:
    """Return the rows of a run's tables, or refuse a run that has none."""
    if run.split.rows is None:
        raise DataError("no-cells", "its data was not imported from tables, so there are no cells to fill", place=run.name)
    return run.split.rows


def models_of(run: Trained) -> ColumnModels:
    """Return the models of a run's columns, or refuse a run that has none."""
    if run.columns is None:
        raise DataError("no-column-models", "has no models of columns", place=run.name, remedy="train it again")
    return run.columns


def wanted_columns(
    rows: RowStore, models: ColumnModels, tables: Sequence[str], columns: Sequence[str]
) -> list[tuple[str, str]]:
    """Return the columns to fill, in the order of their tables."""
    for table in tables:
        if table not in rows.tables:
            raise UnknownNameError("table", table, rows.tables)
    able = [one for one in models.models if not tables or one[0] in tables]
    for name in columns:
        if not any(name in (column, f"{table}.{column}") for table, column in able):
            raise UnknownNameError(
                "column to fill", name, [name for table, column in able for name in (column, f"{table}.{column}")]
            )
    return [(table, column) for table, column in able if not columns or {column, f"{table}.{column}"} & set(columns)]


def _fills(
    rows: RowStore,
    labels: Labels,
    table: str,
    column: str,
    empty: np.ndarray[Any, np.dtype[np.int64]],
    imputed: Imputed,
    least: float,
) -> Iterable[Fill]:
    held = rows[table]
    one = held.schema.column(column)
    for number, row in enumerate(empty.tolist()):
        best, probability = int(imputed.ids[number, 0]), float(imputed.probabilities[number, 0])
        if best < 0 or probability < least:
            continue
        name = rows.names[best]
        value, interval = value_and_interval(name, one)
        identity, is_key = identity_of(rows, held, row)
        reason = reason_text(rows, labels, imputed.supports[number] if imputed.supports else ())
        yield Fill(table, identity, column, value, labels.of(name), interval, probability, reason, is_key)


def value_and_interval(name: str, column: TableColumn) -> tuple[Value, tuple[str, str] | None]:
    """Return the value that an entity of a column stands for, and the interval of a group."""
    text = name.removeprefix(f"{column.entity_type}:") if column.entity_type else name
    if column.bins is None:
        return value_of(text, column.value_type), None
    group = column.bins.names.index(text)
    return value_of(column.bins.median[group], _number_type(column)), (column.bins.least[group], column.bins.greatest[group])


def _number_type(column: TableColumn) -> str:
    """Return what the values in the groups of a column are."""
    return "text" if column.value_type == "date" else "whole"


def identity_of(rows: RowStore, table: RowTable, row: int) -> tuple[dict[str, Value], bool]:
    """Return what a row is known by, and whether that is a key."""
    schema = table.schema
    for key in schema.keys:
        if all(schema.has(name) and schema.column(name).bins is None for name in key):
            cells = {name: int(table.column(name)[row]) for name in key}
            if min(cells.values()) >= 0:
                return {
                    name: value_and_interval(rows.names[cell], schema.column(name))[0] for name, cell in cells.items()
                }, True
    return {"row": row}, False


def reason_text(rows: RowStore, labels: Labels, supports: Sequence[Support]) -> str:
    """Return in words what speaks most for a value."""
    if not supports:
        return "the most frequent value"
    support = supports[0]
    names = [rows.names[one] for one in support.values[:3]]
    shown = " and ".join(labels.of(name) or name.partition(":")[2] or name for name in names)
    counted = f"{support.rows:,.0f} row{'s' * (round(support.rows) != 1)}"
    if support.kind == "context":
        return f"{support.text} is {shown}: {percent(support.share)} of {counted}"
    if support.kind == "copy":
        return f"{support.text} is {shown}: the same in {percent(support.share)} of {counted}"
    return f"the row {support.kind} it by {support.text} has the same: {percent(support.share)} of {counted}"
