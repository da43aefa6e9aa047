"""The values of imported tables as their sources hold them: column by column, beside the ids that learning uses.

A column holds fixed-width numbers, or codes of its different texts. Numbers, dates and times are kept as such only where
that loses nothing; whatever else there is, is kept as text with its type.
"""

from __future__ import annotations

import codecs
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from relatum.arrays import Bool, Int64
from relatum.data.vocabulary import Ids
from relatum.errors import DataError, UnknownNameError
from relatum.extras import optional

if TYPE_CHECKING:
    import pandas

Encoding = Literal["whole", "real", "truth", "days", "ticks", "scaled", "text"]

_BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}
_WHOLE = {name: (-1 << bits - 1, (1 << bits - 1) - 1) for name, bits in _BITS.items()}
_WHOLE |= {f"U{name}": (0, (1 << bits) - 1) for name, bits in _BITS.items()}
_HUGE = ("HUGEINT", "UHUGEINT")
_REAL = {"FLOAT": "float32", "DOUBLE": "float64"}
_DECIMAL = re.compile(r"DECIMAL\(([1-9][0-9]?),([0-9][0-9]?)\)")
_MOST_DIGITS = 18  # of a decimal that fits in 64 bits
_ALL_DIGITS = 38
# Types whose values are kept as text; of an enumeration its values are in its name, each in quotes.
_TEXTS = ("VARCHAR", "UUID", "INTERVAL", "BIT", "TIME WITH TIME ZONE", "TIME_NS")
_ENUM = re.compile(r"ENUM\('(?:[^'\0]|'')*'(?:, '(?:[^'\0]|'')*')*\)")
_LONGEST_TYPE = 1 << 16  # characters
_NUMBER = re.compile(r"-?[0-9]{0,39}(\.[0-9]{1,38})?")
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
_CHUNK = 1 << 24  # bytes
_ROWS = 1 << 14  # that are made values of Python at once


def is_value_type(name: str) -> bool:
    """Return whether this names a type whose values can be kept, and nothing but that: names of types stand in SQL."""
    if (decimal := _DECIMAL.fullmatch(name)) is not None:
        return int(decimal[2]) <= int(decimal[1]) <= _ALL_DIGITS
    if name in _WHOLE or name in _REAL or name in _UNITS or name in _TEXTS or name in ("BOOLEAN", "DATE"):
        return True
    return len(name) <= _LONGEST_TYPE and _ENUM.fullmatch(name) is not None


