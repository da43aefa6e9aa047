"""What a query has that is not there: one line with the position in the text."""

from __future__ import annotations

from collections.abc import Iterable

from relatum.errors import DataError, nearest_names
from relatum.formatting import visible

__all__ = ["Refusals", "SqlError", "with_nearest"]

_MOST_LISTED = 12
_MOST_SHOWN = 400  # characters of a reason


class SqlError(DataError):
    """A query that is not answered, with the line and column, from 1, of what stands in the way."""

    def __init__(self, reason: str, line: int, column: int) -> None:
        self.reason, self.line, self.column = reason, line, column
        super().__init__(f"line {line}, column {column}: {reason}")


class Refusals:
    """Makes the errors of one text out of reasons and offsets."""

    def __init__(self, text: str) -> None:
        self._text = text

    def at(self, offset: int, reason: str) -> SqlError:
        """Return the error for what stands at an offset of the text."""
        before = self._text[: max(offset, 0)]
        shown = visible(reason)  # a quoted name may hold anything, and be as long as it likes
        reason = shown if len(shown) <= _MOST_SHOWN else f"{shown[: _MOST_SHOWN - 3]}..."
        return SqlError(reason, before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)


def with_nearest(what: str, name: str, known: Iterable[str]) -> str:
    """Return that there is no such name, with the nearest ones that are there, or else all if they are few."""
    listed = tuple(dict.fromkeys(known))
    nearest = nearest_names(name, listed)
    if nearest:
        return f"unknown {what} {name!r}; did you mean {' or '.join(map(repr, nearest))}?"
    return f"unknown {what} {name!r}" + (f"; known: {', '.join(listed)}" if 0 < len(listed) <= _MOST_LISTED else "")
