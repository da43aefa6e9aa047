"""Text that holds nothing but numbers or dates becomes a column of numbers or dates."""

from __future__ import annotations

from collections.abc import Sequence

from relatum.tables.engine import Workspace

__all__ = ["narrow"]

_SAMPLE = 2048  # rows that tell which types are worth a look at all rows

# A code such as 007 is not a number: it would come back as 7. Numbers of more digits than a float64 keeps stay text too.
_WHOLE = "-?(0|[1-9][0-9]{0,17})"
_REAL = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?"
_MOST_DIGITS = 17
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"


def narrow(workspace: Workspace, source: str, target: str, unknown: Sequence[bool], what: str) -> None:
    """Make the view `target` of `source`, a table of text c0, c1, ..., in which the unknown columns have a type."""
    possible = {f"c{place}": list(_tests(f"c{place}")) for place, asked in enumerate(unknown) if asked}
    for rows in (f"(FROM {source} LIMIT {_SAMPLE})", source):
        possible = _fitting(workspace, rows, possible, what)
    columns = []
    for column in (f"c{place}" for place in range(len(unknown))):
        types = possible.get(column)
        columns.append(f"TRY_CAST(trim({column}) AS {types[0]}) AS {column}" if types else column)
    workspace.run(f"CREATE VIEW {target} AS SELECT {', '.join(columns)} FROM {source}")  # noqa: S608


def _fitting(workspace: Workspace, rows: str, possible: dict[str, list[str]], what: str) -> dict[str, list[str]]:
    """Return those of the possible types of each column, from the narrowest, that every value fits."""
    asked = [(column, kind, _tests(column)[kind]) for column, types in possible.items() for kind in types]
    if not asked:
        return {}
    tests = ", ".join(f"coalesce(bool_and({test}) FILTER (trim({column}) <> ''), true)" for column, _, test in asked)
    answers = workspace.one(f"SELECT {tests} FROM {rows}", what)  # noqa: S608
    found: dict[str, list[str]] = {}
    for (column, kind, _), fits in zip(asked, answers, strict=True):
        if fits:
            found.setdefault(column, []).append(kind)
    return found


def _tests(column: str) -> dict[str, str]:
    """Return, for each type from the narrowest, the test that a value fits it."""
    text = f"trim({column})"
    digits = f"length(ltrim(regexp_replace(regexp_replace({text}, '[eE].*', ''), '[^0-9]', '', 'g'), '0'))"
    return {
        "BIGINT": f"regexp_full_match({text}, '{_WHOLE}')",
        "DOUBLE": f"lower({text}) = 'nan' OR (regexp_full_match({text}, '{_REAL}') AND {digits} <= {_MOST_DIGITS})",
        "DATE": f"regexp_full_match({text}, '{_DATE}') AND TRY_CAST({text} AS DATE) IS NOT NULL",
        "TIMESTAMP": f"TRY_CAST({text} AS TIMESTAMP) IS NOT NULL",
    }
