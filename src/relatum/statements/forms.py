"""The forms in which statements come, by name, and which of them a line is in; whatever is wrong with one is one sentence.

All are read, and WikiPeople's JSON lines are written: they hold every text, while WD50K's lines have no way to write a comma
and Wikidata's documents hold Wikidata's values alone.

**WikiPeople**: `{"P69_h": "Q1", "P69_t": "Q2", "P580": ["Q3", "Q4"], "N": 4}`. The main property is the one with `_h` and
`_t`, head and tail. Any other key is the property of a qualifier, with a text or a list of texts. `N`, how many values there
are in all, may be left out; a wrong one is refused.

**Wikidata**: `{"id": "Q42", "claims": {"P69": [{"mainsnak": ...}, ...]}}`. Lines may end in a comma, and `[` and `]` may
stand on lines of their own. Of an entity its id and its claims are read, of a claim its main snak, its qualifiers and its
rank: one that is deprecated is left out, and preferred is as good as normal. The values of snaks become texts, of which no
two are alike and none of a literal is like the id of an entity:

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

import contextlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from relatum.errors import DataError, UnknownNameError
from relatum.statements.statement import Statement, statement

_SIZE = "N"
_HEAD, _TAIL = "_h", "_t"
_ENTITY = re.compile(r"[QPL][1-9][0-9]{0,17}|L[1-9][0-9]{0,17}-[FS][1-9][0-9]{0,17}")
_TIME = re.compile(r"[+-][0-9]{1,16}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_AMOUNT = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
_NOT_EMPTY = re.compile(".+", re.DOTALL)
_LANGUAGE = re.compile(r"[A-Za-z0-9-]+")
_MOST = 2**31  # integers that Wikidata writes as numbers are below
_ENTITY_TYPES = {"item": "Q", "property": "P", "lexeme": "L"}

_Value = dict[str, Any]
_T = TypeVar("_T")


@dataclass(frozen=True)
class Form:
    """A form: its name, how a line is read, and what the file of a part is called.

    `parse` yields a statement; the error if it is none; None if it is left out. It raises what is wrong with a whole line.
    """

    name: str
    parse: Callable[[bytes], Iterator[Statement | DataError | None]]
    file_name: str


def _text(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise DataError(
            "not-utf8", f"not valid UTF-8 at byte {error.start} of the line", remedy="save the file as UTF-8"
        ) from None


# WD50K


def _parse_wd50k(line: bytes) -> Iterator[Statement]:
    """Yield the statement of a line `head,property,tail,property,value,property,value,...`.

    Nothing is quoted or escaped, as in the published files, so no value can hold a comma; spaces belong to the values.
    """
    fields = _text(line).split(",")
    if len(fields) < 3:
        raise DataError(
            "statement-fields",
            "fewer than three fields",
            remedy="write head,property,tail and then pairs of property and value",
        )
    if len(fields) % 2 == 0:
        raise DataError(
            "statement-fields", f"{len(fields)} fields, so a qualifier lacks its value; after the tail come pairs"
        )
    head, name, tail, *rest = fields
    yield statement(name, head, tail, zip(rest[::2], rest[1::2], strict=True))


# JSON


def _json_object(line: bytes) -> dict[str, Any]:
    """Return the JSON object on a line, or raise a `DataError`: no key comes twice, and numbers are numbers."""
    try:
        found = json.loads(_text(line), object_pairs_hook=_object, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise DataError(
            "bad-json-line", f"not JSON at character {error.pos}: {error.msg}", remedy="write one object a line"
        ) from None
    except RecursionError:
        reason = "JSON that is nested too deeply; no statement needs more than a dozen levels"
        raise DataError("bad-json-line", reason) from None
    except DataError:
        raise
    except ValueError:  # an integer of thousands of digits
        remedy = "write it in fewer digits, or as text"
        raise DataError("bad-json-line", "a number that is too long", remedy=remedy) from None
    return _typed(dict, found, "bad-json-line", "an object", "write one object a line")


def _typed(kind: type[_T], value: object, code: str, what: str, remedy: str) -> _T:
    """Return a value of the type that it should have, or raise a `DataError`."""
    if not isinstance(value, kind):
        raise DataError(code, f"{_type_name(value)} where {what} should be", remedy=remedy)
    return value


def _matching(pattern: re.Pattern[str], value: object, what: str, remedy: str = "correct it") -> str:
    """Return a value that is a text of a pattern, or raise a `DataError`."""
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise DataError("statement-value", what, remedy=remedy)
    return value


def _type_name(value: object) -> str:
    """Return what JSON calls the type of a value, with its article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    return {str: "a text", int: "a number", float: "a number", list: "a list", dict: "an object"}[type(value)]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise DataError("bad-json-line", f"an object names the key {twice[:80]!r} twice", remedy="keep one of them")
    return found


