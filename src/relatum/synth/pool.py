"""The relations that a derived one can be made from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from relatum.algebra import Expression
from relatum.data.vocabulary import Ids

__all__ = ["Member", "Pool"]


@dataclass(frozen=True, eq=False, slots=True)
class Member:
    """A relation of the ground truth: all its tuples, int32[arity, n], sorted, and the families it descends from."""

    name: str
    expression: Expression
    columns: Ids
    families: frozenset[int]

    @property
    def arity(self) -> int:
        """The number of entities in each tuple."""
        return len(self.columns)

    def __len__(self) -> int:
        return int(self.columns.shape[1])


class Pool:
    """Relations in the order in which they were made, found by depth and by kin; no two have the same tuples."""

    def __init__(self) -> None:
        self.members: list[Member] = []
        self.known: dict[Expression, Ids] = {}  # what `evaluate` need not work out again
        self._by_depth: dict[int, list[Member]] = {}
        self._by_family: dict[tuple[int, int], list[Member]] = {}
        self._contents: set[tuple[int, bytes]] = set()

    def add(self, member: Member) -> None:
        """Take a relation in."""
        self.members.append(member)
        self.known[member.expression] = member.columns
        self._by_depth.setdefault(member.expression.depth, []).append(member)
        for family in member.families:
            self._by_family.setdefault((member.arity, family), []).append(member)
        self._contents.add(_content(member.columns))

    def at_depth(self, depth: int, least_arity: int) -> list[Member]:
        """Return the relations of one depth that have at least so many positions."""
        return [member for member in self._by_depth.get(depth, ()) if member.arity >= least_arity]

    def kin(self, member: Member) -> list[Member]:
        """Return the others of the same arity, no deeper, that have an ancestor in common with `member`."""
        found = {
            other.name: other
            for family in sorted(member.families)
            for other in self._by_family[member.arity, family]
            if other is not member and other.expression.depth <= member.expression.depth
        }
        return list(found.values())

    def holds(self, columns: Ids) -> bool:
        """Return whether some relation has exactly these tuples already."""
        return _content(columns) in self._contents


def _content(columns: Ids) -> tuple[int, bytes]:
    return len(columns), hashlib.sha256(columns.tobytes()).digest()
