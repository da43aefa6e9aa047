"""The values of imported tables as their sources hold them: column by column, beside the ids that learning uses.

A column holds fixed-width numbers, or codes of its different texts. Numbers, dates and times are kept as such only where
that loses nothing; whatever else there is, is kept as text with its type.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import time, timedelta
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from relatum.arrays import Bool, Int64
from relatum.data.vocabulary import Ids
from relatum.errors import DataError, UnknownNameError

Encoding = Literal["whole", "real", "truth", "days", "ticks", "scaled", "text"]

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_MOST_DIGITS = 18  # of a decimal that fits in 64 bits
_UNITS = {
    "TIME": "us",
    "TIMESTAMP": "us",
    "TIMESTAMP_S": "s",
    "TIMESTAMP_MS": "ms",
    "TIMESTAMP_NS": "ns",
    "TIMESTAMP WITH TIME ZONE": "us",
}
_KINDS: Mapping[Encoding, str] = {
    "whole": "i",
    "real": "f",
    "truth": "b",
    "days": "i",
    "ticks": "i",
    "scaled": "i",
    "text": "i",
}
_MIDNIGHT = timedelta(hours=24)


def encoding_of(value_type: str) -> Encoding:
    """Return how values of a type of DuckDB are kept, if nothing stands against it."""
    if value_type in _WHOLE:
        return "whole"
    if value_type in ("FLOAT", "DOUBLE"):
        return "real"
    if value_type == "BOOLEAN":
        return "truth"
    if value_type == "DATE":
        return "days"
    if value_type in _UNITS:
        return "ticks"
    decimal = _DECIMAL.fullmatch(value_type)
    return "scaled" if decimal and int(decimal[1]) <= _MOST_DIGITS else "text"


@dataclass(frozen=True, eq=False)
class Texts:
    """Different texts, one behind the other in UTF-8: text number i ends where the next one starts."""

    data: npt.NDArray[np.uint8]
    starts: Int64  # int64[n + 1]

    def __post_init__(self) -> None:
        whole = self.starts.ndim == 1 and len(self.starts) and self.starts[0] == 0 and self.starts[-1] == len(self.data)
        if not whole or np.any(np.diff(self.starts) < 0):
            raise DataError("damaged-file", "texts end before they start", place="values")

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> str:
        return self.data[self.starts[number] : self.starts[number + 1]].tobytes().decode()

    def all(self) -> list[str]:
        """Return the texts in their order."""
        data, starts = self.data.tobytes(), self.starts.tolist()
        return [data[start:end].decode() for start, end in itertools.pairwise(starts)]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        """Return texts as bytes."""
        parts = [text.encode() for text in texts]
        starts = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        return cls(np.frombuffer(b"".join(parts), np.uint8), starts)


@dataclass(frozen=True, eq=False)
class StoredColumn:
    """A column of a table as its source holds it."""

    name: str
    type: str  # of its values, as DuckDB calls it: INTEGER, DECIMAL(5,2), VARCHAR, ...
    data: npt.NDArray[Any]  # numbers, or the codes of texts; 0 where there is no value
    missing: Bool | None = None  # which rows have no value; None where all have one
    texts: Texts | None = None  # what the codes stand for
    # what comparisons take the values for, where that is another type: dates that a database keeps as text
    read_as: str | None = None

    def __post_init__(self) -> None:
        if self.data.ndim != 1 or self.data.dtype.kind != _KINDS[self.encoding]:
            raise DataError("damaged-file", f"{self.data.dtype} holds no {self.type}", place=f"column {self.name!r}")
        if self.missing is not None and (self.missing.shape != self.data.shape or self.missing.dtype != np.bool_):
            raise DataError("damaged-file", "values and gaps are not of one length", place=f"column {self.name!r}")
        if self.texts is not None and len(self.data):
            least, most = int(self.data.min()), int(self.data.max())
            # A column without any value has no texts, and codes that nobody reads.
            if least < 0 or (
                most >= len(self.texts) and not (most == 0 and self.missing is not None and self.missing.all())
            ):
                raise DataError("damaged-file", "a code stands for no text", place=f"column {self.name!r}")

    def __len__(self) -> int:
        return len(self.data)

    @property
    def encoding(self) -> Encoding:
        """How the values are kept."""
        return "text" if self.texts is not None else encoding_of(self.type)

    @property
    def sql_type(self) -> str:
        """The type as which values are compared."""
        return self.read_as or self.type

    @property
    def gaps(self) -> Bool:
        """Which rows have no value."""
        return np.zeros(len(self), np.bool_) if self.missing is None else self.missing

    def value(self, row: int) -> Any:
        """Return the value in a row as one of Python; None where there is none."""
        return self.values(np.array([row]))[0]

    def values(self, rows: Int64 | slice = slice(None)) -> list[Any]:
        """Return the values in some rows as those of Python; None where there is none.

        What Python has no value for, such as an interval or a date before the year 1, is text.
        """
        found = self._python(self.data[rows])
        if self.missing is not None:
            for number in np.flatnonzero(self.missing[rows]).tolist():
                found[number] = None
        return found

    def shown(self, rows: Int64 | slice = slice(None)) -> list[str | None]:
        """Return the values in some rows as people read them: numbers in their shortest form, dates as ISO 8601 has them."""
        return [None if value is None else shown_value(value) for value in self.values(rows)]

    def take(self, rows: Int64) -> StoredColumn:
        """Return the column of some rows."""
        return replace(self, data=self.data[rows], missing=None if self.missing is None else self.missing[rows])

    def followed_by(self, other: StoredColumn) -> StoredColumn:
        """Return this column with the rows of another one behind its own; of two types, all values are text."""
        if (self.type, self.encoding) != (other.type, other.encoding):
            return self.as_text().followed_by(other.as_text())
        data, texts = np.concatenate([self.data, other.data]), None
        if self.texts is not None and other.texts is not None:
            both = list(dict.fromkeys([*self.texts.all(), *other.texts.all()]))
            numbers = {text: number for number, text in enumerate(both)}
            codes = [
                np.array([numbers[text] for text in one.texts.all()] or [0], np.int32)[one.data]
                for one in (self, other)
                if one.texts is not None
            ]
            data, texts = np.concatenate(codes), Texts.of(both)
        missing = None
        if self.missing is not None or other.missing is not None:
            missing = np.concatenate([self.gaps, other.gaps])
        read_as = self.read_as if self.read_as == other.read_as else None
        return replace(self, data=data, missing=missing, texts=texts, read_as=read_as)

    def as_text(self) -> StoredColumn:
        """Return the same column with each value as text."""
        if self.type == "VARCHAR":
            return self
        texts = ["" if text is None else text for text in self.shown()]
        different = list(dict.fromkeys(texts))
        numbers = {text: number for number, text in enumerate(different)}
        codes = np.array([numbers[text] for text in texts], np.int32)
        return replace(self, type="VARCHAR", data=codes, texts=Texts.of(different), read_as=self.read_as)

    def _python(self, data: npt.NDArray[Any]) -> list[Any]:
        if self.texts is not None:
            if not len(self.texts):
                return [None] * len(data)
            used, where = np.unique(data, return_inverse=True)
            texts = np.array([self._typed(self.texts[number]) for number in used.tolist()] or [None], object)
            return list(texts[where])
        if self.encoding == "scaled":
            scale = int(_DECIMAL.fullmatch(self.type)[2])  # type: ignore[index]
            return [Decimal(number).scaleb(-scale) for number in data.tolist()]
        if self.encoding == "days":
            return _moments(data.astype("datetime64[D]"))
        if self.type == "TIME":
            return [_time_of(ticks) for ticks in data.tolist()]
        if self.encoding == "ticks":
            return _moments(data.astype(f"datetime64[{_UNITS[self.type]}]"))
        found: list[Any] = data.tolist()
        return found

    def _typed(self, text: str) -> Any:
        """Return the value of a text that is kept for one of another type."""
        if self.type in ("HUGEINT", "UHUGEINT", *_WHOLE):
            return int(text)
        return Decimal(text) if self.type.startswith("DECIMAL") else text


def _moments(found: npt.NDArray[Any]) -> list[Any]:
    """Return moments as dates and times of Python, or as text where it has none."""
    moments = found.tolist()
    return [str(one) if isinstance(each, int) else each for one, each in zip(found, moments, strict=True)]


def _time_of(ticks: int) -> time | str:
    if timedelta(microseconds=ticks) >= _MIDNIGHT:
        return "24:00:00"
    seconds, micros = divmod(ticks, 1_000_000)
    return time(seconds // 3600, seconds // 60 % 60, seconds % 60, micros)


def shown_value(value: Any) -> str:
    """Return a value as people read it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, Decimal):
        return f"{value:f}"
    return str(value)


