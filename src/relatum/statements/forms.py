"""The forms in which statements come, by name, and which of them a line is in.

All are read, and WikiPeople's JSON lines are written: they hold every text, while WD50K's lines have no way to write a comma
and Wikidata's documents hold Wikidata's values alone.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from relatum.errors import DataError, UnknownNameError
from relatum.statements.json_forms import json_object, parse_wikidata, parse_wikipeople
from relatum.statements.statement import Statement, statement


@dataclass(frozen=True)
class Form:
    """A form: its name, how a line is read, and what the file of a part is called.

    `parse` yields a statement; the error if it is none; None if it is left out. It raises what is wrong with a whole line.
    """

    name: str
    parse: Callable[[bytes], Iterator[Statement | DataError | None]]
    file_name: str


def _parse_wd50k(line: bytes) -> Iterator[Statement]:
    """Yield the statement of a line `head,property,tail,property,value,property,value,...`.

    Nothing is quoted or escaped, as in the published files, so no value can hold a comma; spaces belong to the values.
    """
    try:
        fields = line.decode().split(",")
    except UnicodeDecodeError as error:
        raise DataError(
            "not-utf8", f"not valid UTF-8 at byte {error.start} of the line", remedy="save the file as UTF-8"
        ) from None
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


FORMS = {
    form.name: form
    for form in (
        Form("wikipeople", parse_wikipeople, "n-ary_{}.json"),
        Form("wd50k", _parse_wd50k, "{}.txt"),
        Form("wikidata", parse_wikidata, "{}.json"),
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
            if line == b"[" or "claims" in json_object(line.removesuffix(b",")):
                return FORMS["wikidata"]
        return _if_whole(FORMS["wikipeople"], line)
    # Facts with commas for tabs would look the same but for the ids of properties, and theirs stand elsewhere.
    return _if_whole(FORMS["wd50k"], line) if _WD50K.fullmatch(line) else None


def _if_whole(form: Form, line: bytes) -> Form | None:
    with contextlib.suppress(DataError):
        if all(isinstance(found, Statement) for found in form.parse(line)):
            return form
    return None
