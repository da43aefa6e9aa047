"""Statements of Wikidata, one entity a line as in its dumps: `{"id": "Q42", "claims": {"P69": [{"mainsnak": ...}, ...]}}`.

Lines may end in a comma, and `[` and `]` may stand on lines of their own. Of an entity its id and its claims are read, of a
claim its main snak, its qualifiers and its rank: one that is deprecated is left out, and preferred is as good as normal.
References, ids and hashes of claims, datatypes, labels and links are not read, and so not written back.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any

from relatum.errors import DataError
from relatum.statements.statement import Statement, statement
from relatum.statements.strict_json import json_object, type_name
from relatum.statements.wikidata_values import ENTITY, snak_of, text_of

__all__ = ["parse", "write"]

_TYPES = {"Q": "item", "P": "property", "L": "lexeme"}
_PER_LINE = 10_000  # statements of one entity; those of a head that has more are in several lines


def parse(line: bytes) -> Iterator[Statement | DataError | None]:
    """Yield each statement of a line; the error if it is none, and None if it is deprecated."""
    line = line.strip()
    if line in (b"[", b"]"):
        return
    entity = json_object(line.removesuffix(b","))
    head, claims = entity.get("id"), entity.get("claims")
    if not isinstance(head, str) or not _is_head(head):
        raise DataError('an entity whose "id" is not like Q42, P31 or L7; give it one')
    if claims == []:  # so PHP writes an empty object
        return
    if not isinstance(claims, dict):
        raise DataError(f'entity {head} has no object "claims"; only entity documents are read')
    for name, listed in claims.items():
        if not isinstance(listed, list):
            yield DataError(f"{head}, {name[:40]!r}: {type_name(listed)} where a list of claims should be; write a list")
            continue
        for claim in listed:
            try:
                yield _statement(head, name, claim)
            except DataError as error:
                yield DataError(f"{head}, {name[:40]!r}: {error}")


def write(statements: Iterable[Statement]) -> Iterator[bytes]:
    """Yield a line for each entity; statements of one head that follow each other share one."""
    for head, same in itertools.groupby(statements, lambda one: one.head):
        if not _is_head(head):
            raise DataError(f"head {head[:80]!r} is no entity of Wikidata, such as Q42, P31 or L7; choose wikipeople")
        while some := list(itertools.islice(same, _PER_LINE)):
            claims: dict[str, list[dict[str, Any]]] = {}
            for one in some:
                claims.setdefault(one.property, []).append(_claim(one))
            document = {"type": _TYPES[head[0]], "id": head, "claims": claims}
            yield json.dumps(document, ensure_ascii=False).encode() + b"\n"


def _is_head(text: str) -> bool:
    return ENTITY.fullmatch(text) is not None and "-" not in text


def _statement(head: str, name: str, claim: object) -> Statement | None:
    if not isinstance(claim, dict):
        raise DataError(f"{type_name(claim)} where a claim should be; give an object with a mainsnak")
    rank = claim.get("rank", "normal")
    if rank not in ("normal", "preferred", "deprecated"):
        raise DataError("a rank that is not normal, preferred or deprecated; correct it")
    main, qualifiers = claim.get("mainsnak"), claim.get("qualifiers", {})
    if not isinstance(main, dict) or main.get("property") != name:
        raise DataError("a claim without a mainsnak of this property; give it one")
    if not isinstance(qualifiers, dict) and qualifiers != []:
        raise DataError(f"{type_name(qualifiers)} where qualifiers should be; give an object of lists of snaks")
    pairs: list[tuple[str, str]] = []
    for key, snaks in dict(qualifiers).items():
        if not isinstance(snaks, list) or not snaks:
            raise DataError(f"qualifier {key[:40]!r} has no list of snaks; give one, or leave it out")
        pairs += [(key, text_of(snak)) for snak in snaks]
        if any(snak.get("property", key) != key for snak in snaks):
            raise DataError(f"qualifier {key[:40]!r} has a snak of another property; correct it")
    found = statement(name, head, text_of(main), pairs)
    return None if rank == "deprecated" else found


def _claim(one: Statement) -> dict[str, Any]:
    claim: dict[str, Any] = {"mainsnak": snak_of(one.property, one.tail), "type": "statement", "rank": "normal"}
    qualifiers: dict[str, list[dict[str, Any]]] = {}
    for key, value in one.qualifiers:
        qualifiers.setdefault(key, []).append(snak_of(key, value))
    if qualifiers:
        claim |= {"qualifiers": qualifiers, "qualifiers-order": list(qualifiers)}
    return claim
