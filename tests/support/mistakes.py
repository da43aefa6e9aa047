"""What a mistake is expected to be: its code and fields, never its words."""

from __future__ import annotations

import re

import pytest

from relatum.errors import RelatumError


def mistake(code: str, **fields: object) -> pytest.RaisesExc[RelatumError]:
    """Expect an error of relatum with a code, and fields such as `place` that are as given."""

    def is_it(error: RelatumError) -> bool:
        return error.code == code and all(str(getattr(error, name)) == str(value) for name, value in fields.items())

    return pytest.raises(RelatumError, check=is_it)


def code_of(err: str) -> str | None:
    """Return the code at the end of what the command line wrote to standard error."""
    found = re.search(r"\[([a-z0-9-]+)\]\s*$", err)
    return found and found[1]
