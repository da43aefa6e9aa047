"""Resources as plain data: dicts, lists and values that JSON has."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any

__all__ = ["plain"]

_PLAIN = (str, int, float, bool, type(None))


def plain(value: Any) -> Any:
    """Return a resource as JSON has it: dataclasses as objects by field, tuples as lists; many times quicker than asdict."""
    kind: type = value.__class__
    if kind in _PLAIN:
        return value
    if kind is tuple or kind is list:
        return [plain(one) for one in value]
    return {name: plain(getattr(value, name)) for name in _names(kind)}


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind))  # refuses what is no dataclass, such as an array
