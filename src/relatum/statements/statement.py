"""A statement: head, main property and tail, and qualifiers, which are pairs of a property and a value."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import NamedTuple

from relatum.errors import DataError

__all__ = ["MOST_QUALIFIERS", "Statement", "statement"]

MOST_QUALIFIERS = 1000  # of one statement: each is a position of its fact, and no real one has a tenth of that

_PARTS = ("main property", "head", "tail")
_OF_QUALIFIER = ("qualifier's property", "qualifier's value")


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
        raise DataError(f"{len(pairs)} qualifiers; a statement has at most {MOST_QUALIFIERS}, so split or shorten it")
    texts = [name, head, tail, *itertools.chain.from_iterable(pairs)]
    if not all(texts) or not "".join(texts).isascii():  # all at once, for nearly always nothing is wrong
        for text, what in zip(texts, _PARTS + _OF_QUALIFIER * len(pairs), strict=True):
            _check_text(text, what)
    return Statement(name, head, tail, tuple(pairs))


def _check_text(text: str, what: str) -> None:
    """Refuse a text that is empty, or that holds half of a surrogate pair, which no file can hold."""
    if not text:
        raise DataError(f"empty {what}; give it a name")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise DataError(f"{what} {text!r} is not valid Unicode; write whole characters") from None
