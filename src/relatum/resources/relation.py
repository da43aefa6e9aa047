"""A relation: its schema and facts; on demand its quality, its rules and its doubtful facts."""

from __future__ import annotations

from dataclasses import dataclass

from relatum.api import Run
from relatum.resources.answers import ReasonItem
from relatum.resources.facts import FactPage
from relatum.resources.overview import RelationRow
from relatum.resources.quality import Measured
from relatum.resources.references import EntityRef, FactRef
from relatum.resources.rules import RulesView

__all__ = [
    "DoubtfulFacts",
    "DoubtfulItem",
    "RelationPage",
    "RelationQuality",
    "RelationRules",
    "doubtful",
    "relation_page",
    "relation_quality",
    "relation_rules",
]


@dataclass(frozen=True, slots=True)
class RelationPage:
    """A relation.

    Attributes:
        relation: its schema, size, an example and a question.
        keys: the sets of roles by which no two facts are alike, where it was made from tables.
        facts: its first facts.
    """

    relation: RelationRow
    keys: tuple[tuple[str, ...], ...]
    facts: FactPage


@dataclass(frozen=True, slots=True)
class RelationQuality:
    """How the held-out facts of a relation rank.

    Attributes:
        relation: its name.
        part: the split part whose facts were hidden; None where there are none.
        overall: how all of its questions rank; None where there are none.
        roles: the same for each role, in the order of the positions; only those that have questions.
    """

    relation: str
    part: str | None
    overall: Measured | None
    roles: tuple[Measured, ...]


@dataclass(frozen=True, slots=True)
class RelationRules:
    """The rules that conclude facts of a relation, and those that read them to conclude others."""

    relation: str
    about: RulesView
    using: RulesView


@dataclass(frozen=True, slots=True)
class DoubtfulItem:
    """A known fact one of whose entities seems to be wrong.

    Attributes:
        fact: the fact.
        position: the position that is most likely wrong.
        role: how it is called.
        stored: what stands there.
        expected: what is expected there instead; None if nothing else is known there.
        doubt: the log-odds that what is stored stands there by accident.
        reasons: what speaks for the expected entity.
        support: what speaks for the stored one.
    """

    fact: FactRef
    position: int
    role: str
    stored: EntityRef
    expected: EntityRef | None
    doubt: float
    reasons: tuple[ReasonItem, ...]
    support: tuple[ReasonItem, ...]


@dataclass(frozen=True, slots=True)
class DoubtfulFacts:
    """The known facts of a relation that are most doubtful, and whether there are more."""

    relation: str
    facts: tuple[DoubtfulItem, ...]
    truncated: bool


def relation_page(run: Run, name: str, *, after: str | None = None, limit: int = 20) -> RelationPage:
    """Return a relation with its first facts."""
    raise NotImplementedError


def relation_quality(run: Run, name: str) -> RelationQuality:
    """Return how the held-out facts of a relation rank; all held-out facts are ranked once, which may take a while."""
    raise NotImplementedError


def relation_rules(run: Run, name: str, k: int = 20) -> RelationRules:
    """Return the rules that conclude facts of a relation, and those that read them."""
    raise NotImplementedError


def doubtful(run: Run, name: str, k: int = 10) -> DoubtfulFacts:
    """Return the k most doubtful known facts of a relation; they are judged once, which may take a while."""
    raise NotImplementedError
