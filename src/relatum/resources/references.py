"""How entities and facts are referred to, wherever they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relatum.algebra.lexer import as_written, write_arguments
from relatum.api import Run
from relatum.runs.shown_values import beside


@dataclass(frozen=True, slots=True)
class EntityRef:
    """An entity.

    Attributes:
        name: its whole name, which no other entity has: `items:17`.
        label: what people call it, from a column such as `name`; None if it has no label.
        type: what it is where it came from a table: `items`; None where that is not known.
        interval: of a number or a date, the least and the greatest that it can be, or that are stored where there are
            several; None where it is exact, or no such value.
        is_value: whether it is no entity, but a value that is stored.
    """

    name: str
    label: str | None = None
    type: str | None = None
    interval: str | None = None
    is_value: bool = False


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
        is_condition: whether the relation is a condition of the query on the cells of a row, `film: length > 120`.
    """

    relation: str
    entities: tuple[EntityRef, ...]
    roles: tuple[str, ...]
    text: str
    known: bool
    probability: float | None = None
    source: str | None = None
    is_condition: bool = False


def entity_ref(run: Run, name: str, interval: str | None = None, *, known: bool = False) -> EntityRef:
    """Return the reference to an entity by its whole name, whose beginning is its type.

    A number or a date can have an interval, of a known fact or a predicted one.
    """
    if interval is None:
        name, interval = run.shown_values.entity_shown(name)
    types = (one for one in run.entity_types if name.startswith(one) and name[len(one) : len(one) + 1] == ":")
    found = next(types, None)
    if interval is not None:
        value = name.removeprefix(f"{found}:" if found else "")
        return EntityRef(name, beside(value, interval, is_known=known), found, interval)
    return EntityRef(name, run.labels.of(name), found)


def value_ref(run: Run, entity: str | None, text: str) -> EntityRef:
    """Return the reference to what stands in a row: an entity, or a value that is none."""
    return EntityRef(text, is_value=True) if entity is None else entity_ref(run, entity)


def fact_ref(
    run: Run,
    relation: str,
    entities: Sequence[str],
    *,
    intervals: Sequence[str | None] = (),
    probability: float | None = None,
    source: str | None = None,
) -> FactRef:
    """Return the reference to a fact of entities by their whole names; it is known if it has a source."""
    known = source is not None
    beside_each = intervals or (None,) * len(entities)
    refs = tuple(entity_ref(run, name, one, known=known) for name, one in zip(entities, beside_each, strict=True))
    return FactRef(
        relation,
        refs,
        role_names(run, relation),
        as_written(relation) + write_arguments(tuple(one.name for one in refs)),
        known,
        1.0 if known else probability,
        source,
    )


def stored_ref(run: Run, relation: str, ids: Sequence[int], source: str | None) -> FactRef:
    """Return the reference to a fact of entities by their ids, which a split part holds with the values that are stored."""
    shown = run.shown_values.fact(relation, ids, known=source is not None)
    return fact_ref(run, relation, shown.names, intervals=shown.intervals, source=source)


def condition_ref(run: Run, relation: str, entities: Sequence[str], *, known: bool, probability: float) -> FactRef:
    """Return the reference to what a query demands of a row, as to a fact."""
    roles = tuple(map(str, range(len(entities))))
    text = as_written(relation) + write_arguments(tuple(entities))
    refs = tuple(entity_ref(run, name) for name in entities)
    return FactRef(relation, refs, roles, text, known, probability, is_condition=True)


def role_names(run: Run, relation: str) -> tuple[str, ...]:
    """Return how the positions of a relation are called: by role, or by number."""
    schema = run.schema[relation]
    return schema.roles or tuple(map(str, range(schema.arity)))
