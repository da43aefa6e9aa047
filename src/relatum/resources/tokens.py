"""Opaque tokens that lead to the next page: bound to what was asked and to the run, and refused elsewhere."""

from __future__ import annotations

import base64
import binascii
import hashlib

from relatum.errors import DataError

__all__ = ["offset_of", "token_of"]

_OFFSET, _CHECK = 8, 12  # bytes


def token_of(offset: int, *wanted: object) -> str:
    """Return the token of the page that begins at an offset of what was wanted."""
    start = offset.to_bytes(_OFFSET, "big")
    return base64.urlsafe_b64encode(start + _check(start, wanted)).decode().rstrip("=")


def offset_of(token: str | None, *wanted: object) -> int:
    """Return where the page of a token begins; refused if it was not given for the same thing."""
    if token is None:
        return 0
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True) if len(token) < 64 else b""
    except (binascii.Error, ValueError):
        raw = b""
    offset = int.from_bytes(raw[:_OFFSET], "big")
    if len(raw) != _OFFSET + _CHECK or token.rstrip("=") != token_of(offset, *wanted):  # one spelling of several
        raise DataError("this token leads to no page of what is wanted here; start again without it")
    return offset


def _check(start: bytes, wanted: tuple[object, ...]) -> bytes:
    return hashlib.blake2b(start + repr(wanted).encode(), digest_size=_CHECK, person=b"relatum pages").digest()
