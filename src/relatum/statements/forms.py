"""The forms in which statements come, by name, and which of them a line is in."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from relatum.errors import DataError, UnknownNameError
from relatum.statements import wd50k, wikidata, wikipeople
from relatum.statements.statement import Statement
from relatum.statements.strict_json import json_object

__all__ = ["FORMS", "Form", "find_form", "form_of_line"]


@dataclass(frozen=True)
class Form:
    """A form: its name, how a line is read and lines are written, and what the file of a part is called.

    `parse` yields a statement; the error if it is none; None if it is left out. It raises what is wrong with a whole line.
    """

    name: str
    parse: Callable[[bytes], Iterator[Statement | DataError | None]]
    write: Callable[[Iterable[Statement]], Iterator[bytes]]
    file_name: str


FORMS = {
    form.name: form
    for form in (
        Form("wikipeople", wikipeople.parse, wikipeople.write, "n-ary_{}.json"),
        Form("wd50k", wd50k.parse, wd50k.write, "{}.txt"),
        Form("wikidata", wikidata.parse, wikidata.write, "{}.json"),
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
