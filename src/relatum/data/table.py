"""The facts of one relation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from relatum.data.schema import RelationSchema
from relatum.data.vocabulary import Ids, Vocabulary

__all__ = ["TupleTable"]


@dataclass(frozen=True, eq=False, slots=True)
class TupleTable:
    """The facts of one relation, column-wise: `columns` is int32[arity, n], a view into its hypergraph."""

    relation: RelationSchema
    columns: Ids
    entities: Vocabulary

    def column(self, place: int | str) -> Ids:
        """Return the entity ids at one position, given by number or by role."""
        found: Ids = self.columns[self.relation.position(place)]
        return found

    def __len__(self) -> int:
        return int(self.columns.shape[1])

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        """Yield each fact as a tuple of entity names."""
        names = self.entities.names
        return zip(*([names[entity] for entity in column] for column in self.columns.tolist()), strict=True)
