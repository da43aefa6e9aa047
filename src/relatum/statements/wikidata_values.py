"""The values of Wikidata's snaks as text, and back. No text is that of two values, and none of a literal is an entity's id.

| value | text |
|---|---|
| wikibase-entityid | `Q42`, `P31`, `L7`, `L7-F1`, `L7-S2` |
| time | `TIME#TIMEZONE#BEFORE#AFTER#PRECISION#CALENDAR`, as in WikiPeople; TIME is like `+1903-00-00T00:00:00Z` |
| string | `string:TEXT` |
| monolingualtext | `monolingualtext:LANGUAGE:TEXT` |
| quantity | `quantity:AMOUNT#LOWER#UPPER#UNIT`; nothing stands for a bound that is not there |
| globecoordinate | `globecoordinate:LATITUDE#LONGITUDE#ALTITUDE#PRECISION#GLOBE`; nothing stands for null |
| somevalue, novalue | `somevalue`, `novalue` |
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from relatum.errors import DataError
from relatum.statements.strict_json import type_name

__all__ = ["ENTITY", "snak_of", "text_of"]

ENTITY = re.compile(r"[QPL][1-9][0-9]{0,17}|L[1-9][0-9]{0,17}-[FS][1-9][0-9]{0,17}")
_TIME = re.compile(r"[+-][0-9]{1,16}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_AMOUNT = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
_LANGUAGE = re.compile(r"[A-Za-z0-9-]+")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,9}")
_MOST = 2**31  # integers that Wikidata writes as numbers are below
_ENTITY_TYPES = {"item": "Q", "property": "P", "lexeme": "L"}
_BY_LETTER = {letter: name for name, letter in _ENTITY_TYPES.items()}
_PARTS = {"F": "form", "S": "sense"}

Value = dict[str, Any]


def text_of(snak: object) -> str:
    """Return the value of a snak as text, or raise a `DataError`."""
    if not isinstance(snak, dict):
        raise DataError(f"{type_name(snak)} where a snak should be; give an object with snaktype and datavalue")
    how = snak.get("snaktype")
    if how in ("somevalue", "novalue"):
        return str(how)
    if how != "value":
        raise DataError("a snak whose snaktype is not value, somevalue or novalue; correct it")
    data = snak.get("datavalue")
    if not isinstance(data, dict) or not isinstance(data.get("type"), str) or "value" not in data:
        raise DataError("a snak without a datavalue of a type and a value; write both, or the snaktype novalue")
    value = data["value"]
    if data["type"] == "string":
        return f"string:{_string(value, 'a string')}"
    if data["type"] not in _TO_TEXT:
        raise DataError(f"unknown type of datavalue {data['type'][:40]!r}; known: string, {', '.join(_TO_TEXT)}")
    if not isinstance(value, dict):
        raise DataError(f"{type_name(value)} where the value of {data['type']} should be; give an object")
    return _TO_TEXT[data["type"]](value)


def snak_of(name: str, text: str) -> Value:
    """Return the snak of a property and a value's text, or raise a `DataError` if it is the text of no value."""
    if text in ("somevalue", "novalue"):
        return {"snaktype": text, "property": name}
    if ENTITY.fullmatch(text):
        return _snak(name, "wikibase-entityid", _entity_value(text))
    if text[:1] in ("+", "-"):
        return _snak(name, "time", _time_value(text))
    type_of_value, colon, rest = text.partition(":")
    if rest and type_of_value == "string":
        return _snak(name, "string", rest)
    if colon and type_of_value in _FROM_TEXT:
        return _snak(name, type_of_value, _FROM_TEXT[type_of_value](rest))
    raise DataError(f"{text[:80]!r} is no value of Wikidata; write an entity's id, a time, or string: before a text")


def _snak(name: str, type_of_value: str, value: object) -> Value:
    return {"snaktype": "value", "property": name, "datavalue": {"value": value, "type": type_of_value}}


def _entity_text(value: Value) -> str:
    if "id" in value:
        if not isinstance(value["id"], str) or not ENTITY.fullmatch(value["id"]):
            raise DataError("an entity's id that is not like Q42, P31, L7 or L7-F1; correct it")
        return value["id"]
    letter = _ENTITY_TYPES.get(str(value.get("entity-type")))  # as older dumps have it
    number = value.get("numeric-id")
    if letter is None or type(number) is not int or not 0 < number < 10**18:
        raise DataError("an entity without an id; give one such as Q42")
    return f"{letter}{number}"


def _entity_value(text: str) -> Value:
    if "-" in text:
        return {"entity-type": _PARTS[text.partition("-")[2][0]], "id": text}
    return {"entity-type": _BY_LETTER[text[0]], "numeric-id": int(text[1:]), "id": text}


def _time_text(value: Value) -> str:
    time = value.get("time")
    if not isinstance(time, str) or not _TIME.fullmatch(time):
        raise DataError("a time that is not like +2013-01-01T00:00:00Z; correct it")
    numbers = [_integer(value, name) for name in ("timezone", "before", "after", "precision")]
    return "#".join((time, *numbers, _string(value.get("calendarmodel"), "a calendarmodel")))


