"""Statements as in WD50K, one a line: `head,property,tail,property,value,property,value,...`.

Nothing is quoted or escaped, as in the published files, so no value can hold a comma; spaces belong to the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from relatum.errors import DataError
from relatum.statements.statement import Statement, statement

__all__ = ["parse", "write"]


def parse(line: bytes) -> Iterator[Statement]:
    """Yield the statement of a line."""
    try:
        fields = line.decode().split(",")
    except UnicodeDecodeError as error:
        raise DataError(f"not valid UTF-8 at byte {error.start} of the line; save the file as UTF-8") from None
    if len(fields) < 3:
        raise DataError("fewer than three fields; write head,property,tail and then pairs of property and value")
    if len(fields) % 2 == 0:
        raise DataError(f"{len(fields)} fields, so a qualifier lacks its value; after the tail come pairs")
    head, name, tail, *rest = fields
    yield statement(name, head, tail, zip(rest[::2], rest[1::2], strict=True))


def write(statements: Iterable[Statement]) -> Iterator[bytes]:
    """Yield a line for each statement."""
    for one in statements:
        fields = (one.head, one.property, one.tail, *(text for pair in one.qualifiers for text in pair))
        whole = ",".join(fields)
        if whole.count(",") >= len(fields) or "\n" in whole or whole.endswith("\r") or whole.startswith("\ufeff"):
            wrong = next((text for text in fields if "," in text or "\n" in text), whole)
            raise DataError(
                f"WD50K's form has no way to write {wrong[:80]!r}, for a comma, a line end or a byte order mark in it; "
                f"choose wikipeople"
            )
        yield whole.encode() + b"\n"