@dataclass(frozen=True, eq=False)
class StoredTable:
    """The values of a table, row by row in the order of its `RowTable`."""

    name: str
    columns: tuple[StoredColumn, ...]

    def __post_init__(self) -> None:
        names = [one.name for one in self.columns]
        if len(set(names)) < len(names) or len({len(one) for one in self.columns}) > 1:
            raise DataError("damaged-file", "two columns of one name, or of different lengths", place=f"table {self.name!r}")

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def __contains__(self, column: object) -> bool:
        return any(one.name == column for one in self.columns)

    def __getitem__(self, column: str) -> StoredColumn:
        found = next((one for one in self.columns if one.name == column), None)
        if found is None:
            raise UnknownNameError(f"column of {self.name}", column, [one.name for one in self.columns])
        return found

    def take(self, rows: Int64) -> StoredTable:
        """Return some rows."""
        return replace(self, columns=tuple(one.take(rows) for one in self.columns))

    def followed_by(self, other: StoredTable) -> StoredTable:
        """Return this table with the rows of another one behind its own: those of the columns that both have."""
        return replace(self, columns=tuple(one.followed_by(other[one.name]) for one in self.columns if one.name in other))


def codes_of(texts: Sequence[str | None]) -> tuple[Ids, Bool | None, Texts]:
    """Return texts as codes, which of them are missing, and the different ones."""
    different = list(dict.fromkeys(text for text in texts if text is not None))
    numbers: dict[str | None, int] = {text: number for number, text in enumerate(different)}
    missing = np.array([text is None for text in texts], np.bool_)
    codes = np.array([numbers.get(text, 0) for text in texts], np.int32)
    return codes, missing if missing.any() else None, Texts.of(different)
