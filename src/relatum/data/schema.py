"""What a relation looks like: its name, its arity and, where they are known, the roles of its positions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np

from relatum.arrays import Int64
from relatum.artefacts import Within
from relatum.data.vocabulary import Vocabulary, fault_of
from relatum.errors import DataError, UnknownNameError

_MOST_DIGITS = 20  # of a position; Python reads no number of thousands of them


@dataclass(frozen=True, slots=True)
class RelationSchema:
    """A relation such as `sold(seller, buyer, item)`; wherever a position is asked for, a role can stand."""

    name: str
    arity: Annotated[int, Within(1, 1 << 31)]
    roles: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if fault := fault_of(self.name):
            raise DataError("unusable-name", fault, place="relation")
        if self.name.startswith("#"):
            raise DataError(
                "relation-like-comment", f"relation {self.name!r} starts with '#', which opens a comment in text files"
            )
        if self.arity < 1:
            raise DataError(
                "arity-mismatch", f"relation {self.name!r} has arity {self.arity}, but a fact has at least one entity"
            )
        if self.roles is not None:
            self._check_roles(self.roles)

    def _check_roles(self, roles: tuple[str, ...]) -> None:
        if len(roles) != self.arity:
            raise DataError("arity-mismatch", f"relation {self.name!r} has arity {self.arity} but {len(roles)} roles")
        if len(set(roles)) != len(roles):
            raise DataError("duplicate-role", f"relation {self.name!r} names a role twice: {', '.join(roles)}")
        for role in roles:
            if fault := fault_of(role):
                raise DataError("unusable-name", fault, place=f"role of {self.name!r}")
            if role.isdecimal():
                raise DataError("duplicate-role", f"role {role!r} of {self.name!r} would be mistaken for a position")

    def position(self, role: int | str) -> int:
        """Return the position, from 0, that `role` stands for: a position itself, its digits, or a role."""
        if not isinstance(role, str) or role.isdecimal():
            number = int(role) if not isinstance(role, str) or len(role) <= _MOST_DIGITS else self.arity
            if not 0 <= number < self.arity:
                raise DataError(
                    "no-such-position", f"{self} has positions 0 to {self.arity - 1}, not {str(role)[:_MOST_DIGITS]}"
                )
            return number
        if self.roles is None:
            raise DataError(
                "no-roles",
                f"the positions of {self} have no roles, so {role!r} names none",
                remedy=f"use 0 to {self.arity - 1}",
            )
        if role not in self.roles:
            raise UnknownNameError(f"role of {self.name}", role, self.roles)
        return self.roles.index(role)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.roles)})" if self.roles else f"{self.name}/{self.arity}"


class Schema:
    """The relations of a hypergraph in a fixed order; the id of a relation is its index."""

    def __init__(self, relations: Iterable[RelationSchema]) -> None:
        self.relations: tuple[RelationSchema, ...] = tuple(relations)
        self.names = Vocabulary((relation.name for relation in self.relations), kind="relation")

    @cached_property
    def arities(self) -> frozenset[int]:
        """The arities that occur."""
        return frozenset(relation.arity for relation in self.relations)

    @cached_property
    def starts(self) -> Int64:
        """Where the positions of each relation begin among all positions, and their number."""
        return np.cumsum([0, *(relation.arity for relation in self.relations)])

    def id(self, name: str) -> int:
        """Return the id of the relation called `name`."""
        return self.names.id(name)

    def __getitem__(self, name: str | int) -> RelationSchema:
        return self.relations[name if isinstance(name, int) else self.id(name)]

    def __len__(self) -> int:
        return len(self.relations)

    def __iter__(self) -> Iterator[RelationSchema]:
        return iter(self.relations)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.relations == other.relations

    def __hash__(self) -> int:
        return hash(self.relations)

    def __repr__(self) -> str:
        return f"<Schema of {len(self)} relations>"