def encoding_of(value_type: str) -> Encoding:
    """Return how values of a type of DuckDB are kept, if nothing stands against it."""
    if value_type in _WHOLE and value_type not in _HUGE:
        return "whole"
    if value_type in _REAL:
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
        if self.data.dtype != np.uint8 or self.data.ndim != 1 or self.starts.dtype != np.int64 or self.starts.ndim != 1:
            raise DataError("damaged-file", "texts are not bytes", place="values")
        whole = len(self.starts) and self.starts[0] == 0 and self.starts[-1] == len(self.data)
        if not whole or np.any(self.starts[1:] < self.starts[:-1]):
            raise DataError("damaged-file", "texts end before they start", place="values")

    def check(self) -> None:
        """Refuse what is not UTF-8."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            for first in range(0, len(self.data), _CHUNK):
                piece = self.data[first : first + _CHUNK]
                if piece.max(initial=0) > 127 or first:
                    decoder.decode(piece.tobytes())
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            raise DataError("damaged-file", "a text is not UTF-8", place="values") from None
        inside = self.starts[(self.starts > 0) & (self.starts < len(self.data))]
        if np.any((self.data[inside] & 0xC0) == 0x80):
            raise DataError("damaged-file", "a text begins within a letter", place="values")

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
    own_type: str | None = None  # the kind of database that it came from, and its own word for the type

    def __post_init__(self) -> None:
        if not is_value_type(self.type) or not (self.read_as is None or is_value_type(self.read_as)):
            raise self._fault("not of a type that there is")
        if self.data.ndim != 1 or self.data.dtype.kind != _KINDS[self.encoding]:
            raise self._fault(f"{self.data.dtype} holds no {self.type}")
        if (self.encoding == "text" and self.texts is None) or (
            self.encoding == "real" and self.data.dtype != _REAL[self.type]
        ):
            raise self._fault(f"{self.data.dtype} holds no {self.type}")
        if self.missing is not None and (self.missing.shape != self.data.shape or self.missing.dtype != np.bool_):
            raise self._fault("values and gaps are not of one length")
        if self.missing is not None and self.missing.view(np.uint8).max(initial=0) > 1:
            raise self._fault("a gap is neither there nor not")
        if not len(self.data) or self.encoding == "real":
            return
        if self.encoding == "truth":
            if self.data.view(np.uint8).max() > 1:
                raise self._fault("a value is neither true nor false")
            return
        least, most = self._range()
        if not least <= int(self.data.min()) <= int(self.data.max()) <= most:
            raise self._fault(f"a number stands for no {self.type}")

    def _fault(self, reason: str) -> DataError:
        return DataError("damaged-file", reason, place=f"column {self.name!r}")

    def _range(self) -> tuple[int, int]:
        """Return the least and the greatest number that stands for a value."""
        if self.texts is not None:  # a column without any value has no texts, and codes that nobody reads
            return 0, max(len(self.texts) - 1, 0 if self.missing is not None and self.missing.all() else -1)
        if self.type == "TIME":
            return 0, _MIDNIGHT // timedelta(microseconds=1)
        if (decimal := _DECIMAL.fullmatch(self.type)) is not None:
            return 1 - 10 ** int(decimal[1]), 10 ** int(decimal[1]) - 1
        return _WHOLE["INTEGER"] if self.encoding == "days" else _WHOLE.get(self.type, _WHOLE["BIGINT"])

    def check_texts(self) -> None:
        """Refuse texts that are none, or that stand for no value of the type, where these are numbers."""
        if self.texts is None:
            return
        self.texts.check()
        if self.type in _WHOLE or self.type.startswith("DECIMAL"):
            for text in self.texts.all():
                if not _NUMBER.fullmatch(text) or text in ("", "-"):
                    raise self._fault(f"a text stands for no {self.type}")

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
        if self.type == "FLOAT":  # which has fewer digits than Python's
            return [None if value is None else str(np.float32(value)).removesuffix(".0") for value in self.values(rows)]
        return [None if value is None else shown_value(value) for value in self.values(rows)]

    def take(self, rows: Int64) -> StoredColumn:
        """Return the column of some rows."""
        return replace(self, data=self.data[rows], missing=None if self.missing is None else self.missing[rows])

    def lacking(self, rows: int) -> StoredColumn:
        """Return a column of the same type without any value."""
        return replace(self, data=np.zeros(rows, self.data.dtype), missing=np.ones(rows, np.bool_))

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
        own_type = self.own_type if self.own_type == other.own_type else None
        return replace(self, data=data, missing=missing, texts=texts, read_as=read_as, own_type=own_type)

    def as_text(self) -> StoredColumn:
        """Return the same column with each value as text."""
        if self.type == "VARCHAR":
            return self
        codes, missing, texts = codes_of(self.shown())
        return replace(self, type="VARCHAR", data=codes, missing=missing, texts=texts)

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
            return _moments(data, "D")
        if self.type == "TIME":
            return [_time_of(ticks) for ticks in data.tolist()]
        if self.encoding == "ticks":
            found = _moments(data, _UNITS[self.type])
            return found if self.type != "TIMESTAMP WITH TIME ZONE" else [_in_utc(one) for one in found]
        plain: list[Any] = data.tolist()
        return plain

    def _typed(self, text: str) -> Any:
        """Return the value of a text that is kept for one of another type."""
        if self.type in ("HUGEINT", "UHUGEINT", *_WHOLE):
            return int(text)
        return Decimal(text) if self.type.startswith("DECIMAL") else text


def _moments(ticks: npt.NDArray[Any], unit: str) -> list[Any]:
    """Return moments as dates and times of Python, or as text where it has none."""
    found: npt.NDArray[Any] = ticks.astype(f"datetime64[{unit}]")
    moments: list[Any] = (found.astype("datetime64[us]") if unit == "ns" else found).tolist()
    texts = [isinstance(one, int) for one in moments] if unit != "ns" else (ticks.astype(np.int64) % 1000 != 0).tolist()
    return [_moment_text(one) if is_text else each for one, each, is_text in zip(found, moments, texts, strict=True)]


def _moment_text(moment: Any) -> str:
    """Return a moment that Python has no value for as DuckDB writes it; numpy counts years before the first from 0."""
    day, _, rest = _without_zeros(str(moment)).partition("T")
    year, month, date = day.rsplit("-", 2) if day.count("-") > 1 else ("", "", day)
    if year and int(year) <= 0:
        day = f"{1 - int(year):04}-{month}-{date} (BC)"
    return f"{day} {rest}".rstrip()


def _in_utc(moment: Any) -> Any:
    return moment.replace(tzinfo=UTC) if isinstance(moment, datetime) else f"{moment}+00:00"


def _without_zeros(text: str) -> str:
    """Return a time without zeros at the end of a fraction of a second."""
    return re.sub(r"(\.[0-9]*?)0+(?![0-9])", lambda found: found[1].rstrip("."), text)


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
    return _without_zeros(str(value)) if isinstance(value, datetime | time) else str(value)


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

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the rows, each value by its column."""
        names = [one.name for one in self.columns]
        for first in range(0, len(self), _ROWS):
            columns = [one.values(slice(first, first + _ROWS)) for one in self.columns]
            for row in zip(*columns, strict=True):
                yield dict(zip(names, row, strict=True))

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table as a pandas frame of what Python has for its values."""
        with optional("pandas", extra="frames"):
            import pandas
        return pandas.DataFrame({one.name: pandas.Series(one.values(), dtype=object) for one in self.columns})

    def take(self, rows: Int64) -> StoredTable:
        """Return some rows."""
        return replace(self, columns=tuple(one.take(rows) for one in self.columns))

    def preceded_by(self, other: StoredTable) -> StoredTable:
        """Return this table with the rows of another one before its own, without values in columns that are not there."""
        before = (other[one.name] if one.name in other else one.lacking(len(other)) for one in self.columns)
        return replace(self, columns=tuple(each.followed_by(one) for each, one in zip(before, self.columns, strict=True)))


def codes_of(texts: Sequence[str | None]) -> tuple[Ids, Bool | None, Texts]:
    """Return texts as codes, which of them are missing, and the different ones."""
    different = list(dict.fromkeys(text for text in texts if text is not None))
    numbers: dict[str | None, int] = {text: number for number, text in enumerate(different)}
    missing = np.array([text is None for text in texts], np.bool_)
    codes = np.array([numbers.get(text, 0) for text in texts], np.int32)
    return codes, missing if missing.any() else None, Texts.of(different)
