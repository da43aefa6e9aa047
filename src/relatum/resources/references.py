"""How entities and facts are referred to, wherever they are shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relatum.algebra.lexer import as_written, write_arguments
from relatum.api import Run
from relatum.errors import DataError, UnknownNameError

__all__ = ["EntityRef", "FactRef", "entity_named", "entity_ref", "entity_refs", "entity_types", "fact_ref", "role_names"]


@dataclass(frozen=True, slots=True)
class EntityRef:
    """An entity.

    Attributes:
        name: its whole name, which no other entity has: `items:17`.
        label: what people call it, from a column such as `name`; None if it has no label.
        type: what it is where it came from a table: `items`; None where that is not known.
    """

    name: str
    label: str | None = None
    type: str | None = None


@dataclass(frozen=True, slots=True)
class FactRef:
    """A fact, known or predicted.

    Attributes:
        relation: the name of its relation.
        entities: in the order of the positions.
        roles: how the positions are called; their numbers where they have no roles.
        text: the fact as it can be asked about: `sold(drew, alex, book)`.
        known: whether it is among the facts of the run, or follows from them by definition.
        probability: how likely it is, 1 if it is known; None where that was not worked out.
        source: the split part that holds it (`train`, `valid` or `test`), `derived` if it follows by definition,
            `assumed` if it was taken as true for this question, None if it is not known.
    """

    relation: str
    entities: tuple[EntityRef, ...]
    roles: tuple[str, ...]
    text: str
    known: bool
    probability: float | None = None
    source: str | None = None


def entity_types(run: Run) -> tuple[str, ...]:
    """Return the types that entities of a run have, the longest first: one that begins another is the last resort."""

    def work_out() -> tuple[str, ...]:
        columns = (one for types in run.split.column_types.values() for one in types)
        found = {one.entity_type for one in columns if one.entity_type is not None}
        return tuple(sorted(found, key=lambda name: (-len(name), name)))

    return run.remembered("entity types", work_out)


def entity_ref(run: Run, name: str) -> EntityRef:
    """Return the reference to an entity by its whole name."""
    return entity_refs(run)(name)


def entity_refs(run: Run) -> Callable[[str], EntityRef]:
    """Return what makes references to entities of a run, where there are many to make."""
    types, label = entity_types(run), run.labels.of
    prefixes = [(f"{one}:", one) for one in types]

    def ref(name: str) -> EntityRef:
        own = None
        for prefix, one in prefixes:
            if name.startswith(prefix):
                own = one
                break
        return EntityRef(name, label(name), own)

    return ref


def fact_ref(
    run: Run,
    relation: str,
    entities: Sequence[str],
    *,
    probability: float | None = None,
    source: str | None = None,
    known: bool | None = None,
) -> FactRef:
    """Return the reference to a fact of entities by their whole names; it is known if it has a source."""
    held = source is not None if known is None else known
    return FactRef(
        relation,
        tuple(entity_ref(run, name) for name in entities),
        role_names(run, relation),
        as_written(relation) + write_arguments(tuple(entities)),
        held,
        1.0 if held else probability,
        source,
    )


def role_names(run: Run, relation: str) -> tuple[str, ...]:
    """Return how the positions of a relation are called: by role, or by number."""
    schema = run.schema[relation]
    return schema.roles or tuple(map(str, range(schema.arity)))


def entity_named(run: Run, name: str) -> str:
    """Return the whole name of the entity that a name means: a whole name, a value of one type only, or a label."""
    if name in run.entities:
        return name
    found = [full for full in (f"{one}:{name}" for one in sorted(entity_types(run))) if full in run.entities]
    found = found or [one for one in run.labels.named(name) if one in run.entities]
    if len(found) > 1:
        listed = ", ".join(found[:5]) + (", ..." if len(found) > 5 else "")
        raise DataError(f"{name!r} could be any of {len(found)} entities: {listed}; name one of them")
    if not found:
        raise UnknownNameError("entity", name, run.entities)
    return found[0]
