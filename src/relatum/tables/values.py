"""Values as names of entities and back, the types of columns of text, and texts in them that stand for no value."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal

from relatum.data.column_types import ColumnType
from relatum.tables.engine import Batch, CsvRows, Workspace, literal
from relatum.tables.source import SourceColumn
from relatum.tables.table import FORMS, Column, Value

NULL = "NULL"  # the name of no value, where that is one

# What a line of tab-separated text cannot hold is shown as the picture of it that Unicode has.
_SHOWN = {"\t": "␉", "\n": "␊", "\r": "␍", "\0": "␀"}
_BREAKERS = " || ".join(f"chr({ord(breaker)})" for breaker in _SHOWN)
_PICTURES = f"'{''.join(_SHOWN.values())}'"
_UNSHOWN = str.maketrans({picture: breaker for breaker, picture in _SHOWN.items()})
_BLANK = r"[\s\p{Z}\x1c-\x1f\x85]*"
_FLOATS = ("FLOAT", "DOUBLE")


def cleaned(column: str, duckdb_type: str, null_text: Sequence[str] = ()) -> str:
    """Return the value of a column, NULL where there is none: blank text, `null_text` and not-a-number are no values."""
    if duckdb_type.startswith(_FLOATS):
        return f"CASE WHEN isnan({column}) THEN NULL ELSE {column} + 0 END"  # -0 is 0
    if duckdb_type == "VARCHAR":
        # Nearly all text starts with a printable character of ASCII, and is spared the regular expression.
        plain = f"WHEN {column} >= '!' AND {column} < chr(127) THEN {column}"
        blank = f"WHEN regexp_full_match({column}, '{_BLANK}') THEN NULL"
        # Texts are what they are, whatever a column of DuckDB takes for equal.
        absent = ", ".join(literal(text.strip()) for text in null_text)
        absent = f"WHEN trim({column}) IN ({absent}) THEN NULL " if null_text else ""
        return f"CASE {absent}{plain} {blank} ELSE {column} END COLLATE C"
    return column


def text_of(value: str, duckdb_type: str) -> str:
    """Return the text of a value: numbers in their shortest form, dates as ISO 8601 writes them, text as it stands."""
    text = f"CAST({value} AS VARCHAR)"
    if duckdb_type.startswith(_FLOATS):
        return f"CASE WHEN {value} = 0 THEN '0' ELSE regexp_replace({text}, '\\.0$', '') END"
    if duckdb_type.startswith("DECIMAL"):
        return f"CASE WHEN contains({text}, '.') THEN rtrim(rtrim({text}, '0'), '.') ELSE {text} END"
    if duckdb_type.startswith(("VARCHAR", "ENUM")):
        return f"translate({text}, {_BREAKERS}, {_PICTURES})"
    return text


def restored(text: str) -> str:
    """Return the text that a value had, with tabs and line ends for their pictures; values seldom hold the pictures."""
    return text.translate(_UNSHOWN)


_WHOLE = re.compile("-?(0|[1-9][0-9]{0,17})")  # fits in 64 bits, and is written as it stands


def column_of(name: str, entities: Sequence[str], column_type: ColumnType | None, forms: Sequence[str] = FORMS) -> Column:
    """Return the values of entities of a column type as a column: numbers if all of them are, otherwise text.

    Without a column type, or if it is of another kind, an entity keeps its name. `forms` says what the values can be.
    """
    if column_type is None:
        return Column(name, "text", entities)
    texts = [_text(entity, column_type) for entity in entities]
    for form, read in _READERS[column_type.value_type].items():
        if form not in forms:
            continue
        values = [None if text is None else read(text) for text in texts]
        if all((text is None) == (value is None) for text, value in zip(texts, values, strict=True)):
            return Column(name, form, values)
    return Column(name, "text", texts)


def form_of(entities: Iterable[str], column_type: ColumnType | None) -> str:
    """Return the form of the column that `column_of` would make of all of these entities, which are looked at one by one."""
    fitting = {} if column_type is None else _READERS[column_type.value_type]
    for entity in entities:
        if column_type is None or not fitting:
            break
        if (text := _text(entity, column_type)) is not None:
            fitting = {form: read for form, read in fitting.items() if read(text) is not None}
    return next(iter(fitting), "text")


def _text(entity: str, column_type: ColumnType) -> str | None:
    if not entity.startswith(column_type.prefix):
        return entity
    text = entity.removeprefix(column_type.prefix)
    return None if column_type.nullable and text == NULL else restored(text)


def value_of(text: str, value_type: str) -> Value:
    """Return the value that a text stands for: a number if it is one and the type allows, otherwise the text itself."""
    for read in _READERS.get(value_type, {}).values():
        if (value := read(text)) is not None:
            return value
    return restored(text)


def _whole(text: str) -> Value:
    return int(text) if _WHOLE.fullmatch(text) else None


def _number(text: str) -> Value:
    """Return a number that is the same as a float64, or None."""
    try:
        value = float(text)
        return value if Decimal(text) == Decimal(repr(value)) else None
    except (ValueError, ArithmeticError):
        return None


# What values of a form are tried to be read as, in this order.
_READERS: dict[str, dict[str, Callable[[str], Value]]] = {
    "whole": {"whole": _whole, "number": _number},
    "number": {"number": _number},
    "text": {},
}


_SAMPLE = 2048  # rows that tell which types are worth a look at all rows
_TESTS_TOGETHER = 128  # in one statement: the time to plan one grows with the square of its length

# A code such as 007 is not a number: it would come back as 7. Numbers of more digits than a float64 keeps stay text too.
_WHOLE_NUMBER = "-?(0|[1-9][0-9]{0,17})"
_REAL = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?"
_MOST_DIGITS = 17
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOMENT = _DATE + "[ T][0-9]{2}:.*"
_DATES = ("DATE", "TIMESTAMP")


def stage_text(
    workspace: Workspace,
    name: str,
    columns: Sequence[SourceColumn],
    batches: Iterable[Batch | CsvRows],
    rows: int,
    target: str,
) -> None:
    """Make the view `target` of batches of text, which have so many rows, in which the unknown columns have a type."""
    workspace.fill(f"{target}_text", max(len(columns), 1), batches, rows, name)
    unknown = [column.kind == "unknown" for column in columns] or [False]
    infer_types(workspace, f"{target}_text", target, unknown, name)


def infer_types(workspace: Workspace, source: str, target: str, unknown: Sequence[bool], what: str) -> None:
    """Make the view `target` of `source`, a table of text c0, c1, ..., in which the unknown columns have a type.

    The others are text, or dates: many a database keeps dates as text.
    """
    if workspace.null_text:
        names = [f"c{index}" for index in range(len(unknown))]
        present = ", ".join(f"{cleaned(name, 'VARCHAR', workspace.null_text)} AS {name}" for name in names) or "*"
        workspace.run(f"CREATE VIEW {source}_present AS SELECT {present} FROM {source}")  # noqa: S608
        source = f"{source}_present"
    possible = {
        f"c{index}": list(_tests(f"c{index}")) if is_unknown else list(_DATES) for index, is_unknown in enumerate(unknown)
    }
    possible = _fitting(workspace, f"(FROM {source} LIMIT {_SAMPLE})", possible, what)
    found: dict[str, str] = {}
    while possible:  # the narrowest type first: hardly ever is another one looked for in all rows
        fitting = _fitting(workspace, source, {column: types[:1] for column, types in possible.items()}, what)
        found |= {column: types[0] for column, types in fitting.items()}
        possible = {column: types[1:] for column, types in possible.items() if column not in found and types[1:]}
    columns = [
        f"TRY_CAST(trim({column}) AS {found[column]}) AS {column}" if column in found else column
        for column in (f"c{index}" for index in range(len(unknown)))
    ]
    workspace.run(f"CREATE VIEW {target} AS SELECT {', '.join(columns)} FROM {source}")  # noqa: S608


def _fitting(workspace: Workspace, rows: str, possible: dict[str, list[str]], what: str) -> dict[str, list[str]]:
    """Return those of the possible types of each column, from the narrowest, that every value fits."""
    candidates = [(column, kind, _tests(column)[kind]) for column, types in possible.items() for kind in types]
    found: dict[str, list[str]] = {}
    for start in range(0, len(candidates), _TESTS_TOGETHER):
        some = candidates[start : start + _TESTS_TOGETHER]
        tests = ", ".join(f"coalesce(bool_and({test}) FILTER (trim({column}) <> ''), true)" for column, _, test in some)
        answers = workspace.one(f"SELECT {tests} FROM {rows}", what)  # noqa: S608
        for (column, kind, _), fits in zip(some, answers, strict=True):
            if fits:
                found.setdefault(column, []).append(kind)
    return found


def is_number(column: str) -> str:
    """Return the test that a text is a number."""
    return f"regexp_full_match(trim({column}), '{_REAL}')"


def _tests(column: str) -> dict[str, str]:
    """Return, for each type from the narrowest, the test that a value fits it."""
    text = f"trim({column})"
    digits = f"length(ltrim(regexp_replace(regexp_replace({text}, '[eE].*', ''), '[^0-9]', '', 'g'), '0'))"
    # A short text has few digits, and CASE, unlike OR, does not count them.
    is_short = f"CASE WHEN length({text}) <= {_MOST_DIGITS} THEN true ELSE {digits} <= {_MOST_DIGITS} END"
    return {
        "BIGINT": f"regexp_full_match({text}, '{_WHOLE_NUMBER}')",
        "DOUBLE": f"lower({text}) = 'nan' OR (regexp_full_match({text}, '{_REAL}') AND {is_short})",
        "DATE": f"regexp_full_match({text}, '{_DATE}') AND TRY_CAST({text} AS DATE) IS NOT NULL",
        "TIMESTAMP": f"regexp_full_match({text}, '{_MOMENT}') AND TRY_CAST({text} AS TIMESTAMP) IS NOT NULL",
    }


# What people and programs write where a value is missing.
_USUAL = ("na", "n/a", "#n/a", "null", "none", "nan", "nil", "missing", "unknown", "(null)", "<na>")
_SIGNS = ("-", "--", "?", ".", "\\n")
_MOST_TEXTS = 3  # in one hint


def null_like(workspace: Workspace, view: str, columns: Sequence[str], what: str = "tables") -> dict[str, dict[str, int]]:
    """Return, for columns of text that hold numbers but for such texts, how often each of these stands there.

    Columns of other types than text are passed over.
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
    return f"lower(trim({column})) IN ({', '.join(map(literal, _USUAL + _SIGNS))})"


def null_hint(counts: Mapping[str, int]) -> str:
    """Return what to do about texts that stand for no value, with how often each does: `12 values are 'NA': ...`."""
    listed = [f"{count:,} {text!r}" for text, count in counts.items()]
    (first, count), *_ = counts.items()
    listed[0] = f"{count:,} value{'s are' if count != 1 else ' is'} {first!r}"
    return f"{', '.join(listed)}: --null-text {shlex.quote(','.join(counts))}"
