"""One relation seen through conditions on its columns, with some of the columns left: a rule's body with a single atom.

Any chain of renamings, projections and selections of one relation is such a view.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from relatum.algebra import Expression, Project, Relation, Rename, SelectConstant, SelectEqual
from relatum.data.schema import RelationSchema
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.rules.keys import Flags

__all__ = ["Condition", "View"]


@dataclass(frozen=True, slots=True, order=True)
class Condition:
    """A column holds an entity, or, where `other` is not -1, the same as another column."""

    column: int
    entity: int = -1
    other: int = -1

    def holds(self, columns: Ids) -> Flags:
        """Return which rows meet the condition."""
        found: Flags = columns[self.column] == (self.entity if self.other < 0 else columns[self.other])
        return found


@dataclass(frozen=True, slots=True)
class View:
    """The rows of a relation that meet the conditions, of which the columns `places` are kept, in this order."""

    relation: RelationSchema
    places: tuple[int, ...]
    conditions: tuple[Condition, ...] = ()

    @property
    def operations(self) -> int:
        """How many operations its expression has."""
        left = self.relation.arity - len(self.conditions)
        kept = [column for column in range(self.relation.arity) if column not in self._dropped]
        return len(self.conditions) + (len(self.places) < left or list(self.places) != kept)

    @property
    def is_renaming(self) -> bool:
        """Whether it has all tuples and columns of its relation, so that the relation can as well be read off it."""
        return not self.conditions and len(self.places) == self.relation.arity

    @property
    def _dropped(self) -> set[int]:
        return {condition.column for condition in self.conditions}

    def given(self, condition: Condition) -> View:
        """Return the view with one more condition."""
        return replace(self, conditions=tuple(sorted((*self.conditions, condition))))

    def columns(self, columns: Ids) -> Ids:
        """Return the view's columns of the rows that meet the conditions; repeats are kept."""
        kept = columns[list(self.places)]
        if not self.conditions:
            return kept
        return kept[:, np.logical_and.reduce([condition.holds(columns) for condition in self.conditions])]

    def expression(self, entities: Vocabulary) -> Expression:
        """Return the view in relational algebra: selections first, then one renaming or projection where needed."""
        found: Expression = Relation(self.relation)
        left = list(range(self.relation.arity))
        for condition in self.conditions:
            place = left.index(condition.column)
            if condition.other < 0:
                found = SelectConstant(found, place, entities[condition.entity])
            else:
                found = SelectEqual(found, place, left.index(condition.other))
            left.remove(condition.column)
        positions = tuple(left.index(column) for column in self.places)
        if positions == tuple(range(len(left))):
            return found
        return Rename(found, positions) if len(positions) == len(left) else Project(found, positions)
