"""Statements as in WikiPeople, one JSON object a line: `{"P69_h": "Q1", "P69_t": "Q2", "P580": ["Q3", "Q4"], "N": 4}`.

The main property is the one with `_h` and `_t`, head and tail. Any other key is the property of a qualifier, with a text or
a list of texts. `N`, how many values there are in all, may be left out; a wrong one is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from relatum.errors import DataError
from relatum.statements.statement import Statement, statement
from relatum.statements.strict_json import json_object, type_name

__all__ = ["parse", "write"]

_SIZE = "N"
_HEAD, _TAIL = "_h", "_t"


def parse(line: bytes) -> Iterator[Statement]:
    """Yield the statement of a line."""
    found = json_object(line)
    size = found.pop(_SIZE, None)
    name = _main_property(found)
    head, tail = (_text(key, found.pop(key)) for key in (name + _HEAD, name + _TAIL))
    pairs: list[tuple[str, str]] = []
    for key, values in found.items():
        if isinstance(values, list):
            if not values:
                raise DataError(f"an empty list for {key[:80]!r}; leave the key out")
            pairs += [(key, _text(key, value)) for value in values]
        else:
            pairs.append((key, _text(key, values)))
    if size is not None and (type(size) is not int or size != 2 + len(pairs)):
        shown = size if type(size) is int and abs(size) < 10**9 else type_name(size)
        raise DataError(f'"N" is {shown}, but there are {2 + len(pairs)} values; correct it, or leave it out')
    yield statement(name, head, tail, pairs)


def write(statements: Iterable[Statement]) -> Iterator[bytes]:
    """Yield a line for each statement."""
    for one in statements:
        whole: dict[str, object] = {one.property + _HEAD: one.head, one.property + _TAIL: one.tail}
        whole[_SIZE] = 2 + len(one.qualifiers)
        lists: dict[str, list[str]] = {}
        for key, value in one.qualifiers:
            if key == _SIZE or key.endswith((_HEAD, _TAIL)):
                raise DataError(f"WikiPeople's form has no way to write a qualifier of {key!r}; rename the property")
            lists.setdefault(key, []).append(value)
        yield json.dumps(whole | lists, ensure_ascii=False).encode() + b"\n"


def _main_property(found: dict[str, object]) -> str:
    heads = [key.removesuffix(_HEAD) for key in found if key.endswith(_HEAD)]
    tails = [key.removesuffix(_TAIL) for key in found if key.endswith(_TAIL)]
    if len(heads) == 1 and heads == tails:
        return heads[0]
    if len(heads) > 1 or len(tails) > 1:
        listed = ", ".join(repr(one[:40]) for one in (heads if len(heads) > 1 else tails)[:3])
        raise DataError(f"several main properties ({listed}); write a line for each")
    if not heads and not tails:
        raise DataError("no main property: no key ends in _h or _t; name head and tail, such as P69_h and P69_t")
    if heads and tails:
        raise DataError(f"the head is of {heads[0][:40]!r}, the tail of {tails[0][:40]!r}; name one main property")
    missing = f"{heads[0][:40]}{_TAIL}" if heads else f"{tails[0][:40]}{_HEAD}"
    raise DataError(f"no key {missing!r}; a statement has a head and a tail")


def _text(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise DataError(f"{type_name(value)} for {key[:80]!r}; values are texts")
    return value
