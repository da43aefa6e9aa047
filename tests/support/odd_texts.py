"""Texts that a copy of a table could spoil: empty, blank, like a NULL, quoted, broken over lines, from many scripts."""

from __future__ import annotations

__all__ = ["ODD_TEXTS"]

ODD_TEXTS = [
    None,
    "",
    " ",
    "NULL",
    "\\N",
    "\\.",
    "a\tb",
    "a\nb",
    "a\r\nb",
    'say "hi"',
    '"',
    ",",
    "\\",
    "'",
    "é",
    "日本 😀",
    "\ufeff",
]
