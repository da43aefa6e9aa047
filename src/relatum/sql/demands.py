"""Demands on the cells of rows as relations: those rows of a table that meet one, known or predicted to.

    SELECT film_id FROM film WHERE length > 120   ->   `film: length > 120`(film_id)

Where the column is also shown or joined, its own relation is narrowed: `film.length: length > 120`(film_id, length).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from relatum.data.schema import RelationSchema
from relatum.sql.bound import Demand


@dataclass(frozen=True, slots=True)
class DemandedRelation:
    """The rows of a table that meet a demand, by their key; with `relation`, the facts of that relation about these rows."""

    table: str
    sql: str  # over bare columns, as DuckDB reads it
    text: str  # the same, as people read it
    columns: tuple[str, ...]
    relation: RelationSchema | None = None

    @property
    def schema(self) -> RelationSchema:
        """The relation, which a query names like any other."""
        name = f"{self.table if self.relation is None else self.relation.name}: {self.text}"
        return RelationSchema(name, 1 if self.relation is None else self.relation.arity)


def together(demands: Iterable[Demand]) -> list[Demand]:
    """Return demands on one row with those that name the same columns as one: what they say of a cell goes together."""
    found: dict[tuple[str, ...], Demand] = {}
    for one in demands:
        before = found.get(one.columns)
        if before is not None:
            sql, text = f"({before.sql}) AND ({one.sql})", f"{before.text} AND {one.text}"
            one = Demand(one.source, sql, text, one.columns)
        found[one.columns] = one
    return list(found.values())
