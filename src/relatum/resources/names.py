"""Names as they are typed: what completes a question, a query of SQL or algebra, and entities by a part of their name."""

from __future__ import annotations

from dataclasses import dataclass

from relatum.api import Run
from relatum.resources.references import EntityRef

__all__ = ["EntityHit", "FoundEntities", "NameMatch", "StandsIn", "SuggestedNames", "find", "suggest"]


@dataclass(frozen=True, slots=True)
class NameMatch:
    """A name that could stand where something is being typed.

    Attributes:
        name: the relation, role or entity, by its whole name.
        label: what people call it; None if it has no label.
        kind: `relation`, `role`, `entity`, or `word` for a word of the language, such as `project`.
        facts: in how many known facts it stands, where it would stand here.
        insert: the text to put in, quoted as it must be.
    """

    name: str
    label: str | None
    kind: str
    facts: int
    insert: str


@dataclass(frozen=True, slots=True)
class SuggestedNames:
    """What completes a text where the cursor is.

    Attributes:
        start: where what is replaced by `insert` begins.
        end: where it ends.
        matches: the best first.
        truncated: whether there are more.
    """

    start: int
    end: int
    matches: tuple[NameMatch, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class StandsIn:
    """A column that an entity stands in, by relation and role, and in how many facts."""

    relation: str
    role: str
    facts: int


@dataclass(frozen=True, slots=True)
class EntityHit:
    """An entity found by name.

    Attributes:
        entity: the entity.
        match: how its name fits: `exact`, `prefix`, `word`, `substring`, or `spelling` (looks alike).
        facts: in how many facts it stands.
        columns: where it stands, most facts first.
    """

    entity: EntityRef
    match: str
    facts: int
    columns: tuple[StandsIn, ...]


@dataclass(frozen=True, slots=True)
class FoundEntities:
    """Entities found by name: the text, the best first, and whether there may be more."""

    text: str
    entities: tuple[EntityHit, ...]
    truncated: bool


def suggest(run: Run, text: str, cursor: int | None = None, k: int = 10) -> SuggestedNames:
    """Return what completes a text at the cursor (by default its end): relations, roles and entities that fit there."""
    raise NotImplementedError


def find(run: Run, text: str, k: int = 10) -> FoundEntities:
    """Return up to k entities by a part of their name or label, or a name that looks like it, the best first."""
    raise NotImplementedError
