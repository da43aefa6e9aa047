"""Two runs that resources are read from: on the example, and on a database with labels and gaps."""

from __future__ import annotations

from pathlib import Path

import pytest

import relatum
from relatum import Run


@pytest.fixture(scope="session")
def example(example_run: Path) -> Run:
    """Return the run on the example, opened; nothing may be defined on it."""
    return relatum.open(example_run)


@pytest.fixture(scope="session")
def tables(gappy_run: Path) -> Run:
    """Return the run on a database, opened; nothing may be defined on it."""
    return relatum.open(gappy_run)
