"""From the names of entities back to the values that they had in the tables they come from."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal

from relatum.data.column_types import Domain
from relatum.tables.table import Column, Value
from relatum.tables.values import NULL, restored

__all__ = ["column_of"]

_WHOLE = re.compile("-?(0|[1-9][0-9]{0,17})")  # fits in 64 bits, and is written as it stands


def column_of(name: str, entities: Sequence[str], domain: Domain | None) -> Column:
    """Return the values of entities of a domain as a column: numbers if all of them are, otherwise text.

    Without a domain, or if it is of another kind, an entity keeps its name.
    """
    if domain is None:
        return Column(name, "text", entities)
    texts = [_text(entity, domain) for entity in entities]
    for form, read in _READERS[domain.form].items():
        values = [None if text is None else read(text) for text in texts]
        if all((text is None) == (value is None) for text, value in zip(texts, values, strict=True)):
            return Column(name, form, values)
    return Column(name, "text", texts)


def _text(entity: str, domain: Domain) -> str | None:
    if not entity.startswith(domain.prefix):
        return entity
    text = entity.removeprefix(domain.prefix)
    return None if domain.null and text == NULL else restored(text)


def _whole(text: str) -> Value:
    return int(text) if _WHOLE.fullmatch(text) else None


def _number(text: str) -> Value:
    """Return a number that is the same as a float64, or None."""
    try:
        value = float(text)
        return value if Decimal(text) == Decimal(repr(value)) else None
    except (ValueError, ArithmeticError):
        return None


# What values of a form are tried to be read as, in this order.
_READERS: dict[str, dict[str, Callable[[str], Value]]] = {
    "whole": {"whole": _whole, "number": _number},
    "number": {"number": _number},
    "text": {},
}
