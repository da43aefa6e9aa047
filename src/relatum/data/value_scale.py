"""Numbers and dates as exact numbers: stored values, the edges of groups, and what a person types, on one scale."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from relatum.arrays import Bool, Int64
from relatum.data.stored_values import StoredColumn

Number = int | float | Fraction

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?")
_MOMENT = re.compile(
    r"(?P<day>\d{4,6}-\d\d?-\d\d?)?([ T]*(?P<hour>\d\d?):(?P<minute>\d\d)(:(?P<second>\d\d(\.\d+)?))?)?"
    r"\s*(Z|UTC|(?P<sign>[-+])(?P<zone>\d\d)(:?(?P<rest>\d\d))?)?"
)
_TICKS = {"TIMESTAMP_S": 1, "TIMESTAMP_MS": 1000, "TIMESTAMP_NS": 1_000_000_000}  # in a second, where it is no million
_LEAST, _MOST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class ValueScale:
    """The numbers that values of a type are: dates in days, moments and times in ticks, decimals in their last digits."""

    type: str  # as DuckDB calls it

    def number(self, text: str) -> Number | None:
        """Return the number of a value as people and databases write it; None if it is none of the type."""
        if self.is_date:
            return self._moment(text.strip())
        if not _NUMBER.fullmatch(text.strip()):
            return None
        if self.type in ("FLOAT", "DOUBLE"):
            value = float(np.float32(text)) if self.type == "FLOAT" else float(text)
            return value if math.isfinite(value) else None
        try:
            found: Fraction = Fraction(Decimal(text.strip())) * 10**self._digits
        except InvalidOperation:
            return None
        return found.numerator if found.denominator == 1 else found

    @property
    def is_date(self) -> bool:
        """Whether the values are dates or times."""
        return self.type.startswith(("DATE", "TIME"))

    @property
    def _digits(self) -> int:
        """How many are behind the point, of which the last one counts by one."""
        return int(self.type.rstrip(")").partition(",")[2]) if self.type.startswith("DECIMAL") else 0

    def _moment(self, text: str) -> Number | None:
        found = _MOMENT.fullmatch(text)
        has_no_day = self.type == "TIME" or self.type.startswith("TIME ")
        if found is None or (found["day"] is None) != has_no_day or (has_no_day and found["hour"] is None):
            return None
        seconds = Fraction(0)
        if found["hour"]:
            seconds += 3600 * int(found["hour"]) + 60 * int(found["minute"]) + Fraction(found["second"] or 0)
            if int(found["hour"]) > 24 or int(found["minute"]) > 59:
                return None
        if found["sign"]:
            away = 3600 * int(found["zone"]) + 60 * int(found["rest"] or 0)
            seconds += -away if found["sign"] == "+" else away
        days = 0
        if found["day"]:
            year, month, day = (int(part) for part in found["day"].split("-"))
            try:
                days = int(np.datetime64(f"{year:04d}-{month:02d}-{day:02d}", "D").astype(np.int64))
            except ValueError:
                return None
        number = days + seconds / 86400 if self.type == "DATE" else (86400 * days + seconds) * _TICKS.get(self.type, 10**6)
        return number.numerator if number.denominator == 1 else number


class ScaledColumn:
    """The values of a column on its scale."""

    def __init__(self, column: StoredColumn, scale: ValueScale) -> None:
        self.stored, self.scale = column, scale
        self._read: dict[int, Number | None] = {}

    def numbers(self, rows: Int64) -> list[Number | None]:
        """Return the numbers in some rows; None where there is none."""
        column = self.stored.take(rows)
        found: list[Any] = column.data.tolist()
        if self.stored.texts is not None:
            found = [self._of_text(code) for code in found]
        return [None if gap or one != one else one for one, gap in zip(found, column.gaps.tolist(), strict=True)]

    def _of_text(self, code: int) -> Number | None:
        """Return the number of the text that a code stands for; what was read once is kept."""
        texts = self.stored.texts
        if code not in self._read:
            self._read[code] = None if texts is None or not len(texts) else self.scale.number(texts[code])
        return self._read[code]

    def within(self, low: Number, high: Number, rows: Int64 | slice = slice(None)) -> Bool:
        """Return which rows, of all or some, have a value from one number to another."""
        column = self.stored.take(rows) if isinstance(rows, np.ndarray) else self.stored
        data: npt.NDArray[Any] = column.data
        if self.stored.texts is not None:
            codes, where = np.unique(data, return_inverse=True)
            numbers = [self._of_text(code) for code in codes.tolist()]
            found = np.array([one is not None and low <= one <= high for one in numbers], np.bool_)[where]
        elif data.dtype.kind == "f":
            found = (data >= low) & (data <= high)
        else:
            least, most = max(math.ceil(low), _LEAST), min(math.floor(high), _MOST)
            found = (data.astype(np.int64) >= least) & (data <= most) if least <= most else np.zeros(len(data), np.bool_)
        return np.asarray(found & ~column.gaps, np.bool_)
