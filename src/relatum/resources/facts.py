"""Known facts, page by page: of an entity, of a relation, or all; and the tokens that lead from page to page."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relatum.api import Run
from relatum.errors import DataError, SettingError
from relatum.resources.fact_index import fact_index
from relatum.resources.limits import MOST_FACTS, bounded
from relatum.resources.references import EntityRef, FactRef, entity_ref, fact_ref, role_names


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
        relation: the name of a relation, stored or defined; without one, facts of stored relations.
        role: a role of the relation, or the number of a position; needs an entity and a relation.
        after: the token of the page before.
        limit: how many facts a page has; at most MOST_FACTS.
    """
    limit = bounded("limit", limit, MOST_FACTS)
    if role is not None and (entity is None or relation is None):
        raise SettingError(
            "option-needs-option", "says where an entity stands in a relation", place="role", remedy="give both of these too"
        )
    schema = None if relation is None else run.schema[relation]
    position = None if role is None or schema is None else schema.position(role)
    name = None if entity is None else run.entities[run.entity_id(entity)]
    number = None if name is None else run.entities.id(name)
    wanted = ("facts", len(fact_index(run)), len(run.entities), name, relation, position)
    start = offset_of(after, *wanted)
    if schema is not None and schema.name in run.definitions:
        facts, total = _derived(run, schema.name, number, position, start, limit)
    else:
        chosen = _chosen(run, number, None if relation is None else run.model.schema.id(relation), position)
        facts, total = tuple(fact_index(run).refs(chosen[start : start + limit])), len(chosen)
    ends = start + len(facts)
    return FactPage(
        None if name is None else entity_ref(run, name),
        None if schema is None else schema.name,
        None if position is None or schema is None else role_names(run, schema.name)[position],
        facts,
        total,
        token_of(ends, *wanted) if facts and ends < total else None,
    )


def _chosen(run: Run, entity: int | None, relation: int | None, position: int | None) -> Sequence[int]:
    """Return the numbers of the facts that are wanted, ascending."""
    index = fact_index(run)
    if entity is None:
        return range(len(index)) if relation is None else index.of_relation(relation)
    found = [
        one.facts
        for one in index.standings(entity)
        if (relation is None or one.relation == relation) and (position is None or one.position == position)
    ]
    numbers: list[int] = np.unique(np.concatenate(found)).tolist() if found else []
    return numbers


def _derived(
    run: Run, relation: str, entity: int | None, position: int | None, start: int, limit: int
) -> tuple[tuple[FactRef, ...], int]:
    """Return a page of the facts that follow by definition, and how many there are."""
    columns = run.table(relation).columns
    if entity is not None:
        here = columns == entity
        columns = columns[:, here.any(axis=0) if position is None else here[position]]
    shown = columns[:, start : start + limit].T.tolist()
    refs = (fact_ref(run, relation, [run.entities[one] for one in fact], source="derived") for fact in shown)
    return tuple(refs), int(columns.shape[1])


_OFFSET, _CHECK = 8, 12  # bytes of a token: where a page begins, and what binds it to what was asked


def token_of(offset: int, *wanted: object) -> str:
    """Return the opaque token of the page that begins at an offset of what was wanted."""
    start = offset.to_bytes(_OFFSET, "big")
    return base64.urlsafe_b64encode(start + _check(start, wanted)).decode().rstrip("=")


def offset_of(token: str | None, *wanted: object) -> int:
    """Return where the page of a token begins; refused if it was not given for the same thing."""
    if token is None:
        return 0
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True) if len(token) < 64 else b""
    except (binascii.Error, ValueError):
        raw = b""
    offset = int.from_bytes(raw[:_OFFSET], "big")
    if len(raw) != _OFFSET + _CHECK or token.rstrip("=") != token_of(offset, *wanted):  # one spelling of several
        raise DataError(
            "foreign-token", "this token leads to no page of what is wanted here", remedy="start again without it"
        )
    return offset


def _check(start: bytes, wanted: tuple[object, ...]) -> bytes:
    return hashlib.blake2b(start + repr(wanted).encode(), digest_size=_CHECK, person=b"relatum pages").digest()
