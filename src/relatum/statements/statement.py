"""A statement: head, main property and tail, and qualifiers; as a fact of any arity, and back, with nothing lost.

The relation is the main property, followed by the roles of its qualifiers, `+` between them: `P166+P1706+P1706#2+P585`. The
fact has the head, the tail and the values of the qualifiers, in this order; its roles are `P166_h`, `P166_t`, and the
property of each qualifier, the second value of one property being `#2`. Qualifiers are sorted by property, then by value.

What would break a name is written as `%` and two hexadecimal digits for each byte, as in the address of a page. So the
relation's name alone says all about its positions, and no two statements have one fact.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

from relatum.errors import DataError

Fact = tuple[str, ...]  # the relation, the head, the tail, the values

MOST_QUALIFIERS = 1000  # of one statement: each is a position of its fact, and no real one has a tenth of that

_PARTS = ("main property", "head", "tail")
_OF_QUALIFIER = ("qualifier's property", "qualifier's value")
_BREAK_VALUES = re.compile(r"[%\t\n\r\0]")
_BREAK_PROPERTIES = re.compile(r"[%\t\n\r\0#+\ufeff]")  # the last is a byte order mark where a file begins with it
_REMEMBERED = 1 << 16  # relations whose spelling is kept


class Statement(NamedTuple):
    """`head property tail`, with qualifiers in ascending order: the order in which they come says nothing.

    A pair that comes twice is there twice. All of it is text; what a value is, if anything, its form says.
    """

    property: str
    head: str
    tail: str
    qualifiers: tuple[tuple[str, str], ...] = ()


def statement(name: str, head: str, tail: str, qualifiers: Iterable[tuple[str, str]] = ()) -> Statement:
    """Return the statement of a main property, or raise a `DataError` if a part of it is no text or empty."""
    pairs = sorted(qualifiers)
    if len(pairs) > MOST_QUALIFIERS:
        raise DataError(
            "statement-limit", f"{len(pairs)} qualifiers; a statement has at most {MOST_QUALIFIERS}, so split or shorten it"
        )
    texts = [name, head, tail, *itertools.chain.from_iterable(pairs)]
    if not all(texts) or not "".join(texts).isascii():  # all at once, for nearly always nothing is wrong
        for text, what in zip(texts, _PARTS + _OF_QUALIFIER * len(pairs), strict=True):
            _check_text(text, what)
    return Statement(name, head, tail, tuple(pairs))


def _check_text(text: str, what: str) -> None:
    """Refuse a text that is empty, or that holds half of a surrogate pair, which no file can hold."""
    if not text:
        raise DataError("statement-limit", f"empty {what}", remedy="give it a name")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise DataError(
                "statement-limit", f"{what} {text!r} is not valid Unicode", remedy="write whole characters"
            ) from None


def fact_of(one: Statement) -> Fact:
    """Return the fact of a statement: its relation, then its entities."""
    relation = relation_of(one.property, tuple([key for key, _ in one.qualifiers]))
    return (relation, _entity(one.head), _entity(one.tail), *[_entity(value) for _, value in one.qualifiers])


def statement_of(fact: Sequence[str]) -> Statement:
    """Return the statement of a fact, or raise a `DataError` if the fact is not one of a statement."""
    relation, *entities = fact
    name, keys = _properties(relation)
    if len(entities) != 2 + len(keys):
        raise DataError(
            "not-a-statement",
            f"relation {relation!r} has {len(entities)} entities, but as a statement it would have a head, a tail and "
            f"{len(keys)} qualifiers; only facts that came from statements, or of two entities, can be written as such",
        )
    head, tail, *values = map(_value, entities)
    return statement(name, head, tail, zip(keys, values, strict=True))


def roles_of(relation: str) -> Fact:
    """Return the roles of a relation of statements: head and tail by the main property, then a role for each qualifier."""
    main, *rest = relation.split("+")
    return (f"{main}_h", f"{main}_t", *rest)


@lru_cache(maxsize=_REMEMBERED)
def relation_of(name: str, keys: tuple[str, ...]) -> str:
    """Return the relation of statements with this main property, and with these properties of qualifiers, which ascend."""
    roles = []
    for key, same in itertools.groupby(keys):
        spelt = _spelt(key)
        roles += [spelt if number == 1 else f"{spelt}#{number}" for number, _ in enumerate(same, start=1)]
    return "+".join((_spelt(name), *roles))


def main_property(relation: str, roles: Sequence[str] | None) -> str | None:
    """Return the main property of a relation whose roles are those of statements, None for any other."""
    if roles is None or tuple(roles) != roles_of(relation):
        return None
    try:
        return _properties(relation)[0]
    except DataError:
        return None


@lru_cache(maxsize=_REMEMBERED)
def _properties(relation: str) -> tuple[str, tuple[str, ...]]:
    """Return the main property and the properties of the qualifiers that a relation's name spells."""
    main, *roles = relation.split("+")
    try:
        name, *found = (unquote(part.partition("#")[0], errors="strict") for part in (main, *roles))
        keys = tuple(found)
        sound = len(keys) <= MOST_QUALIFIERS and all((name, *keys)) and list(keys) == sorted(keys)
        if sound and relation_of(name, keys) == relation:
            return name, keys
    except ValueError:
        pass
    raise DataError(
        "not-a-statement",
        f"relation {relation!r} is not spelt as the relations of statements are, main property and sorted roles of "
        "qualifiers with '+' between them; only facts that came from statements can be written as such",
    )


def _spelt(name: str) -> str:
    """Return a property as a part of a relation's name and as a role: without `+` and `#`, and no head, tail or number."""
    spelt = _BREAK_PROPERTIES.sub(lambda found: _hexadecimal(found[0]), name)
    if spelt.isdecimal() or spelt.isspace():
        return _hexadecimal(spelt[0]) + spelt[1:]
    return f"{spelt[:-2]}%5F{spelt[-1]}" if spelt.endswith(("_h", "_t")) else spelt


def _entity(value: str) -> str:
    """Return the name of the entity that a value is."""
    if _BREAK_VALUES.search(value):
        value = _BREAK_VALUES.sub(lambda found: _hexadecimal(found[0]), value)
    return _hexadecimal(value[0]) + value[1:] if value.isspace() else value


def _value(entity: str) -> str:
    if "%" not in entity:
        return entity
    try:
        value = unquote(entity, errors="strict")
    except ValueError:
        value = ""
    if not value or _entity(value) != entity:
        raise DataError(
            "not-a-statement", f"entity {entity!r} has a '%' that no statement's value has", remedy="write it as '%25'"
        )
    return value


def _hexadecimal(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())
