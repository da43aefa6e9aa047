"""A server builds the indexes before the first question."""

from __future__ import annotations

from pathlib import Path

import relatum
from relatum.resources.once import is_there
from relatum.resources.prepare import prepare


def test_the_indexes_are_there_afterwards(example_run: Path) -> None:
    run = relatum.open(example_run)
    prepare(run)
    assert all(is_there(run, name) for name in ("fact index", "name index", "relations", "tables of SQL"))
    assert not is_there(run, "quality")
