"""Texts that stand for no value, such as NA, in columns whose other values are numbers."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from relatum.tables.engine import Workspace, literal
from relatum.tables.values import is_number

# What people and programs write where a value is missing.
_USUAL = (
    "na",
    "n/a",
    "#n/a",
    "null",
    "none",
    "nan",
    "nil",
    "-",
    "--",
    "?",
    ".",
    "missing",
    "unknown",
    "\\n",
    "(null)",
    "<na>",
)
_SAMPLE = 2048  # rows that tell which columns are worth a look at all rows
_MOST_TEXTS = 3  # in one hint


def null_like(workspace: Workspace, view: str, columns: Sequence[str], what: str = "tables") -> dict[str, dict[str, int]]:
    """Return, for columns of text that hold numbers but for such texts, how often each of these stands there.

    Args:
        workspace: where `view` is.
        view: a table or view.
        columns: those of its columns to look at; other types than text are passed over.
        what: what a message calls the table.
    """
    types = dict(workspace.describe(view, what))
    possible = [name for name in columns if types.get(name) == "VARCHAR"]
    for rows in (f"(FROM {view} LIMIT {_SAMPLE})", view):
        possible = _mixed(workspace, rows, possible, what, whole=rows == view)
    found = {}
    for name in possible:
        query = (
            f"SELECT trim({name}), count(*) FROM {view} WHERE {_is_null_like(name)} "  # noqa: S608
            f"GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {_MOST_TEXTS}"
        )
        found[name] = {str(text): int(count) for text, count in workspace.rows(query, what)}
    return found


def _mixed(workspace: Workspace, rows: str, columns: list[str], what: str, *, whole: bool) -> list[str]:
    """Return the columns without other values than numbers and such texts; of all rows, only those that have both."""
    if not columns:
        return []
    tests = []
    for name in columns:
        others = f"count(*) FILTER (trim({name}) <> '' AND NOT ({_is_null_like(name)}) AND NOT ({is_number(name)}))"
        tests += [others, f"count(*) FILTER ({_is_null_like(name)})", f"count(*) FILTER ({is_number(name)})"]
    answers = workspace.one(f"SELECT {', '.join(tests)} FROM {rows}", what)  # noqa: S608
    counts = zip(columns, answers[::3], answers[1::3], answers[2::3], strict=True)
    return [name for name, others, texts, numbers in counts if not others and (not whole or (texts and numbers))]


def _is_null_like(column: str) -> str:
    return f"lower(trim({column})) IN ({', '.join(map(literal, _USUAL))})"


def null_hint(counts: Mapping[str, int]) -> str:
    """Return what to do about texts that stand for no value, with how often each does: `12 values are 'NA': ...`."""
    listed = [f"{count:,} {text!r}" for text, count in counts.items()]
    (first, count), *_ = counts.items()
    listed[0] = f"{count:,} value{'s are' if count != 1 else ' is'} {first!r}"
    return f"{', '.join(listed)}: --null-text {shlex.quote(','.join(counts))}"
