"""Many names without an object for each: their bytes, one name a line, and where each starts; both may be mapped files.

A name is decoded when it is wanted. Names in ascending order are found by halving; others through their order, which is
worked out once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import overload

import numpy as np
import numpy.typing as npt

from relatum.arrays import Int32, Int64
from relatum.errors import DataError

_BLOCK = 1 << 16  # names that are decoded at once
_LINE_FEED = 10
_NEIGHBOURS = 2000  # names on either side of where a misspelt one would stand
_PADDING = 8  # bytes that kernels may read past the end


class NameLines(Sequence[str]):
    """A sequence of distinct names that reads like a tuple of them; name i is text[starts[i]:starts[i + 1] - 1]."""

    def __init__(self, text: npt.NDArray[np.uint8], starts: Int64, *, ascending: bool) -> None:
        """Hold names that are known to be sound.

        `text` is UTF-8 with a line feed between names; `starts`, int64[n + 1], where each starts and another one would.
        """
        self.text, self.starts, self.ascending = text, starts, ascending
        self._bytes = np.ascontiguousarray(text).data

    @classmethod
    def of(cls, names: Sequence[str]) -> NameLines:
        """Return the lines of distinct names without line feeds."""
        text = "\n".join(names).encode()
        ascending = all(a < b for a, b in itertools.pairwise(names))
        symbols = np.frombuffer(text, np.uint8)
        ends = np.flatnonzero(symbols == _LINE_FEED) + 1
        starts = np.concatenate([[0], ends, [len(text) + 1]] if names else [[0]]).astype(np.int64)
        return cls(symbols, starts, ascending=ascending)

    @classmethod
    def check(cls, text: npt.NDArray[np.uint8], starts: Int64) -> NameLines:
        """Return the lines of names that ascend, or raise a `DataError` if they do not or the starts do not fit."""
        from relatum.kernels.name_order import are_ascending  # loading Numba takes longer than most vocabularies

        if text.dtype != np.uint8 or starts.dtype != np.int64 or text.ndim != 1 or starts.ndim != 1 or not len(starts):
            raise DataError("damaged-file", "not bytes and where each name starts", place="names")
        if starts[0] != 0 or starts[-1] != len(text) + (len(starts) > 1) or np.any(np.diff(starts) < 2):
            raise DataError("damaged-file", "starts that do not ascend within the text", place="names")
        if np.any(text[starts[1:-1] - 1] != _LINE_FEED):
            raise DataError("damaged-file", "two names without a line feed between them", place="names")
        found = cls(text, starts, ascending=True)
        # The kernel reads a few bytes past a name, and past the end of a mapped file is nothing: the last ones by hand.
        last = int(np.searchsorted(starts, len(text) - 2 * _PADDING))
        rest = [found._encoded(number) for number in range(max(last - 1, 0), len(found))]
        if not (are_ascending(text, starts, 0, max(last - 1, 0)) and all(a < b for a, b in itertools.pairwise(rest))):
            raise DataError("damaged-file", "not in ascending order", place="names")
        if last > 1 and not found._encoded(last - 2) < found._encoded(last - 1):
            raise DataError("damaged-file", "not in ascending order", place="names")
        return found

    def __len__(self) -> int:
        return len(self.starts) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self._encoded(number).decode() for number in range(*index.indices(len(self))))
        number = int(index)
        if not -len(self) <= number < len(self):
            raise IndexError(f"no name {number} among {len(self)}")
        return self._encoded(number % len(self)).decode()

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), _BLOCK):
            last = min(first + _BLOCK, len(self))
            yield from bytes(self._bytes[int(self.starts[first]) : int(self.starts[last]) - 1]).decode().split("\n")

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) >= 0

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NameLines):
            return np.array_equal(self.starts, other.starts) and np.array_equal(self.text, other.text)
        if not isinstance(other, tuple):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # compared by content, so too costly to hash

    def __repr__(self) -> str:
        return f"<{len(self)} names>"

    def find(self, name: str) -> int:
        """Return the number of a name, or -1."""
        wanted = _encode(name)
        if wanted is None:
            return -1
        rank = self._rank(wanted)
        number = self._number(rank) if rank < len(self) else -1
        return number if number >= 0 and self._encoded(number) == wanted else -1

    def numbers_of(self, names: NameLines) -> Int32:
        """Return the numbers of names, -1 where one is not among these."""
        from relatum.kernels.name_table import NameTable  # loading Numba takes longer than most vocabularies

        table = NameTable()
        table.number_lines(self.text, self.starts)
        return np.maximum(table.number_lines(names.text, names.starts, add=False), -1)

    def chosen(self, numbers: Int32) -> NameLines:
        """Return the names that have these numbers, which ascend."""
        from relatum.kernels.name_order import copy_names

        return NameLines(*copy_names(self._padded, self.starts, numbers), ascending=self.ascending)

    def union(self, names: NameLines) -> NameLines:
        """Return these and other names, each once, in ascending order."""
        from relatum.kernels.name_order import copy_names, name_order
        from relatum.kernels.name_table import NameTable

        table = NameTable()
        for one in (self, names):
            table.number_lines(one.text, one.starts)
        starts = table.starts[: len(table) + 1]
        return NameLines(*copy_names(table.text, starts, name_order(table.text, starts)), ascending=True)

    def beginning_with(self, prefix: str) -> Int32:
        """Return the numbers of the names that begin with `prefix`, ascending."""
        wanted = _encode(prefix)
        if wanted is None:
            return np.empty(0, np.int32)
        first = self._rank(wanted)
        low, high = first, len(self)
        while low < high:
            middle = (low + high) // 2
            if self._encoded(self._number(middle)).startswith(wanted):
                low = middle + 1
            else:
                high = middle
        if self._order is None:
            return np.arange(first, low, dtype=np.int32)
        return np.sort(self._order[first:low])

    def similar(self, name: str) -> list[str]:
        """Return some thousands of names that stand where `name`, or another spelling of its beginning, would stand."""
        spellings = [
            name,
            name.casefold(),
            name.capitalize(),
            name.title(),
            name.upper(),
            name[1:],
            name[1:2] + name[:1] + name[2:],
        ]
        ranks: set[int] = set()
        for wanted in filter(None, map(_encode, dict.fromkeys(spellings))):
            rank = self._rank(wanted)
            ranks.update(range(max(rank - _NEIGHBOURS, 0), min(rank + _NEIGHBOURS, len(self))))
        return [self._encoded(self._number(rank)).decode() for rank in sorted(ranks)]

    def _encoded(self, number: int) -> bytes:
        return bytes(self._bytes[int(self.starts[number]) : int(self.starts[number + 1]) - 1])

    @cached_property
    def _order(self) -> Int32 | None:
        """The numbers of the names in ascending order; None where they ascend already."""
        if self.ascending:
            return None
        from relatum.kernels.name_order import name_order

        return name_order(self._padded, self.starts)

    @property
    def _padded(self) -> npt.NDArray[np.uint8]:
        """The text with a line feed at its end, and bytes that kernels may read behind it."""
        return np.concatenate([self.text, np.array([_LINE_FEED], np.uint8), np.zeros(_PADDING, np.uint8)])

    def _number(self, rank: int) -> int:
        return rank if self._order is None else int(self._order[rank])

    def _rank(self, wanted: bytes) -> int:
        """Return how many names come before these bytes."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self._encoded(self._number(middle)) < wanted:
                low = middle + 1
            else:
                high = middle
        return low


def _encode(name: str) -> bytes | None:
    try:
        return name.encode()
    except UnicodeEncodeError:  # half of a surrogate pair: no name has one
        return None


def lines_of(names: Iterable[str]) -> NameLines:
    """Return names as lines, whichever way they are held."""
    return names if isinstance(names, NameLines) else NameLines.of(tuple(names))
