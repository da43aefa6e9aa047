"""Text that a spreadsheet takes for a formula when it opens a CSV file, and may run."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator

from relatum.errors import RelatumWarning
from relatum.tables.table import Value

__all__ = ["noticed", "without_formulas"]

_STARTS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def without_formulas(rows: Iterable[tuple[Value, ...]]) -> Iterator[tuple[Value, ...]]:
    """Yield rows whose texts no spreadsheet takes for formulas: an apostrophe stands before those that it would."""
    for row in rows:
        yield tuple(f"'{value}" if _is_formula(value) else value for value in row)


def noticed(rows: Iterable[tuple[Value, ...]]) -> Iterator[tuple[Value, ...]]:
    """Yield rows as they are; at the end warn of the texts that a spreadsheet would take for formulas."""
    found = 0
    for row in rows:
        found += sum(map(_is_formula, row))
        yield row
    if found:
        warnings.warn(
            f"texts written that a spreadsheet would take for formulas: {found:,}; set escape_formulas to disarm them",
            RelatumWarning,
            stacklevel=2,
        )


def _is_formula(value: Value) -> bool:
    return isinstance(value, str) and value.startswith(_STARTS) and not _NUMBER.fullmatch(value)