def _refuse(constant: str) -> None:
    raise DataError("bad-json-line", f"{constant} is no number of JSON", remedy="leave it out, or write a finite one")


# WikiPeople


def _parse_wikipeople(line: bytes) -> Iterator[Statement]:
    """Yield the statement of a line."""
    found = _json_object(line)
    size = found.pop(_SIZE, None)
    name = _main_property(found)
    head, tail = (_value(key, found.pop(key)) for key in (name + _HEAD, name + _TAIL))
    pairs: list[tuple[str, str]] = []
    for key, values in found.items():
        if isinstance(values, list):
            if not values:
                raise DataError("statement-values", f"an empty list for {key[:80]!r}", remedy="leave the key out")
            pairs += [(key, _value(key, value)) for value in values]
        else:
            pairs.append((key, _value(key, values)))
    if size is not None and (type(size) is not int or size != 2 + len(pairs)):
        shown = size if type(size) is int and abs(size) < 10**9 else _type_name(size)
        raise DataError(
            "statement-values",
            f'"N" is {shown}, but there are {2 + len(pairs)} values',
            remedy="correct it, or leave it out",
        )
    yield statement(name, head, tail, pairs)


def write_wikipeople(statements: Iterable[Statement]) -> Iterator[bytes]:
    """Yield a line for each statement."""
    for one in statements:
        whole: dict[str, object] = {one.property + _HEAD: one.head, one.property + _TAIL: one.tail}
        whole[_SIZE] = 2 + len(one.qualifiers)
        lists: dict[str, list[str]] = {}
        for key, value in one.qualifiers:
            if key == _SIZE or key.endswith((_HEAD, _TAIL)):
                raise DataError(
                    "statement-form-limit",
                    f"WikiPeople's form has no way to write a qualifier of {key!r}",
                    remedy="rename the property",
                )
            lists.setdefault(key, []).append(value)
        yield json.dumps(whole | lists, ensure_ascii=False).encode() + b"\n"


def _main_property(found: dict[str, object]) -> str:
    heads = [key.removesuffix(_HEAD) for key in found if key.endswith(_HEAD)]
    tails = [key.removesuffix(_TAIL) for key in found if key.endswith(_TAIL)]
    if len(heads) == 1 and heads == tails:
        return heads[0]
    if len(heads) > 1 or len(tails) > 1:
        listed = ", ".join(repr(one[:40]) for one in (heads if len(heads) > 1 else tails)[:3])
        raise DataError("statement-property", f"several main properties ({listed})", remedy="write a line for each")
    if not heads and not tails:
        raise DataError(
            "statement-property",
            "no main property: no key ends in _h or _t",
            remedy="name head and tail, such as P69_h and P69_t",
        )
    if heads and tails:
        raise DataError(
            "statement-property",
            f"the head is of {heads[0][:40]!r}, the tail of {tails[0][:40]!r}",
            remedy="name one main property",
        )
    missing = f"{heads[0][:40]}{_TAIL}" if heads else f"{tails[0][:40]}{_HEAD}"
    raise DataError("statement-property", f"no key {missing!r}; a statement has a head and a tail")


