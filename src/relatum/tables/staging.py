"""A table brought into the workspace, its columns cleaned and counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relatum.datasets.text_lines import require_columns
from relatum.tables.columns import ColumnPlan, Profile, plan_unread_column
from relatum.tables.engine import Workspace
from relatum.tables.options import Choices
from relatum.tables.source import Source, SourceTable, kind_of
from relatum.tables.values import cleaned

_FRACTIONS = ("FLOAT", "DOUBLE", "DECIMAL")
_COPIED = 1 << 22  # cells up to which cleaned values are copied: to read a view of many columns again and again is slow
_WORDS_OF = 10_000  # values of a column of text whose words are counted
# Whole numbers are times of day if they are up to 2400 and none ends in 60 to 99. Of other numbers two in five would: of as
# many different ones some surely do. They have hours and minutes, and are not 50 or 100 apart.
_TIMES, _HOURS, _MINUTES = 32, 6, 4  # different values that there are at least


@dataclass(frozen=True, slots=True)
class Staged:
    """A table in the workspace."""

    table: SourceTable  # as its source declares it
    view: str  # the view of its cleaned values
    view_columns: dict[str, str]  # the column of `view` that holds each column that was looked at, by name
    types: dict[str, str]  # the DuckDB types of those
    profiles: dict[str, Profile]  # what was counted in those
    unread: dict[str, ColumnPlan]  # what becomes of columns whatever their values are
    rows: int
    raw: str  # the table or view of its values as the source has them, whose columns are called as those of `view`


def stage(workspace: Workspace, source: Source, table: SourceTable, number: int, choices: Choices) -> Staged:
    """Return a table brought into the workspace, its columns counted."""
    settled = {column.name: plan_unread_column(column, table, choices) for column in table.columns}
    unread = {name: plan for name, plan in settled.items() if plan is not None}
    seen = [
        column
        for column in table.columns
        if column.name not in unread or ((table.name, column.name) == choices.time and column.kind != "unreadable")
    ]  # by the column of times facts are split, whether or not it becomes entities
    require_columns(len(seen), f"{table.name}: choose some with --columns, for there are ")
    raw, view = f"raw_{number}", f"table_{number}"
    source.stage(table, seen, raw)
    described = workspace.describe(raw, table.name)[: len(seen)]
    clean = ", ".join(f"{cleaned(name, kind, workspace.null_text)} AS {name}" for name, kind in described) or "c0"
    rows = workspace.one(f"SELECT count(*) FROM {raw}", table.name)[0]  # noqa: S608
    what = "TABLE" if rows * len(seen) <= _COPIED else "VIEW"
    workspace.run(f"CREATE {what} {view} AS SELECT {clean} FROM {raw}", table.name)  # noqa: S608
    counts = [expression for name, kind in described for expression in _counts(name, kind)]
    found = workspace.one(f"SELECT {', '.join(counts)} FROM {view}", table.name) if counts else ()  # noqa: S608
    view_columns, types, profiles = {}, {}, {}
    for index, (column, (name, kind)) in enumerate(zip(seen, described, strict=True)):
        present, is_whole = found[2 * index : 2 * index + 2]
        # One at a time: sets of values of many columns at once may not fit.
        values = f"SELECT {name}, count(*) AS times FROM {view} WHERE {name} IS NOT NULL GROUP BY 1"  # noqa: S608
        distinct, single, least, greatest = workspace.one(_values(values, name, kind), table.name)
        words, length = _words(workspace, values, name, table.name) if kind.startswith("VARCHAR") else (1.0, 0.0)
        view_columns[column.name], types[column.name] = name, kind
        is_times = is_whole and distinct > _TIMES and _are_times(workspace, values, name, (least, greatest), table.name)
        profiles[column.name] = Profile(
            kind_of(kind), is_whole, rows, rows - present, distinct, words, length, single, least, greatest, is_times
        )
    return Staged(table, view, view_columns, types, profiles, unread, rows, raw)


def distinct_together(workspace: Workspace, staged: Staged, columns: Sequence[str]) -> int:
    """Return how many different combinations of values some columns have; a row without any of them is left out."""
    listed = [staged.view_columns[name] for name in columns]
    there = " OR ".join(f"{column} IS NOT NULL" for column in listed)
    some = f"SELECT DISTINCT {', '.join(listed)} FROM {staged.view} WHERE {there}"  # noqa: S608
    return int(workspace.one(f"SELECT count(*) FROM ({some})", staged.table.name)[0])  # noqa: S608


def _counts(column: str, duckdb_type: str) -> tuple[str, str]:
    """Return how many values a column has, and the test that they are whole: pandas keeps whole ones with gaps as floats."""
    whole = "true" if kind_of(duckdb_type) == "number" else "false"
    if duckdb_type.startswith(_FRACTIONS):
        whole = f"coalesce(bool_and({column} = floor({column})), false)"
    return f"count({column})", whole


def _values(values: str, column: str, duckdb_type: str) -> str:
    """Return the query for how many different values there are, how many come once, and the least and greatest number."""
    ends = ("NULL", "NULL")
    if kind_of(duckdb_type) == "number":
        ends = (f"CAST(min({column}) AS DOUBLE)", f"CAST(max({column}) AS DOUBLE)")
    return f"SELECT count(*), count(*) FILTER (times = 1), {', '.join(ends)} FROM ({values})"  # noqa: S608


def _are_times(workspace: Workspace, values: str, column: str, ends: tuple[float, float], what: str) -> bool:
    """Return whether whole numbers are times of day, as 2359 for one minute to midnight."""
    if ends[0] < 0 or ends[1] > 2400:
        return False
    hours, minutes = f"CAST({column} AS INTEGER) // 100", f"CAST({column} AS INTEGER) % 100"
    counts = f"count(DISTINCT {hours}), count(DISTINCT {minutes})"
    found = workspace.one(f"SELECT max({minutes}), {counts} FROM ({values})", what)  # noqa: S608
    return bool(found[0] < 60 and found[1] >= _HOURS and found[2] >= _MINUTES)


def _words(workspace: Workspace, values: str, column: str, what: str) -> tuple[float, float]:
    """Return how many words and characters the different texts of a column have on average."""
    some = f"SELECT {column} AS text FROM ({values} LIMIT {_WORDS_OF})"  # noqa: S608
    words = "length(regexp_replace(trim(text), '[^\\s]+', '', 'g')) + 1"
    mean = workspace.one(f"SELECT avg({words}), avg(length(text)) FROM ({some})", what)  # noqa: S608
    return float(mean[0] or 1.0), float(mean[1] or 0.0)
