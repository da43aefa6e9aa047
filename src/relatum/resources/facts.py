"""Known facts, page by page: of an entity, of a relation, or all."""

from __future__ import annotations

from dataclasses import dataclass

from relatum.api import Run
from relatum.resources.references import EntityRef, FactRef

__all__ = ["FactPage", "facts_of"]


@dataclass(frozen=True, slots=True)
class FactPage:
    """Some known facts.

    Attributes:
        entity: whose facts they are; None if any.
        relation: their relation; None if any.
        role: where the entity stands in them; None if anywhere.
        facts: the facts of this page.
        total: how many there are on all pages.
        next: the token of the next page; None on the last one.
    """

    entity: EntityRef | None
    relation: str | None
    role: str | None
    facts: tuple[FactRef, ...]
    total: int
    next: str | None


def facts_of(
    run: Run,
    entity: str | None = None,
    relation: str | None = None,
    role: str | None = None,
    *,
    after: str | None = None,
    limit: int = 50,
) -> FactPage:
    """Return known facts: of an entity, of a relation, of an entity at a role of a relation, or all.

    Args:
        run: the run whose facts they are.
        entity: a whole name, a value, or a label.
        relation: the name of a relation, stored or defined.
        role: a role of the relation, or the number of a position; needs an entity and a relation.
        after: the token of the page before.
        limit: how many facts a page has; at most MOST_FACTS.
    """
    raise NotImplementedError