def _value(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise DataError("statement-values", f"{_type_name(value)} for {key[:80]!r}; values are texts")
    return value


# Wikidata


def _parse_wikidata(line: bytes) -> Iterator[Statement | DataError | None]:
    """Yield each statement of a line; the error if it is none, and None if it is deprecated."""
    line = line.strip()
    if line in (b"[", b"]"):
        return
    entity = _json_object(line.removesuffix(b","))
    head, claims = entity.get("id"), entity.get("claims")
    if not isinstance(head, str) or not _is_head(head):
        raise DataError("statement-entity", 'an entity whose "id" is not like Q42, P31 or L7', remedy="give it one")
    if claims == []:  # so PHP writes an empty object
        return
    if not isinstance(claims, dict):
        raise DataError("statement-entity", f'entity {head} has no object "claims"; only entity documents are read')
    for name, listed in claims.items():
        if not isinstance(listed, list):
            yield DataError(
                "statement-claim",
                f"{_type_name(listed)} where a list of claims should be",
                place=f"{head}, {name[:40]!r}",
                remedy="write a list",
            )
            continue
        for claim in listed:
            try:
                yield _statement(head, name, claim)
            except DataError as error:
                yield error.within(f"{head}, {name[:40]!r}")


def _is_head(text: str) -> bool:
    return _ENTITY.fullmatch(text) is not None and "-" not in text


def _statement(head: str, name: str, claim: object) -> Statement | None:
    claim = _typed(dict, claim, "statement-claim", "a claim", "give an object with a mainsnak")
    rank = claim.get("rank", "normal")
    if rank not in ("normal", "preferred", "deprecated"):
        raise DataError("statement-claim", "a rank that is not normal, preferred or deprecated", remedy="correct it")
    main, qualifiers = claim.get("mainsnak"), claim.get("qualifiers", {})
    if not isinstance(main, dict) or main.get("property") != name:
        raise DataError("statement-claim", "a claim without a mainsnak of this property", remedy="give it one")
    if qualifiers == []:  # so PHP writes an empty object
        qualifiers = {}
    pairs: list[tuple[str, str]] = []
    remedy = "give an object of lists of snaks"
    for key, snaks in _typed(dict, qualifiers, "statement-claim", "qualifiers", remedy).items():
        if not isinstance(snaks, list) or not snaks:
            raise DataError(
                "statement-claim", f"qualifier {key[:40]!r} has no list of snaks", remedy="give one, or leave it out"
            )
        pairs += [(key, _text_of(snak)) for snak in snaks]
        if any(snak.get("property", key) != key for snak in snaks):
            raise DataError("statement-claim", f"qualifier {key[:40]!r} has a snak of another property", remedy="correct it")
    found = statement(name, head, _text_of(main), pairs)
    return None if rank == "deprecated" else found


def _text_of(snak: object) -> str:
    """Return the value of a snak as text, or raise a `DataError`."""
    snak = _typed(dict, snak, "statement-snak", "a snak", "give an object with snaktype and datavalue")
    how = snak.get("snaktype")
    if how in ("somevalue", "novalue"):
        return str(how)
    if how != "value":
        raise DataError("statement-snak", "a snak whose snaktype is not value, somevalue or novalue", remedy="correct it")
    data = snak.get("datavalue")
    if not isinstance(data, dict) or not isinstance(data.get("type"), str) or "value" not in data:
        raise DataError(
            "statement-snak",
            "a snak without a datavalue of a type and a value",
            remedy="write both, or the snaktype novalue",
        )
    value = data["value"]
    if data["type"] == "string":
        return f"string:{_string(value, 'a string')}"
    if data["type"] not in _TO_TEXT:
        raise DataError(
            "statement-snak", f"unknown type of datavalue {data['type'][:40]!r}; known: string, {', '.join(_TO_TEXT)}"
        )
    what = f"the value of {data['type']}"
    return _TO_TEXT[data["type"]](_typed(dict, value, "statement-snak", what, "give an object"))


def _entity_text(value: _Value) -> str:
    if "id" in value:
        return _matching(_ENTITY, value["id"], "an entity's id that is not like Q42, P31, L7 or L7-F1")
    letter = _ENTITY_TYPES.get(str(value.get("entity-type")))  # as older dumps have it
    number = value.get("numeric-id")
    if letter is None or type(number) is not int or not 0 < number < 10**18:
        raise DataError("statement-value", "an entity without an id", remedy="give one such as Q42")
    return f"{letter}{number}"


def _time_text(value: _Value) -> str:
    time = _matching(_TIME, value.get("time"), "a time that is not like +2013-01-01T00:00:00Z")
    numbers = [_integer(value, name) for name in ("timezone", "before", "after", "precision")]
    return "#".join((time, *numbers, _string(value.get("calendarmodel"), "a calendarmodel")))


def _language_text(value: _Value) -> str:
    what = "a monolingualtext without the code of a language, such as en"
    language = _matching(_LANGUAGE, value.get("language"), what, "give one")
    return f"monolingualtext:{language}:{_string(value.get('text'), 'a text')}"


def _quantity_text(value: _Value) -> str:
    amount = _amount(value.get("amount"), "amount")
    bounds = ["" if value.get(name) is None else _amount(value[name], name) for name in ("lowerBound", "upperBound")]
    return "quantity:" + "#".join((amount, *bounds, _string(value.get("unit"), "a unit")))


def _globe_text(value: _Value) -> str:
    numbers = [_number(value, name) for name in ("latitude", "longitude", "altitude", "precision")]
    if "" in numbers[:2]:
        raise DataError("statement-value", "a globecoordinate without latitude and longitude", remedy="give both")
    return "globecoordinate:" + "#".join((*numbers, _string(value.get("globe"), "a globe")))


def _string(value: object, what: str) -> str:
    return _matching(_NOT_EMPTY, value, f"{what} that is empty or no text", "write it")


def _integer(value: _Value, name: str) -> str:
    number = value.get(name)
    if type(number) is not int or abs(number) >= _MOST:
        raise DataError("statement-value", f"a time whose {name} is no whole number of up to 9 digits", remedy="correct it")
    return str(number)


def _amount(value: object, name: str) -> str:
    return _matching(_AMOUNT, value, f'a quantity whose {name} is no decimal number in quotes, such as "+5"')


def _number(value: _Value, name: str) -> str:
    """Return a number in its shortest form, nothing for null."""
    number = value.get(name)
    if number is None:
        return ""
    if isinstance(number, bool) or not isinstance(number, int | float) or not abs(number) < _MOST:  # nor infinite
        raise DataError("statement-value", f"a globecoordinate whose {name} is no number of its size", remedy="correct it")
    return repr(float(number) + 0.0).removesuffix(".0")


_TO_TEXT: dict[str, Callable[[_Value], str]] = {
    "wikibase-entityid": _entity_text,
    "time": _time_text,
    "monolingualtext": _language_text,
    "quantity": _quantity_text,
    "globecoordinate": _globe_text,
}


FORMS = {
    form.name: form
    for form in (
        Form("wikipeople", _parse_wikipeople, "n-ary_{}.json"),
        Form("wd50k", _parse_wd50k, "{}.txt"),
        Form("wikidata", _parse_wikidata, "{}.json"),
    )
}
_WD50K = re.compile(rb"[^,\t]+,P[1-9][0-9]*,[^,\t]+(,P[1-9][0-9]*,[^,\t]+)*")


def find_form(name: str) -> Form:
    """Return the form of this name."""
    if name not in FORMS:
        raise UnknownNameError("form of statements", name, FORMS)
    return FORMS[name]


def form_of_line(line: bytes) -> Form | None:
    """Return the only form that the first line of a file can be in, or None if it can be something else."""
    line = line.strip()
    if line.startswith((b"{", b"[")):
        with contextlib.suppress(DataError):
            if line == b"[" or "claims" in _json_object(line.removesuffix(b",")):
                return FORMS["wikidata"]
        return _if_whole(FORMS["wikipeople"], line)
    # Facts with commas for tabs would look the same but for the ids of properties, and theirs stand elsewhere.
    return _if_whole(FORMS["wd50k"], line) if _WD50K.fullmatch(line) else None


def _if_whole(form: Form, line: bytes) -> Form | None:
    with contextlib.suppress(DataError):
        if all(isinstance(found, Statement) for found in form.parse(line)):
            return form
    return None
