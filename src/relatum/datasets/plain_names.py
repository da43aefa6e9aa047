"""Names numbered as they are met, in plain Python: quick to start, and the definition of what the compiled way does."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from relatum.data.vocabulary import Ids

__all__ = ["PlainNames", "sort_names"]


class PlainNames(dict[str, int]):
    """A dict that numbers names as it meets them."""

    def __missing__(self, name: str) -> int:
        self[name] = number = len(self)
        return number

    def number_all(self, names: Sequence[str]) -> Ids:
        """Return the number of each name; a new one gets the next."""
        return np.fromiter(map(self.__getitem__, names), np.int32, len(names))

    def in_order(self, used: np.ndarray[tuple[int], np.dtype[np.bool_]] | None) -> tuple[list[str], Ids]:
        """Return the names that are used, sorted, and for each number its name's index, -1 if it is not used."""
        return sort_names(self, used)


def sort_names(
    names: Iterable[str], used: np.ndarray[tuple[int], np.dtype[np.bool_]] | None, also: Iterable[str] = ()
) -> tuple[list[str], Ids]:
    """Return the names that are used, all if that is None, and others that are wanted, sorted; and each one's new index."""
    numbered = list(names)
    chosen = numbered if used is None else itertools.compress(numbered, used.tolist())
    ordered = sorted({*chosen, *also})
    index = {name: number for number, name in enumerate(ordered)}
    return ordered, np.fromiter((index.get(name, -1) for name in numbered), np.int32, len(numbered))
