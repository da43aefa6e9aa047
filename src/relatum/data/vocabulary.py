"""Names and their dense ids."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np

from relatum.arrays import Bool, Int32
from relatum.data.name_lines import NameLines, lines_of
from relatum.errors import DataError, UnknownNameError

Ids = Int32

_MOST_STRINGS = 1 << 17  # names that are kept as strings, which are found faster

# What would tear a line of tab-separated text apart, or be lost at its end.
_BREAKERS = {"\t": "a tab", "\n": "a line feed", "\r": "a carriage return", "\0": "a NUL"}


def fault_of(name: str) -> str | None:
    """Return why `name` cannot name anything, or None: names are not blank, fit in UTF-8 and in a tab-separated line."""
    if not name or name.isspace():
        return "empty name" if not name else f"blank name {name!r}"
    for character, description in _BREAKERS.items():
        if character in name:
            return f"name {name!r} contains {description}"
    return None if _is_unicode(name) else f"name {name!r} is not valid Unicode"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


class Vocabulary:
    """Distinct names in a fixed order; the id of a name is its index, 0 to n - 1. No id is reserved.

    Few names are kept as strings, many as lines of bytes: ten million strings would take a gigabyte. `names` is a sequence
    of strings either way.
    """

    def __init__(self, names: Iterable[str], kind: str = "entity") -> None:
        self.kind = kind
        self._beginning: dict[str, Ids] = {}
        if isinstance(names, NameLines):  # which are sound
            self.names: tuple[str, ...] | NameLines = names if len(names) > _MOST_STRINGS else tuple(names)
            return
        strings = tuple(names)
        if len(set(strings)) != len(strings):
            repeated = next(a for a, b in itertools.pairwise(sorted(strings)) if a == b)
            raise DataError("named-twice", f"{kind} {repeated!r} is named twice")
        if fault := _first_fault(strings):
            raise DataError("unusable-name", fault, place=kind)
        self.names = NameLines.of(strings) if len(strings) > _MOST_STRINGS else strings

    @classmethod
    def parse(cls, text: bytes, kind: str = "entity") -> Vocabulary:
        """Return the vocabulary of names in UTF-8, one a line; the last line has no end.

        Many names in ascending order are taken as they stand, without an object for each.
        """
        if text.count(b"\n") >= _MOST_STRINGS and not any(one.encode() in text for one in _BREAKERS if one != "\n"):
            from relatum.kernels.name_table import any_blank

            if not text.isascii():
                text.decode()
            symbols = np.frombuffer(text, np.uint8)
            starts = np.concatenate([[0], np.flatnonzero(symbols == ord("\n")) + 1, [len(text) + 1]]).astype(np.int64)
            # In another order, or empty: the long way says what is wrong, if anything is.
            with contextlib.suppress(DataError):
                lines = NameLines.check(symbols, starts)
                if not any_blank(symbols, starts):
                    return cls(lines, kind)
        return cls(text.decode().split("\n") if text else (), kind)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    def id(self, name: str) -> int:
        """Return the id of `name`."""
        if isinstance(self.names, NameLines):
            number = self.names.find(name)
            if number < 0:
                raise UnknownNameError(self.kind, name, self.names.similar(name))
            return number
        try:
            return self._ids[name]
        except KeyError:
            raise UnknownNameError(self.kind, name, self.names) from None

    def ids(self, names: Iterable[str]) -> Ids:
        """Return the ids of `names`, in their order."""
        if isinstance(names, Vocabulary):
            found = self.numbers_of(names)
            if len(found) and found.min() < 0:
                self.id(names[int(found.argmin())])  # says what there is instead
            return found
        return np.fromiter(map(self.id, names), np.int32)

    def numbers_of(self, names: Vocabulary) -> Ids:
        """Return the ids of the names of another vocabulary, -1 where one is not in this one."""
        if self._is_large_with(names):
            return lines_of(self.names).numbers_of(lines_of(names.names))
        return np.fromiter((self._ids.get(name, -1) for name in names), np.int32, len(names))

    def chosen(self, mask: Bool) -> Vocabulary:
        """Return the names that are marked, in the same order."""
        numbers = np.flatnonzero(mask).astype(np.int32)
        if len(numbers) == len(self):
            return self
        if isinstance(self.names, NameLines):
            return Vocabulary(self.names.chosen(numbers), self.kind)
        return Vocabulary((self.names[number] for number in numbers.tolist()), self.kind)

    def union(self, names: Vocabulary) -> Vocabulary:
        """Return the names of this vocabulary and another, in ascending order."""
        if self._is_large_with(names):
            return Vocabulary(lines_of(self.names).union(lines_of(names.names)), self.kind)
        return Vocabulary(sorted({*self.names, *names.names}), self.kind)

    def _is_large_with(self, names: Vocabulary) -> bool:
        """Return whether one of two vocabularies is kept as lines, so that both are looked through as such."""
        return isinstance(self.names, NameLines) or isinstance(names.names, NameLines)

    def beginning_with(self, prefix: str) -> Ids:
        """Return the ids of the names that begin with `prefix`, ascending; they are worked out once."""
        if prefix not in self._beginning:
            if isinstance(self.names, NameLines):
                self._beginning[prefix] = self.names.beginning_with(prefix)
            else:
                there = np.fromiter((name.startswith(prefix) for name in self.names), np.bool_, len(self))
                self._beginning[prefix] = np.flatnonzero(there).astype(np.int32)
        return self._beginning[prefix]

    def __getitem__(self, number: int) -> str:
        return self.names[number]

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in (self.names if isinstance(self.names, NameLines) else self._ids)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Vocabulary) and self.names == other.names)

    def __hash__(self) -> int:
        return hash((len(self), *(self.names[number] for number in (0, len(self) // 2, -1) if self.names)))

    def __repr__(self) -> str:
        return f"<Vocabulary of {len(self)} {self.kind} names>"


def _first_fault(names: tuple[str, ...]) -> str | None:
    # One scan over all names together is many times cheaper than one per name, and nearly always all there is to do.
    together = "\n".join(names)
    clean = sum(map(together.count, _BREAKERS)) == max(0, len(names) - 1) and _is_unicode(together)
    suspects = (name for name in names if not clean or not name or name.isspace())
    return next((fault for fault in map(fault_of, suspects) if fault), None)
