"""Entities and facts as pages show them, written by hand."""

from __future__ import annotations

from relatum.algebra.lexer import as_written, write_arguments
from relatum.resources.references import EntityRef, FactRef

_ROLES = ("seller", "buyer", "item")


def entity(name: str, label: str | None = None) -> EntityRef:
    """Return an entity; one of a name such as `people:drew` has the type `people`."""
    return EntityRef(name, label, name.partition(":")[0] if ":" in name else None)


def fact(relation: str, *names: str, roles: tuple[str, ...] | None = None, probability: float | None = None) -> FactRef:
    """Return a fact: predicted if it has a probability, else known."""
    known = probability is None
    given = roles or _ROLES[: len(names)]
    text = as_written(relation) + write_arguments(names)
    return FactRef(relation, tuple(map(entity, names)), given, text, known, probability, "train" if known else None)