def _time_value(text: str) -> Value:
    time, *numbers, calendar = _fields(text, 6, "time")
    if not _TIME.fullmatch(time) or not all(map(_INTEGER.fullmatch, numbers)) or not calendar:
        raise DataError(f"{text[:80]!r} begins like a time and is none; write time#timezone#before#after#precision#calendar")
    whole = dict(zip(("timezone", "before", "after", "precision"), map(int, numbers), strict=True))
    return {"time": time, **whole, "calendarmodel": calendar}


def _language_text(value: Value) -> str:
    language = value.get("language")
    if not isinstance(language, str) or not _LANGUAGE.fullmatch(language):
        raise DataError("a monolingualtext without the code of a language, such as en; give one")
    return f"monolingualtext:{language}:{_string(value.get('text'), 'a text')}"


def _language_value(rest: str) -> Value:
    language, colon, text = rest.partition(":")
    if not colon or not _LANGUAGE.fullmatch(language) or not text:
        raise DataError(f"'monolingualtext:{rest[:80]}' has no language and text; write monolingualtext:en:TEXT")
    return {"text": text, "language": language}


def _quantity_text(value: Value) -> str:
    amount = _amount(value.get("amount"), "amount")
    bounds = ["" if value.get(name) is None else _amount(value[name], name) for name in ("lowerBound", "upperBound")]
    return "quantity:" + "#".join((amount, *bounds, _string(value.get("unit"), "a unit")))


def _quantity_value(rest: str) -> Value:
    amount, lower, upper, unit = _fields(rest, 4, "quantity")
    bounds = {name: bound for name, bound in (("upperBound", upper), ("lowerBound", lower)) if bound}
    if not all(map(_AMOUNT.fullmatch, (amount, *bounds.values()))) or not unit:
        raise DataError(f"'quantity:{rest[:80]}' is no quantity; write quantity:AMOUNT#LOWER#UPPER#UNIT")
    return {"amount": amount, "unit": unit, **bounds}


def _globe_text(value: Value) -> str:
    numbers = [_number(value, name) for name in ("latitude", "longitude", "altitude", "precision")]
    if "" in numbers[:2]:
        raise DataError("a globecoordinate without latitude and longitude; give both")
    return "globecoordinate:" + "#".join((*numbers, _string(value.get("globe"), "a globe")))


def _globe_value(rest: str) -> Value:
    *texts, globe = _fields(rest, 5, "globecoordinate")
    try:
        numbers = [float(text) if text else None for text in texts]
    except ValueError:
        numbers = []
    spelt = ["" if number is None else _shortest(number) for number in numbers]
    if spelt != texts or None in numbers[:2] or not globe:
        raise DataError(f"'globecoordinate:{rest[:80]}' is none; write LATITUDE#LONGITUDE#ALTITUDE#PRECISION#GLOBE")
    return dict(zip(("latitude", "longitude", "altitude", "precision"), numbers, strict=True)) | {"globe": globe}


def _fields(text: str, count: int, what: str) -> list[str]:
    fields = text.split("#", count - 1)  # the last one may hold the sign itself
    if len(fields) < count:
        raise DataError(f"{text[:80]!r} has {len(fields)} of the {count} fields of a {what}; set them apart by '#'")
    return fields


def _string(value: object, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise DataError(f"{what} that is empty or no text; write it")
    return value


def _integer(value: Value, name: str) -> str:
    number = value.get(name)
    if type(number) is not int or abs(number) >= _MOST:
        raise DataError(f"a time whose {name} is no whole number of up to 9 digits; correct it")
    return str(number)


def _amount(value: object, name: str) -> str:
    if not isinstance(value, str) or not _AMOUNT.fullmatch(value):
        raise DataError(f'a quantity whose {name} is no decimal number in quotes, such as "+5"; correct it')
    return value


def _number(value: Value, name: str) -> str:
    """Return a number in its shortest form, nothing for null."""
    number = value.get(name)
    if number is None:
        return ""
    if isinstance(number, bool) or not isinstance(number, int | float) or not abs(number) < _MOST:  # nor infinite
        raise DataError(f"a globecoordinate whose {name} is no number of its size; correct it")
    return _shortest(float(number))


def _shortest(number: float) -> str:
    return repr(number + 0.0).removesuffix(".0") if math.isfinite(number) else ""


_TO_TEXT: dict[str, Callable[[Value], str]] = {
    "wikibase-entityid": _entity_text,
    "time": _time_text,
    "monolingualtext": _language_text,
    "quantity": _quantity_text,
    "globecoordinate": _globe_text,
}
_FROM_TEXT: dict[str, Callable[[str], Value]] = {
    "monolingualtext": _language_value,
    "quantity": _quantity_value,
    "globecoordinate": _globe_value,
}
