"""One line of JSON from anybody, as plain data: whatever is wrong with it is one sentence."""

from __future__ import annotations

import json
from typing import Any

from relatum.errors import DataError

__all__ = ["json_object", "type_name"]


def json_object(line: bytes) -> dict[str, Any]:
    """Return the JSON object on a line, or raise a `DataError`: no key comes twice, and numbers are numbers."""
    try:
        found = json.loads(line.decode(), object_pairs_hook=_object, parse_constant=_refuse)
    except UnicodeDecodeError as error:
        raise DataError(f"not valid UTF-8 at byte {error.start} of the line; save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON at character {error.pos}: {error.msg}; write one object a line") from None
    except RecursionError:
        raise DataError("JSON that is nested too deeply; no statement needs more than a dozen levels") from None
    except DataError:
        raise
    except ValueError:  # an integer of thousands of digits
        raise DataError("a number that is too long; write it in fewer digits, or as text") from None
    if not isinstance(found, dict):
        raise DataError(f"{type_name(found)} where an object should be; write one object a line")
    return found


def type_name(value: object) -> str:
    """Return what JSON calls the type of a value, with its article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    return {str: "a text", int: "a number", float: "a number", list: "a list", dict: "an object"}[type(value)]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise DataError(f"an object names the key {twice[:80]!r} twice; keep one of them")
    return found


def _refuse(constant: str) -> None:
    raise DataError(f"{constant} is no number of JSON; leave it out, or write a finite one")
