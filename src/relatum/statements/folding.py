"""Rare relations folded into smaller ones: qualifiers are dropped until a relation has facts enough. This loses them.

What is rare is counted on training statements alone. From the largest relations to the smallest, one that has fewer than
`min_count` training facts, those folded into it included, gives all its facts to the relation without one qualifier: that
whose property the fewest training statements have, of equals the last by name; of several values of a property the last.
A main property without qualifiers stays, however rare. Other statements follow
the same path, to the first relation that stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from relatum.statements.statement import Statement

_Properties = tuple[str, tuple[str, ...]]  # the main one, and those of qualifiers


class Folding:
    """Which relations stay, fitted on training statements; it counts what it drops."""

    def __init__(self, train: Iterable[Statement], min_count: int) -> None:
        self.folded = 0  # statements
        self.dropped = 0  # qualifiers
        self._having: Counter[str] = Counter()  # training statements that have a property among their qualifiers
        counts: Counter[_Properties] = Counter()
        for one in train:
            keys = tuple([key for key, _ in one.qualifiers])
            counts[one.property, keys] += 1
            self._having.update(set(keys))
        self._kept: set[_Properties] = set()
        by_size: dict[int, set[_Properties]] = {}
        for name, keys in counts:
            by_size.setdefault(len(keys), set()).add((name, keys))
        for size in range(max(by_size, default=0), 0, -1):
            for name, keys in by_size.get(size, ()):
                if counts[name, keys] >= min_count:
                    self._kept.add((name, keys))
                else:
                    index = self._rarest(keys)
                    smaller = name, keys[:index] + keys[index + 1 :]
                    counts[smaller] += counts[name, keys]
                    by_size.setdefault(size - 1, set()).add(smaller)

    def fold(self, one: Statement) -> Statement:
        """Return the statement without the qualifiers that its relation is too rare for."""
        pairs = one.qualifiers
        while pairs and (one.property, tuple([key for key, _ in pairs])) not in self._kept:
            index = self._rarest([key for key, _ in pairs])
            pairs = pairs[:index] + pairs[index + 1 :]
        if len(pairs) == len(one.qualifiers):
            return one
        self.folded += 1
        self.dropped += len(one.qualifiers) - len(pairs)
        return one._replace(qualifiers=pairs)

    def _rarest(self, keys: Iterable[str]) -> int:
        """Return the index of the qualifier to drop first."""
        return max(enumerate(keys), key=lambda numbered: (-self._having[numbered[1]], numbered[0]))[0]
