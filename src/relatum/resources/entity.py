"""An entity: its facts by relation and role, what is predicted about it, entities like it, and its neighbourhood."""

from __future__ import annotations

from dataclasses import dataclass

from relatum.api import Run
from relatum.resources.answers import AnswerItem
from relatum.resources.references import EntityRef, FactRef

__all__ = [
    "EntityPage",
    "FactGroup",
    "Neighbourhood",
    "PredictedFacts",
    "SimilarItem",
    "entity_page",
    "neighbourhood",
    "predicted",
]


@dataclass(frozen=True, slots=True)
class FactGroup:
    """Facts with an entity at one role of a relation.

    Attributes:
        relation: the relation.
        role: the role; the number of the position where there are no roles.
        position: its number.
        count: how many facts there are.
        facts: the first of them; `facts_of(entity, relation, role)` has all.
    """

    relation: str
    role: str
    position: int
    count: int
    facts: tuple[FactRef, ...]


@dataclass(frozen=True, slots=True)
class SimilarItem:
    """An entity like another, and the cosine of their embeddings."""

    entity: EntityRef
    similarity: float


@dataclass(frozen=True, slots=True)
class EntityPage:
    """An entity.

    Attributes:
        entity: the entity.
        facts: in how many known facts it stands.
        groups: its facts by relation and role, largest group first.
        similar: entities like it, those of its own type first.
        truncated: whether there are more groups than are listed.
    """

    entity: EntityRef
    facts: int
    groups: tuple[FactGroup, ...]
    similar: tuple[SimilarItem, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class PredictedFacts:
    """New facts with an entity, the most likely first.

    Attributes:
        entity: the entity.
        answers: the facts as answers: their entities are what was varied.
        truncated: whether the search was cut short.
    """

    entity: EntityRef
    answers: tuple[AnswerItem, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The facts around an entity, to be drawn: known ones and predicted ones, spread over its relations.

    Attributes:
        centre: the entity.
        facts: each with the entity in it; `known` tells the two apart.
        truncated: whether there are more known facts than are listed.
    """

    centre: EntityRef
    facts: tuple[FactRef, ...]
    truncated: bool


def entity_page(run: Run, name: str, *, facts: int = 10, similar: int = 10) -> EntityPage:
    """Return an entity with its facts; predictions are worked out by `predicted`, on demand."""
    raise NotImplementedError


def predicted(run: Run, name: str, k: int = 10, *, reasons: int = 0) -> PredictedFacts:
    """Return the k most likely new facts with an entity; looked for around its known facts."""
    raise NotImplementedError


def neighbourhood(run: Run, name: str, *, known: int = 16, new: int = 6) -> Neighbourhood:
    """Return the facts around an entity: some that are known, spread over its relations, and the likeliest new ones."""
    raise NotImplementedError
