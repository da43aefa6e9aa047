"""Values in SQL: what counts as NULL, and the text by which a value is known; and from that text back."""

from __future__ import annotations

__all__ = ["NULL", "cleaned", "restored", "text_of"]

NULL = "NULL"  # the name of no value, where that is one

# What a line of tab-separated text cannot hold is shown as the picture of it that Unicode has.
_SHOWN = {"\t": "␉", "\n": "␊", "\r": "␍", "\0": "␀"}
_BREAKERS = " || ".join(f"chr({ord(breaker)})" for breaker in _SHOWN)
_PICTURES = f"'{''.join(_SHOWN.values())}'"
_UNSHOWN = str.maketrans({picture: breaker for breaker, picture in _SHOWN.items()})
_BLANK = r"[\s\p{Z}\x1c-\x1f\x85]*"
_FLOATS = ("FLOAT", "DOUBLE")


def cleaned(column: str, duckdb_type: str) -> str:
    """Return the value of a column, NULL where there is none: blank text and not-a-number are no values."""
    if duckdb_type.startswith(_FLOATS):
        return f"CASE WHEN isnan({column}) THEN NULL ELSE {column} END"
    if duckdb_type == "VARCHAR":
        return f"CASE WHEN regexp_full_match({column}, '{_BLANK}') THEN NULL ELSE {column} END"
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
