"""What the tests of verbs share: a trained run to ask."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def trained(example_run: Path) -> str:
    """Return the directory of a run on the example, to be read only."""
    return str(example_run)
