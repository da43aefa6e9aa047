"""Laws between the numbers and dates of a table's rows: which cells say just what the rest of their row does.

a = b, a = b + constant, a = constant * b, a = b + c and a = b * c, by whole numbers of last digits and of ticks, so that
nothing is rounded. A law is one that all rows with values follow, or all but one of a hundred: the rest may be the errors.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from relatum.arrays import Bool, Int64
from relatum.data.stored_values import StoredColumn, StoredTable, Texts
from relatum.data.value_scale import ValueScale

_LEAST = 20  # rows that follow a law beside the one that is looked at
_EXCEPTIONS = 0.01  # of the rows with values, at most
_DIFFERENT = 20  # values of a column at least, for a law with exceptions
_SAMPLE = 256  # rows that tell which laws are worth a look at all rows
_COLUMNS, _OF_THREE = 40, 12  # that are compared in twos and in threes
_MOST_DIGITS = 6  # behind the point of a float
_ROOM = 2**62  # products below it are exact
_MICROSECONDS = {"DATE": 86_400_000_000, "TIMESTAMP_S": 1_000_000, "TIMESTAMP_MS": 1000}


@dataclass(frozen=True, eq=False)
class _Numbers:
    """A column as whole numbers: of units of 10 ** -digits, or of dates and moments in microseconds."""

    name: str
    values: Int64
    there: Bool
    digits: int
    is_date: bool
    is_text: bool  # whose numbers are equal to others, or not; nothing is reckoned with them

    def scaled(self, digits: int) -> Int64 | None:
        """Return the numbers in smaller units; None where they do not fit."""
        factor = 10 ** (digits - self.digits)
        return self.values * factor if np.abs(self.values).max(initial=0) * factor < _ROOM else None

    def take(self, rows: Int64) -> _Numbers:
        """Return some rows."""
        return _Numbers(self.name, self.values[rows], self.there[rows], self.digits, self.is_date, self.is_text)


class Laws:
    """The laws of a table."""

    def __init__(self, table: StoredTable) -> None:
        self._rows = len(table)
        found = (_numbers_of(column) for column in table.columns)
        columns = [one for one in found if one is not None and one.there.sum() > _LEAST][:_COLUMNS]
        self._follow: dict[str, Bool] = {}
        for names in _candidates(columns):
            follow, there = _following(names)
            if _is_law(names, follow, there):
                for one in names:
                    before = self._follow.get(one.name)
                    self._follow[one.name] = follow if before is None else before | follow

    def follow(self, column: str) -> Bool:
        """Return in which rows a column says what others do by a law."""
        return self._follow.get(column, np.zeros(self._rows, np.bool_))


def _candidates(columns: list[_Numbers]) -> Iterator[tuple[_Numbers, ...]]:
    """Yield the columns, two or three together, that follow a law in a few rows."""
    numeric = [one for one in columns if not one.is_date and not one.is_text][:_OF_THREE]
    threes = ((a, b, c) for a in numeric for b, c in itertools.combinations(numeric, 2) if a is not b and a is not c)
    for names in itertools.chain(itertools.combinations(columns, 2), threes):
        rows = np.flatnonzero(np.logical_and.reduce([one.there for one in names]))
        if len(rows) > _LEAST:
            some = rows[np.linspace(0, len(rows) - 1, min(_SAMPLE, len(rows)), dtype=np.int64)]
            follow, _ = _following(tuple(one.take(some) for one in names))
            if np.count_nonzero(follow) >= len(some) * (1 - 5 * _EXCEPTIONS):
                yield names


def _is_law(columns: tuple[_Numbers, ...], follow: Bool, there: Bool) -> bool:
    """Return whether enough rows follow, and of the columns enough is to be told."""
    rows, exceptions = int(np.count_nonzero(there)), int(np.count_nonzero(there & ~follow))
    if rows - exceptions <= _LEAST or exceptions > rows * _EXCEPTIONS:
        return False
    different = min(len(np.unique(one.values[follow])) for one in columns)
    return different > 1 if not exceptions else different >= _DIFFERENT


def _following(columns: tuple[_Numbers, ...]) -> tuple[Bool, Bool]:
    """Return which rows follow the best law of two or three columns, and which have all values."""
    there = np.logical_and.reduce([one.there for one in columns])
    a, b, *more = columns
    follow = _of_three(a, b, more[0], there) if more else _of_two(a, b, there)
    return follow & there, there


def _of_two(a: _Numbers, b: _Numbers, there: Bool) -> Bool:
    nothing = np.zeros(len(there), np.bool_)
    if a.is_date != b.is_date:
        return nothing
    digits = max(a.digits, b.digits)
    left, right = a.scaled(digits), b.scaled(digits)
    if left is None or right is None:
        return nothing
    if a.is_text or b.is_text:
        return np.asarray(left == right)
    apart = left - right
    values, counts = np.unique(apart[there], return_counts=True)
    found = apart == values[counts.argmax()] if len(values) else nothing
    if a.is_date or np.abs(left).max(initial=0) * float(np.abs(right).max(initial=0)) >= _ROOM:
        return np.asarray(found)
    inside = np.flatnonzero(there & (right != 0))
    for row in inside[[len(inside) // 3, len(inside) // 2, -1]].tolist() if len(inside) else ():
        times = left * right[row] == right * left[row]
        if left[row] and np.count_nonzero(times & there) > np.count_nonzero(found & there):
            found = times
    return np.asarray(found)


def _of_three(a: _Numbers, b: _Numbers, c: _Numbers, there: Bool) -> Bool:
    nothing = np.zeros(len(there), np.bool_)
    digits = max(a.digits, b.digits, c.digits)
    whole = [one.scaled(digits) for one in (a, b, c)]
    if any(one is None for one in whole):
        return nothing
    first, second, third = (one for one in whole if one is not None)
    found = first == second + third
    if np.abs(b.values).max(initial=0) * float(np.abs(c.values).max(initial=0)) < _ROOM:
        product, more = b.values * c.values, b.digits + c.digits
        scaled = a.scaled(max(more, a.digits))
        factor = 10 ** max(0, a.digits - more)
        if scaled is not None and np.abs(product).max(initial=0) * float(factor) < _ROOM:
            times = scaled == product * factor
            found = times if np.count_nonzero(times & there) > np.count_nonzero(found & there) else found
    return np.asarray(found)


def _numbers_of(column: StoredColumn) -> _Numbers | None:
    """Return a column as whole numbers; None if it has none, or not such short ones."""
    there, name, is_date = ~column.gaps, column.name, ValueScale(column.sql_type).is_date
    if column.encoding == "truth" or column.sql_type.startswith(("TIMESTAMP_NS", "TIME ")):
        return None
    if column.texts is not None:
        return _numbers_of_texts(column, column.texts, is_date=is_date)
    if column.encoding == "real":
        there &= np.isfinite(column.data)
        short = _short(column.data.astype(np.float64), there)
        return None if short is None else _Numbers(name, short[0], there, short[1], False, False)
    values, factor = np.where(there, column.data.astype(np.int64), 0), 1
    if is_date:
        factor = _MICROSECONDS.get(column.type, 1)
        if np.abs(values).max(initial=0) * float(factor) >= _ROOM:
            return None
    digits = int(column.type.rstrip(")").partition(",")[2]) if column.encoding == "scaled" else 0
    return _Numbers(name, values * factor, there, digits, is_date, False)


def _numbers_of_texts(column: StoredColumn, texts: Texts, *, is_date: bool) -> _Numbers | None:
    """Return a column of texts as the whole numbers that these are; a text that is none is no value."""
    scale = ValueScale("DOUBLE" if column.sql_type == "VARCHAR" else column.sql_type)
    numbers = [scale.number(text) for text in texts.all()] or [None]
    good, found = np.array([one is not None for one in numbers], np.bool_), [one or 0 for one in numbers]
    if is_date:
        ticks = [int(one * _MICROSECONDS.get(scale.type, 1)) for one in found]
        short = None if any(abs(one) >= _ROOM for one in ticks) else (np.array(ticks, np.int64), 0)
    else:
        short = _short(np.array([float(one) for one in found]), good)
    if short is None:
        return None
    return _Numbers(column.name, short[0][column.data], ~column.gaps & good[column.data], short[1], is_date, not is_date)


def _short(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]], there: Bool) -> tuple[Int64, int] | None:
    """Return floats as whole numbers and the digits behind their point; None if these are many."""
    known = np.where(there, values, 0.0)
    for digits in range(_MOST_DIGITS + 1):
        whole = np.rint(known * 10**digits)
        if np.abs(whole).max(initial=0) < 2**53 and np.array_equal(whole / 10**digits, known):
            return whole.astype(np.int64), digits
    return None
